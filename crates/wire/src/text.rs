//! Text from strangers, made safe to show.

/// Whether a character could move the cursor, colour a terminal, turn the text around it, break its line, or stand there
/// unseen. All of them are below U+10000.
fn misleading(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// `text` with control and bidirectional characters written as escapes.
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

/// JSON with control, bidirectional and invisible characters written as `\uXXXX`, on one line: the same value, fit to be
/// shown.
#[must_use]
pub fn escaped_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    let (mut in_string, mut after_backslash) = (false, false);
    for c in json.chars() {
        if misleading(c) && in_string {
            shown.push_str(&format!("\\u{:04x}", c as u32));
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
