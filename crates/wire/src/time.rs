//! Instants on the wire: RFC 3339, always written in UTC with `Z`.

use jiff::Timestamp;
use tenure::Time;

/// What an instant must look like, for refusals.
pub const LIMIT: &str = "an RFC 3339 time with a zone, such as 2026-01-31T09:30:00Z";

/// Reads an RFC 3339 time; it must name a zone. Finer than microseconds is cut.
#[must_use]
pub fn parse(text: &str) -> Option<Time> {
    // jiff also reads looser forms of ISO 8601; on this surface there is one.
    if !shaped(text.as_bytes()) {
        return None;
    }
    let at: Timestamp = text.parse().ok()?;
    Some(Time(at.as_microsecond()))
}

/// Writes an instant, with as many digits of the second as it needs.
#[must_use]
pub fn show(time: Time) -> String {
    let clamped = time.0.clamp(Time::MIN.0, Time::MAX.0);
    Timestamp::from_microsecond(clamped).map_or_else(|_| "9999-12-31T23:59:59.999999Z".to_owned(), |at| at.to_string())
}

/// Whether `text` is `YYYY-MM-DDTHH:MM:SS`, an optional fraction, and `Z` or an offset of less than a day.
fn shaped(text: &[u8]) -> bool {
    let fits = |text: &[u8], form: &[u8]| {
        text.len() == form.len()
            && text.iter().zip(form).all(|(c, f)| if *f == b'0' { c.is_ascii_digit() } else { c.eq_ignore_ascii_case(f) })
    };
    let Some((moment, rest)) = text.split_at_checked(19) else { return false };
    if !fits(moment, b"0000-00-00T00:00:00") {
        return false;
    }
    let zone = match rest.split_first() {
        Some((b'.', fraction)) => {
            let digits = fraction.iter().take_while(|c| c.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        _ => rest,
    };
    let offset = fits(zone, b"+00:00") || fits(zone, b"-00:00");
    fits(zone, b"Z") || (offset && &zone[1..3] <= b"23".as_slice() && &zone[4..6] <= b"59".as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_any_offset_is_read_and_z_is_written() {
        let check = |text: &str, shown: &str| assert_eq!(parse(text).map(show).as_deref(), Some(shown), "{text}");
        check("2026-01-31T09:30:00Z", "2026-01-31T09:30:00Z");
        check("2026-01-31T09:30:00.5+02:00", "2026-01-31T07:30:00.5Z");
        check("2026-01-31t09:30:00.123456789z", "2026-01-31T09:30:00.123456Z");
        check("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z");
    }

    #[test]
    fn x_what_is_no_instant_is_refused() {
        for bad in [
            "",
            "now",
            "2026-02-30T00:00:00Z",
            "2026-01-31T09:30:00",
            "2026-01-31",
            "2026-01-31 09:30:00Z",
            "20260131T093000Z",
            "0000-00-00T00:00:00Z",
            "2026-01-31T25:00:00Z",
            "2026-01-31T09:30:00+24:00",
            "2026-01-31T09:30:00Z[Europe/Berlin]",
            "2026-01-31T09:30:00.Z",
            "294276-01-01T00:00:00Z",
            "２026-01-31T09:30:00Z",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
