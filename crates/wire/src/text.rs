//! Text from strangers, made safe to show.

/// Whether a character could move the cursor, colour a terminal, turn the text around it, break its line, or stand there
/// unseen: control characters, what Unicode calls default ignorable (soft hyphens, joiners, fillers, marks of direction,
/// variation selectors, tags), separators of lines, marks of annotations, and blanks that are no spaces.
fn misleading(c: char) -> bool {
    let default_ignorable = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    let unseen = matches!(c, '\u{2028}'..='\u{2029}' | '\u{2800}' | '\u{fff9}'..='\u{fffb}' | '\u{1d159}');
    c.is_control() || default_ignorable || unseen
}

/// `text` with control, bidirectional and invisible characters written as escapes.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if misleading(c) {
            shown.push_str(&format!("\\u{{{:x}}}", c as u32));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// JSON with control, bidirectional and invisible characters written as `\uXXXX` (two of them beyond U+FFFF), on one line:
/// the same value, fit to be shown.
#[must_use]
pub fn escaped_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    let (mut in_string, mut after_backslash) = (false, false);
    for c in json.chars() {
        if misleading(c) && in_string {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")));
        } else if misleading(c) {
            // Between values there is no other than white space, and any white space means the same.
            shown.push(' ');
        } else {
            shown.push(c);
        }
        in_string ^= c == '"' && !after_backslash;
        after_backslash = c == '\\' && !after_backslash;
    }
    shown
}

/// `text` escaped and cut to about `chars_max` characters.
#[must_use]
pub fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => escaped(text),
        Some((end, _)) => format!("{}…", escaped(&text[..end])),
    }
}

/// The one of `known` that `typo` was probably meant to be.
#[must_use]
pub fn nearest<'a>(typo: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer than any name of ours by more than a slip: not a typo, and not worth comparing.
    if typo.len() > 40 {
        return None;
    }
    let slips_max = 1 + typo.chars().count() / 4;
    let closest = known.into_iter().map(|word| (slips(typo, word), word)).min()?;
    (closest.0 <= slips_max).then_some(closest.1)
}

/// How many letters must be added, dropped or changed to turn one word into the other.
fn slips(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let changed = corner + usize::from(a != *b);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_codes_are_shown_not_obeyed() {
        assert_eq!(escaped("\u{1b}[31mred\u{202e}\n"), "\\u{1b}[31mred\\u{202e}\\u{a}");
        assert_eq!(cut("ééé", 2), "éé…");
    }

    /// What a font draws as nothing, or as a blank: two names that differ by it look the same.
    #[test]
    fn what_nobody_sees_is_shown() {
        let ends = [
            ['\u{ad}', '\u{ad}'],
            ['\u{34f}', '\u{34f}'],
            ['\u{61c}', '\u{61c}'],
            ['\u{115f}', '\u{1160}'],
            ['\u{17b4}', '\u{17b5}'],
            ['\u{180b}', '\u{180f}'],
            ['\u{200b}', '\u{200f}'],
            ['\u{2028}', '\u{202e}'],
            ['\u{2060}', '\u{206f}'],
            ['\u{2800}', '\u{2800}'],
            ['\u{3164}', '\u{3164}'],
            ['\u{fe00}', '\u{fe0f}'],
            ['\u{feff}', '\u{feff}'],
            ['\u{ffa0}', '\u{ffa0}'],
            ['\u{fff0}', '\u{fffb}'],
            ['\u{1bca0}', '\u{1bca3}'],
            ['\u{1d159}', '\u{1d159}'],
            ['\u{1d173}', '\u{1d17a}'],
            ['\u{e0000}', '\u{e0fff}'],
        ];
        for unseen in ends.into_iter().flat_map(|[first, last]| first..=last) {
            let json = format!("\"{unseen}\"");
            for shown in [escaped(&unseen.to_string()), escaped_json(&json)] {
                assert!(shown.is_ascii(), "U+{:04X}: {shown:?}", unseen as u32);
            }
            let read: String = serde_json::from_str(&escaped_json(&json)).unwrap();
            assert_eq!(read, unseen.to_string());
        }
        for seen in ["é", "日本", "שלום", "🦀", "👩", "\u{a0}", "\u{3000}", "\u{fffd}"] {
            assert_eq!([escaped(seen), escaped_json(seen)], [seen, seen]);
        }
    }

    #[test]
    fn escaped_json_is_the_same_value_on_one_line() {
        let json = "{\"a\\\\\":\n\t\"\u{9b}31m\\\"\u{202e}\u{7f}\",\r\"\u{2028}\":[\"\\u001b\", \"é\u{200b}\"]}";
        let shown = escaped_json(json);
        assert_eq!(shown, "{\"a\\\\\":  \"\\u009b31m\\\"\\u202e\\u007f\", \"\\u2028\":[\"\\u001b\", \"é\\u200b\"]}");
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(read(&shown), read(json));
    }

    #[test]
    fn a_typo_finds_its_field() {
        let known = ["kind", "payload", "priority"];
        assert_eq!(nearest("priorty", known), Some("priority"));
        assert_eq!(nearest("kinds", known), Some("kind"));
        assert_eq!(nearest("zebra", known), None);
    }
}
