//! What callers may send, the same on every surface and backend (contracts, section X).
//!
//! Out of bounds is refused, never clamped. Every refusal is an [`Invalid`]: what was wrong, where, the bound, and
//! what was sent, so that the caller can mend it without reading our source.

use std::fmt;

/// Milliseconds in ten years: no span a caller names is longer.
pub const SPAN_MS_MAX: u64 = 10 * 366 * 24 * 3_600 * 1_000;
/// Shortest and longest lease.
pub const LEASE_MS: (u64, u64) = (100, 86_400_000);
/// The lease of a claim that names none.
pub const LEASE_MS_DEFAULT: u64 = 30_000;
/// Units in one claim.
pub const CLAIM_MAX: u64 = 1_000;
/// Queues in one claim.
pub const CLAIM_QUEUES_MAX: u64 = 100;
/// Kinds in one claim.
pub const CLAIM_KINDS_MAX: u64 = 1_000;
/// How long a claim may wait for work.
pub const WAIT_MS_MAX: u64 = 60_000;
/// Attempts a unit may have.
pub const ATTEMPTS_MAX: u64 = 1_000;
/// Attempts of a unit whose caller named none.
pub const ATTEMPTS_DEFAULT: u32 = 5;
/// The largest W, and the largest rate.
pub const RUNNING_MAX: u64 = 1_000_000;
/// The longest period of a rate: a day.
pub const RATE_PERIOD_MS_MAX: u64 = 86_400_000;
/// How long a dedup key is remembered by default: a day.
pub const KEY_WINDOW_MS_DEFAULT: u64 = 86_400_000;
/// How long an accepted ending is remembered at least, whatever the retention (L12): an hour.
pub const RECEIPT_MS: u64 = 3_600_000;
/// Bytes of one payload, result, progress or checkpoint.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// Bytes of one bulk call.
pub const BULK_BYTES_MAX: usize = 16 << 20;
/// Bytes of a key, and of the name of whoever acts.
pub const KEY_BYTES_MAX: usize = 256;
/// Bytes of payload and checkpoint in one claim: it takes what fits, and at least one job. What it answers is held in
/// memory on its way, by the store's driver, the server and the worker.
pub const CLAIM_BYTES_MAX: usize = 16 << 20;
/// So many jobs fit into a claim however large they are.
pub const CLAIM_FITS: usize = CLAIM_BYTES_MAX / (2 * BODY_BYTES_MAX);
/// Bytes of payload, result, progress and checkpoint in one page of jobs: it ends where the next does not fit, and has at
/// least one.
pub const PAGE_BYTES_MAX: usize = 16 << 20;
/// Jobs in one bulk call; also endings and heartbeats.
pub const BULK_MAX: u64 = 10_000;
/// Items in one page of a list, and the default.
pub const LIST_MAX: u64 = 1_000;
/// Items in a page whose caller named no limit.
pub const LIST_DEFAULT: u32 = 100;
/// Nesting of a payload, counted from its own root.
pub const DEPTH_MAX: usize = 64;
/// Counts are exact up to here; beyond it the state is named in `counts_capped`.
pub const COUNT_MAX: u64 = 10_000;
/// Bytes of an error text that are kept; the rest is cut (an error is never a reason to refuse a finish).
pub const ERROR_BYTES_MAX: usize = 8 << 10;
/// Ended attempts kept on a unit. Snoozing gives attempts back, so without a bound the list could grow for ever.
pub const ATTEMPTS_KEPT: usize = 100;

/// Input that was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The kind of mistake, stable across releases.
    pub code: Code,
    /// Where it is: a field's name, with an index or a JSON pointer where that helps.
    pub field: String,
    /// What would have been accepted.
    pub limit: String,
    /// What was sent, cut and made printable.
    pub got: String,
}

/// The kinds of mistakes. The word is the `error.code` on every surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A name outside the allowed set or length.
    InvalidName,
    /// A number, instant or length outside its bounds.
    OutOfBounds,
    /// A character no backend can keep, or that could mislead a reader.
    UnsupportedCharacter,
    /// Not JSON.
    JsonSyntax,
    /// An object names a key twice.
    JsonDuplicateKey,
    /// Nested deeper than allowed.
    JsonTooDeep,
    /// More bytes than allowed.
    TooLarge,
}

impl Code {
    /// The word used on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Code::InvalidName => "invalid_name",
            Code::OutOfBounds => "out_of_bounds",
            Code::UnsupportedCharacter => "unsupported_character",
            Code::JsonSyntax => "json_syntax",
            Code::JsonDuplicateKey => "json_duplicate_key",
            Code::JsonTooDeep => "json_too_deep",
            Code::TooLarge => "too_large",
        }
    }
}

impl Invalid {
    /// A refusal of `got` for `field`, where `limit` would have been accepted.
    pub fn new(code: Code, field: impl Into<String>, limit: impl Into<String>, got: impl fmt::Display) -> Invalid {
        Invalid { code, field: field.into(), limit: limit.into(), got: printable(&got.to_string()) }
    }

    /// The same refusal, found inside `outer` (`jobs[3]` and the like).
    #[must_use]
    pub fn within(mut self, outer: &str) -> Invalid {
        self.field = format!("{outer}.{}", self.field);
        self
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Invalid { field, limit, got, .. } = self;
        match self.code {
            Code::InvalidName => write!(f, "`{field}` is not a valid name: use {limit}; got `{got}`"),
            Code::OutOfBounds => write!(f, "`{field}` must be {limit}; got {got}"),
            Code::UnsupportedCharacter => write!(f, "`{field}` holds {got}, which cannot be kept: {limit}"),
            Code::JsonSyntax => write!(f, "`{field}` is not valid JSON: {got}; {limit}"),
            Code::JsonDuplicateKey => write!(f, "`{field}` names the key `{got}` twice: {limit}"),
            Code::JsonTooDeep => write!(f, "`{field}` is nested too deep: {limit}"),
            Code::TooLarge => write!(f, "`{field}` is too large: {limit}; got {got}"),
        }
    }
}

impl std::error::Error for Invalid {}

/// Refuses an integer outside `min..=max`.
pub fn within(field: &str, got: u64, min: u64, max: u64) -> Result<(), Invalid> {
    if (min..=max).contains(&got) {
        return Ok(());
    }
    Err(Invalid::new(Code::OutOfBounds, field, format!("{min} to {max}"), got))
}

/// Refuses a number that is not finite or lies outside `min..=max`.
pub fn within_f64(field: &str, got: f64, min: f64, max: f64) -> Result<(), Invalid> {
    if (min..=max).contains(&got) {
        return Ok(());
    }
    Err(Invalid::new(Code::OutOfBounds, field, format!("{min} to {max}"), got))
}

/// Refuses what is not a name of a queue, kind, worker, pipeline, stage or segment.
pub fn name(field: &str, got: &str) -> Result<(), Invalid> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-');
    let starts_well = got.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts_well && got.len() <= 128 && got.chars().all(allowed) {
        return Ok(());
    }
    let limit = "1 to 128 of A-Z a-z 0-9 . _ : -, starting with a letter or digit";
    Err(Invalid::new(Code::InvalidName, field, limit, got))
}

/// Refuses what is not a key of a domain, lane, tenant, dedup window, matrix or chunk.
pub fn key(field: &str, got: &str) -> Result<(), Invalid> {
    if got.is_empty() || got.len() > KEY_BYTES_MAX {
        let limit = "1 to 256 bytes of UTF-8";
        return Err(Invalid::new(Code::InvalidName, field, limit, got));
    }
    match got.chars().find(|c| misleading(*c)) {
        None => Ok(()),
        Some(c) => {
            let limit = "control and bidirectional characters are not allowed in keys";
            Err(Invalid::new(Code::UnsupportedCharacter, field, limit, format!("U+{:04X}", c as u32)))
        }
    }
}

/// An error text as it is kept: no NUL (PostgreSQL cannot keep it) and at most [`ERROR_BYTES_MAX`] bytes.
#[must_use]
pub fn clipped(text: &str) -> String {
    let text = text.replace('\0', "\u{fffd}");
    if text.len() <= ERROR_BYTES_MAX {
        return text;
    }
    let mark = "… (cut)";
    let mut end = ERROR_BYTES_MAX - mark.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{mark}", &text[..end])
}

/// Control characters, and those that change the direction of the text around them.
pub(crate) fn misleading(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What a caller sent, safe to print in a terminal or a log, and short.
fn printable(got: &str) -> String {
    let cut: String = got.chars().take(80).collect();
    let mut shown = String::with_capacity(cut.len());
    for c in cut.chars() {
        if misleading(c) {
            shown.push_str(&format!("\\u{{{:x}}}", c as u32));
        } else {
            shown.push(c);
        }
    }
    if cut.len() < got.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_names_are_ascii_and_start_with_a_letter_or_digit() {
        for good in ["a", "images", "9.b_c:d-e", &"x".repeat(128)] {
            assert_eq!(name("queue", good), Ok(()), "{good}");
        }
        for bad in ["", "-a", ".a", "a b", "é", "a\n", "q'; DROP TABLE job;--", &"x".repeat(129)] {
            assert_eq!(name("queue", bad).unwrap_err().code, Code::InvalidName, "{bad}");
        }
    }

    #[test]
    fn x_keys_are_any_text_that_cannot_mislead() {
        assert_eq!(key("key", "konto/é 42"), Ok(()));
        assert_eq!(key("key", "a\u{202e}b").unwrap_err().got, "U+202E");
        assert_eq!(key("key", "a\nb").unwrap_err().code, Code::UnsupportedCharacter);
        assert_eq!(key("key", &"x".repeat(257)).unwrap_err().code, Code::InvalidName);
    }

    #[test]
    fn a_refusal_prints_no_control_characters() {
        let refusal = name("queue", "\u{1b}[31mred\u{202e}").unwrap_err();
        assert_eq!(refusal.got, "\\u{1b}[31mred\\u{202e}");
        assert!(!refusal.to_string().contains('\u{1b}'));
    }

    #[test]
    fn d6_a_huge_error_is_cut_at_a_character() {
        let kept = clipped(&"é".repeat(10_000_000));
        assert!(kept.len() <= ERROR_BYTES_MAX && kept.ends_with("… (cut)"));
        assert_eq!(clipped("a\0b"), "a\u{fffd}b");
    }
}
