//! Instants on the wire: RFC 3339, always written in UTC with `Z`.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use tenure::Time;

/// What an instant must look like, for refusals.
pub const LIMIT: &str = "an RFC 3339 time with a zone, such as 2026-01-31T09:30:00Z";

/// Time zero. Civil time is reckoned from it because jiff's `Timestamp` ends a day before the year 9999 does.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Reads an RFC 3339 time; it must name a zone. Finer than microseconds is cut.
#[must_use]
pub fn parse(text: &str) -> Option<Time> {
    let (moment, ahead_minutes) = split(text)?;
    // jiff also reads looser forms of ISO 8601; `split` has let only one of them through.
    let moment: DateTime = moment.parse().ok()?;
    let micros = i64::try_from(moment.duration_since(EPOCH).as_nanos().div_euclid(1_000)).ok()?;
    Some(Time(micros - ahead_minutes * 60_000_000))
}

/// Writes an instant, with as many digits of the second as it needs.
#[must_use]
pub fn show(time: Time) -> String {
    let micros = time.0.clamp(Time::MIN.0, Time::MAX.0);
    let moment = EPOCH.checked_add(SignedDuration::from_micros(micros)).unwrap_or(DateTime::MAX);
    format!("{moment}Z")
}

/// Takes `YYYY-MM-DDTHH:MM:SS[.fraction]` apart from its zone, in minutes ahead of UTC. `None` for any other form.
fn split(text: &str) -> Option<(&str, i64)> {
    let fits = |text: &str, form: &str| {
        text.len() == form.len()
            && (text.bytes().zip(form.bytes()))
                .all(|(c, f)| if f == b'0' { c.is_ascii_digit() } else { c.eq_ignore_ascii_case(&f) })
    };
    let (moment, rest) = text.split_at_checked("0000-00-00T00:00:00".len())?;
    if !fits(moment, "0000-00-00T00:00:00") {
        return None;
    }
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == fraction.len() {
                return None;
            }
            zone
        }
        None => rest,
    };
    let moment = &text[..text.len() - zone.len()];
    if fits(zone, "Z") {
        return Some((moment, 0));
    }
    if !fits(zone, "+00:00") && !fits(zone, "-00:00") {
        return None;
    }
    let (hours, minutes): (i64, i64) = (zone[1..3].parse().ok()?, zone[4..6].parse().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let ahead = hours * 60 + minutes;
    Some((moment, if zone.starts_with('-') { -ahead } else { ahead }))
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
        check("1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999Z");
        check("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z");
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
