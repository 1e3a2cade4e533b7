//! How events speak (L8): what the sentences of every face have in common.

use crate::time::Time;

/// Characters of an error that an event repeats; the whole text stays with the attempt.
const ERROR_CHARS: usize = 200;

/// The beginning of an error, as an event repeats it.
pub(crate) fn beginning(error: &str) -> String {
    error.chars().take(ERROR_CHARS).collect()
}

/// How often something happened from the first time to the last, where it was counted into one event.
pub(crate) fn times(count: u64, first_at: Option<Time>, at: Time) -> String {
    let ms = first_at.map_or(0, |first| at.ms_since(first));
    match (count, ms) {
        (..=1, _) => String::new(),
        (_, 0) => format!(" ({count} times)"),
        _ => format!(" ({count} times in {})", rounded(ms)),
    }
}

/// A span as a person would say it.
pub(crate) fn rounded(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms} ms"),
        1_000..=119_999 => format!("{:.1} s", ms as f64 / 1_000.0),
        _ => format!("{} min", ms / 60_000),
    }
}
