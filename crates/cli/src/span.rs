//! Spans of time as people write them: `90s`, `1h30m`, `7d`.

use jiff::{Span, SpanRelativeTo};

/// Milliseconds of a span; a day has 24 hours.
pub(crate) fn ms(text: &str) -> Result<u64, String> {
    let wrong = || "use a span such as 500ms, 90s, 5m, 1h30m or 7d".to_owned();
    let span: Span = text.parse().map_err(|_| wrong())?;
    // Months and years have no fixed length: they are refused here.
    let span = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    u64::try_from(span.as_millis()).map_err(|_| "a span cannot be negative".to_owned())
}

/// A span as [`ms`] reads it, in the largest unit that tells it exactly.
pub(crate) fn show(ms: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    match UNITS.iter().find(|(unit, _)| ms >= *unit && ms.is_multiple_of(*unit)) {
        Some((unit, letter)) => format!("{}{letter}", ms / unit),
        None => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_shown_as_people_write_them() {
        for (text, read, shown) in [
            ("500ms", 500, "500ms"),
            ("90s", 90_000, "90s"),
            ("1m30s", 90_000, "90s"),
            ("1h30m", 5_400_000, "90m"),
            ("7d", 604_800_000, "7d"),
            ("1w", 604_800_000, "7d"),
            ("1d12h", 129_600_000, "36h"),
            ("0s", 0, "0ms"),
        ] {
            assert_eq!(ms(text), Ok(read), "{text}");
            assert_eq!(show(read), shown, "{text}");
        }
        for bad in ["", "soon", "90", "-1s", "1mo", "1y", "7 bananas"] {
            assert!(ms(bad).is_err(), "{bad}");
        }
    }
}
