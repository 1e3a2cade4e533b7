//! Ids: numbers that a store draws from growing counters. Callers see them as opaque strings.

/// The number spelled `text`. Only the one spelling that printing it gives: `007` is not the id `7`.
pub(crate) fn parse(text: &str) -> Result<i64, ()> {
    text.parse().ok().filter(|id: &i64| *id > 0 && id.to_string() == text).ok_or(())
}
