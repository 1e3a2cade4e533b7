//! Payloads: valid JSON, kept byte for byte as it was sent.
//!
//! Tenure never interprets a payload. It only refuses what one of the backends or a reader downstream could not keep
//! apart: text that is not JSON, a key named twice, nesting beyond [`DEPTH_MAX`], `\u0000` and lone surrogates.
//! [`canonical`] gives equal values the same text, which is how a dedup key knows the same body again (Q7).
//!
//! Pure, without recursion beyond the depth limit, so hostile input costs no stack.

use crate::bounds::{BODY_BYTES_MAX, Code, DEPTH_MAX, Invalid};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Refuses `text` unless it is JSON that every backend can keep. `field` names it in the refusal.
pub fn check(field: &str, text: &str) -> Result<(), Invalid> {
    if text.len() > BODY_BYTES_MAX {
        let limit = format!("at most {BODY_BYTES_MAX} bytes");
        return Err(Invalid::new(Code::TooLarge, field, limit, format!("{} bytes", text.len())));
    }
    parse(field, text).map(drop)
}

/// One text for each JSON value: keys sorted, numbers by value, no blanks.
pub fn canonical(field: &str, text: &str) -> Result<String, Invalid> {
    let mut out = String::with_capacity(text.len());
    write_value(&parse(field, text)?, &mut out);
    Ok(out)
}

enum Value {
    /// `null`, `true`, `false`, or a number normalised to digits and exponent.
    Plain(String),
    Text(String),
    List(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

fn parse(field: &str, text: &str) -> Result<Value, Invalid> {
    let mut reader = Reader { field, text, at: 0, path: Vec::new() };
    reader.blanks();
    let value = reader.value()?;
    reader.blanks();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.syntax("nothing may follow the value")),
    }
}

struct Reader<'a> {
    field: &'a str,
    text: &'a str,
    at: usize,
    /// Where in the value the reader is, for the JSON pointer in a refusal. Its length is the depth.
    path: Vec<String>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Value, Invalid> {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.list(),
            Some(b'"') => self.string().map(Value::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, Invalid> {
        for word in ["null", "true", "false"] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(Value::Plain(word.to_owned()));
            }
        }
        Err(self.syntax("a value is expected"))
    }

    fn object(&mut self) -> Result<Value, Invalid> {
        self.descend(String::new())?;
        let mut members = BTreeMap::new();
        self.at += 1;
        self.blanks();
        if !self.take(b'}') {
            loop {
                self.blanks();
                if self.peek() != Some(b'"') {
                    return Err(self.syntax("a key in quotes is expected"));
                }
                let key = self.string()?;
                self.blanks();
                if !self.take(b':') {
                    return Err(self.syntax("`:` is expected after a key"));
                }
                self.step(key.clone());
                self.blanks();
                let value = self.value()?;
                if members.insert(key.clone(), value).is_some() {
                    return Err(self.refuse(Code::JsonDuplicateKey, "each key may appear once in an object", key));
                }
                self.blanks();
                if self.take(b'}') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.syntax("`,` or `}` is expected"));
                }
            }
        }
        self.path.pop();
        Ok(Value::Object(members))
    }

    fn list(&mut self) -> Result<Value, Invalid> {
        self.descend("0".to_owned())?;
        let mut items = Vec::new();
        self.at += 1;
        self.blanks();
        if !self.take(b']') {
            loop {
                self.step(items.len().to_string());
                self.blanks();
                items.push(self.value()?);
                self.blanks();
                if self.take(b']') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.syntax("`,` or `]` is expected"));
                }
            }
        }
        self.path.pop();
        Ok(Value::List(items))
    }

    fn string(&mut self) -> Result<String, Invalid> {
        let mut decoded = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let Some(c) = rest.chars().next() else {
                return Err(self.syntax("a string is not closed"));
            };
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(decoded);
                }
                '\\' => decoded.push(self.escape()?),
                c if (c as u32) < 0x20 => return Err(self.syntax("control characters in strings must be escaped")),
                c => {
                    self.at += c.len_utf8();
                    decoded.push(c);
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Invalid> {
        self.at += 1;
        let simple = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.syntax("this escape is unknown")),
        };
        self.at += 1;
        Ok(simple)
    }

    fn unicode_escape(&mut self) -> Result<char, Invalid> {
        let unsupported = "\\u0000 and lone surrogates are not text";
        let first = self.four_digits()?;
        let code = match first {
            0xD800..=0xDBFF if self.text[self.at..].starts_with("\\u") => {
                self.at += 1;
                let second = self.four_digits()?;
                match second {
                    0xDC00..=0xDFFF => 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00),
                    _ => first,
                }
            }
            other => other,
        };
        match char::from_u32(code) {
            Some(c) if c != '\0' => Ok(c),
            _ => Err(self.refuse(Code::UnsupportedCharacter, unsupported, format!("\\u{first:04x}"))),
        }
    }

    fn four_digits(&mut self) -> Result<u32, Invalid> {
        self.at += 1;
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let code = digits
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => Err(self.syntax("four hexadecimal digits are expected after \\u")),
        }
    }

    fn number(&mut self) -> Result<Value, Invalid> {
        let start = self.at;
        let negative = self.take(b'-');
        let whole = self.digits();
        if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
            return Err(self.syntax("a number needs digits, without leading zeros"));
        }
        let mut fraction = "";
        if self.take(b'.') {
            fraction = self.digits();
            if fraction.is_empty() {
                return Err(self.syntax("digits are expected after the point"));
            }
        }
        let mut exponent = String::new();
        if self.take(b'e') || self.take(b'E') {
            let minus = self.take(b'-');
            if !minus {
                self.take(b'+');
            }
            let digits = self.digits();
            if digits.is_empty() {
                return Err(self.syntax("digits are expected in the exponent"));
            }
            exponent = format!("{}{digits}", if minus { "-" } else { "" });
        }
        let written = &self.text[start..self.at];
        Ok(Value::Plain(by_value(negative, whole, fraction, &exponent).unwrap_or_else(|| written.to_owned())))
    }

    fn digits<'b>(&mut self) -> &'b str
    where
        Self: 'b,
    {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn descend(&mut self, step: String) -> Result<(), Invalid> {
        if self.path.len() == DEPTH_MAX {
            let limit = format!("at most {DEPTH_MAX} levels");
            return Err(self.refuse(Code::JsonTooDeep, &limit, "more"));
        }
        self.path.push(step);
        Ok(())
    }

    fn step(&mut self, step: String) {
        if let Some(last) = self.path.last_mut() {
            *last = step;
        }
    }

    fn syntax(&self, limit: &str) -> Invalid {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Invalid::new(Code::JsonSyntax, self.field, limit, format!("line {line}, column {column}"))
    }

    fn refuse(&self, code: Code, limit: &str, got: impl std::fmt::Display) -> Invalid {
        let mut place = self.field.to_owned();
        for step in &self.path {
            place.push('/');
            place.push_str(&step.replace('~', "~0").replace('/', "~1"));
        }
        Invalid::new(code, place, limit, got)
    }
}

/// A number as significant digits and a power of ten, so that 1, 1.0 and 10e-1 read the same. `None` where the
/// exponent is beyond reckoning; such a number only equals itself.
fn by_value(negative: bool, whole: &str, fraction: &str, exponent: &str) -> Option<String> {
    let exponent: i64 = if exponent.is_empty() { 0 } else { exponent.parse().ok()? };
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    let dropped = i64::try_from(digits.len() - significant.len()).ok()?;
    let power = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(dropped)?;
    let sign = if negative { "-" } else { "" };
    Some(if power == 0 { format!("{sign}{significant}") } else { format!("{sign}{significant}e{power}") })
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Plain(text) => out.push_str(text),
        Value::Text(text) => write_text(text, out),
        Value::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (i, (key, member)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write_value(member, out);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> (Code, String) {
        let refusal = check("payload", text).unwrap_err();
        (refusal.code, refusal.field)
    }

    #[test]
    fn x_any_json_value_is_a_payload() {
        for good in ["null", "0", "-1.5e+3", "\"\"", "[]", "{}", " {\"a\": [1, {\"b\": \"\\ud83d\\ude00é\"}]}\n"] {
            assert_eq!(check("payload", good), Ok(()), "{good}");
        }
    }

    #[test]
    fn x_what_is_not_json_is_refused_with_its_place() {
        for bad in ["", "{", "[1,]", "{a:1}", "01", "1.", "1e", "nul", "\"a", "\"\t\"", "\"\\x\"", "1 2", "'a'", "+1"] {
            assert_eq!(refusal(bad).0, Code::JsonSyntax, "{bad}");
        }
        let refused = check("payload", "{\n  \"a\": tru}").unwrap_err();
        assert_eq!(refused.got, "line 2, column 8");
    }

    #[test]
    fn x_a_key_named_twice_is_refused_however_it_is_written() {
        assert_eq!(refusal(r#"{"a":{"b":1,"\u0062":2}}"#), (Code::JsonDuplicateKey, "payload/a/b".into()));
    }

    #[test]
    fn c20_nul_and_lone_surrogates_are_refused_with_a_pointer() {
        for bad in [r#"["\u0000"]"#, r#"["\ud800"]"#, r#"["\udc00"]"#, r#"["\ud800\u0041"]"#] {
            assert_eq!(refusal(bad), (Code::UnsupportedCharacter, "payload/0".into()), "{bad}");
        }
        assert_eq!(refusal(r#"{"x/y":"\u0000"}"#).1, "payload/x~1y");
    }

    #[test]
    fn x_depth_is_counted_from_the_payloads_own_root() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check("payload", &nested(64)), Ok(()));
        assert_eq!(refusal(&nested(65)).0, Code::JsonTooDeep);
        assert_eq!(refusal(&"[".repeat(10_000)).0, Code::JsonTooDeep);
    }

    #[test]
    fn x_a_payload_may_be_exactly_one_mebibyte() {
        let of = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
        assert_eq!(check("payload", &of(BODY_BYTES_MAX)), Ok(()));
        assert_eq!(refusal(&of(BODY_BYTES_MAX + 1)).0, Code::TooLarge);
    }

    #[test]
    fn q7_equal_values_have_one_text() {
        let same = |a: &str, b: &str| assert_eq!(canonical("p", a).unwrap(), canonical("p", b).unwrap(), "{a} {b}");
        same(r#"{"b":1,"a":[true]}"#, r#" { "a" : [ true ] , "b" : 1.0 } "#);
        same("100", "1e2");
        same("0.001", "1E-3");
        same("-0", "0.0");
        same(r#""\u00e9""#, "\"é\"");
        assert_ne!(
            canonical("p", "1e99999999999999999999").unwrap(),
            canonical("p", "1e99999999999999999998").unwrap()
        );
        assert_ne!(canonical("p", "\"1\"").unwrap(), canonical("p", "1").unwrap());
    }
}
