//! Instants of the store's clock, and their one spelling: RFC 3339, always written in UTC with `Z`.
//!
//! Always true: a [`Time`] came from a store or from a caller's `run_at`; this crate never asks what time it is (L5).

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970-01-01T00:00:00Z: the finest step that PostgreSQL and every other backend keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// 0001-01-01T00:00:00Z, the first instant a caller may name.
    pub const MIN: Time = Time(-62_135_596_800_000_000);
    /// 9999-12-31T23:59:59.999999Z, the last instant RFC 3339 can spell.
    pub const MAX: Time = Time(253_402_300_799_999_999);

    /// What the text of an instant must look like, for refusals.
    pub const FORM: &str = "an RFC 3339 time with a zone, such as 2026-01-31T09:30:00Z";

    /// This instant moved by `ms` milliseconds, never beyond [`Time::MAX`].
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Time {
        let micros = i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000);
        Time(self.0.saturating_add(micros).min(Time::MAX.0))
    }

    /// Whole milliseconds from `earlier` to this instant, zero if it lies after.
    #[must_use]
    pub fn ms_since(self, earlier: Time) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0) / 1_000).unwrap_or(0)
    }
}

impl From<SystemTime> for Time {
    fn from(at: SystemTime) -> Time {
        let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Time(at.duration_since(UNIX_EPOCH).map_or_else(|before| -micros(before.duration()), micros))
    }
}

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Writes as many digits of the second as it needs. What RFC 3339 cannot spell is shown as the nearest that it can.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.clamp(Time::MIN.0, Time::MAX.0);
        let (year, month, day) = date(micros.div_euclid(DAY));
        let of_day = micros.rem_euclid(DAY);
        let (seconds, fraction) = (of_day / SECOND, of_day % SECOND);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if fraction > 0 {
            write!(f, ".{}", format!("{fraction:06}").trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// Text that is not [what an instant must look like](Time::FORM).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTime;

impl fmt::Display for InvalidTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not {}", Time::FORM)
    }
}

impl std::error::Error for InvalidTime {}

/// Reads an RFC 3339 time; it must name a zone. Finer than microseconds is cut.
impl FromStr for Time {
    type Err = InvalidTime;

    fn from_str(text: &str) -> Result<Time, InvalidTime> {
        parse(text).ok_or(InvalidTime)
    }
}

crate::serial::as_text!(Time, "Time", Some(utoipa::openapi::schema::KnownFormat::DateTime), |text| text.parse().ok());

fn parse(text: &str) -> Option<Time> {
    let (moment, rest) = text.split_at_checked("0000-00-00T00:00:00".len())?;
    if !fits(moment, "0000-00-00T00:00:00") {
        return None;
    }
    let number = |from: usize, to: usize| moment[from..to].parse::<i64>().ok();
    let day = day((number(0, 4)?, number(5, 7)?, number(8, 10)?))?;
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // A leap second is the one before it.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let fraction = micros(&rest[..rest.len() - zone.len()])?;
    let seconds = hour * 3_600 + minute * 60 + second.min(59);
    Some(Time(day * DAY + seconds * SECOND + fraction - ahead(zone)? * 60 * SECOND))
}

/// Whether it has digits where the form has a zero, and what the form has where it has anything else.
fn fits(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && (text.bytes().zip(form.bytes()))
            .all(|(c, f)| if f == b'0' { c.is_ascii_digit() } else { c.eq_ignore_ascii_case(&f) })
}

/// The fraction of a second, if one is spelled: a point and up to nine digits.
fn micros(fraction: &str) -> Option<i64> {
    if fraction.is_empty() {
        return Some(0);
    }
    let digits = fraction.strip_prefix('.').filter(|digits| (1..=9).contains(&digits.len()))?;
    format!("{digits:0<6}")[..6].parse().ok()
}

/// How far a zone is ahead of UTC, in minutes.
fn ahead(zone: &str) -> Option<i64> {
    if fits(zone, "Z") {
        return Some(0);
    }
    if !fits(zone, "+00:00") && !fits(zone, "-00:00") {
        return None;
    }
    let (hours, minutes): (i64, i64) = (zone[1..3].parse().ok()?, zone[4..6].parse().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let ahead = hours * 60 + minutes;
    Some(if zone.starts_with('-') { -ahead } else { ahead })
}

/// Days from 1970 to the first of March of `year`. A year that begins in March has its leap day last.
fn to_march(year: i64) -> i64 {
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) - 719_468
}

/// Days from the first of March to the first of the month that comes so many months later.
fn to_month(later: i64) -> i64 {
    (later * 153 + 2) / 5
}

/// Year, month and day of what lies so many days after 1970-01-01.
fn date(day: i64) -> (i64, i64, i64) {
    // 400 years have 146,097 days; within them the mean is off by a year at most.
    let mut year = ((day + 719_468) * 400).div_euclid(146_097) + 1;
    while to_march(year) > day {
        year -= 1;
    }
    let of_year = day - to_march(year);
    let later = (of_year * 5 + 2) / 153;
    let month = (later + 2) % 12 + 1;
    (year + i64::from(month < 3), month, of_year - to_month(later) + 1)
}

/// The day of a date, if there is such a date.
fn day((year, month, of_month): (i64, i64, i64)) -> Option<i64> {
    let day = to_march(year - i64::from(month < 3)) + to_month((month + 9) % 12) + of_month - 1;
    (date(day) == (year, month, of_month)).then_some(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_any_offset_is_read_and_z_is_written() {
        let check = |text: &str, shown: &str| assert_eq!(text.parse::<Time>().unwrap().to_string(), shown, "{text}");
        check("2026-01-31T09:30:00Z", "2026-01-31T09:30:00Z");
        check("2026-01-31T09:30:00.5+02:00", "2026-01-31T07:30:00.5Z");
        check("2026-01-31t09:30:00.123456789z", "2026-01-31T09:30:00.123456Z");
        check("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z");
        check("1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999Z");
        check("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z");
        check("2024-02-29T23:59:60-00:30", "2024-03-01T00:29:59Z");
    }

    #[test]
    fn x_what_is_no_instant_is_refused() {
        for bad in [
            "",
            "now",
            "2026-02-30T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-01-31T09:30:00",
            "2026-01-31",
            "2026-01-31 09:30:00Z",
            "20260131T093000Z",
            "0000-00-00T00:00:00Z",
            "2026-01-31T25:00:00Z",
            "2026-01-31T09:30:00+24:00",
            "2026-01-31T09:30:00Z[Europe/Berlin]",
            "2026-01-31T09:30:00.Z",
            "2026-01-31T09:30:00.1.2Z",
            "2026-01-31T09:30:00.1234567890Z",
            "294276-01-01T00:00:00Z",
            "２026-01-31T09:30:00Z",
        ] {
            assert_eq!(bad.parse::<Time>(), Err(InvalidTime), "{bad}");
        }
    }

    #[test]
    fn days_of_every_year_are_read_as_they_were_written() {
        let mut before = Time::MIN.to_string();
        // 29 days: every year, and by and by every day of it.
        for day in (Time::MIN.0 / DAY + 1..=Time::MAX.0 / DAY).step_by(29) {
            let shown = Time(day * DAY).to_string();
            assert!(before < shown, "{before} {shown}");
            assert_eq!(shown.parse(), Ok(Time(day * DAY)));
            before = shown;
        }
        assert_eq!(Time(Time::MAX.0 + 1).to_string(), "9999-12-31T23:59:59.999999Z");
    }

    #[test]
    fn the_clock_of_the_machine_is_read_before_1970_too() {
        assert_eq!(Time::from(UNIX_EPOCH + Duration::from_nanos(1_500)), Time(1));
        assert_eq!(Time::from(UNIX_EPOCH - Duration::from_secs(1)), Time(-SECOND));
    }
}
