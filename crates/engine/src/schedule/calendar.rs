//! Which instants are slots: a cron expression read in a zone, or every so often.
//!
//! Always true:
//! - slots are whole seconds, strictly growing, and a pure function of the expression and the zone: the zones are those
//!   compiled into this program, so machines of one version agree whatever their own tzdata says;
//! - looking back finds the same slots as looking ahead;
//! - nothing here reads a clock.
//!
//! When clocks change, it matters how the time of day is written (T5). *Written out*, as in `30 2 * * *` or
//! `0 2,14 * * *`, it happens once for each time written: one that the day leaves out fires at the first instant after
//! the gap, and one that the day has twice fires the first time. *Repeating*, with `*`, a range or a step in the
//! seconds, minutes or hours, it goes by the clock on the wall: what the day leaves out does not happen, and what it
//! has twice happens twice.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, Zoned};
use std::sync::OnceLock;
use tenure_core::Time;
use tenure_core::bounds::{Code, Invalid};
use tenure_core::schedule::Slots;
use tenure_core::schedule::rules::SLOTS_SEEN_MAX;

/// Microseconds in a second.
const SECOND: i64 = 1_000_000;
/// The shortest and the longest `@every`: a second, and a year.
const EVERY_MICROS: (i64, i64) = (SECOND, 366 * 86_400 * SECOND);
/// No zone has ever moved its clocks by more than a day and a bit.
const CHANGE_MAX: i64 = 26 * 3_600 * SECOND;
/// No written-out time is dealt with later than this many steps: those of a day that is had twice.
const STEPS_MAX: usize = 200_000;

const ALIASES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];
/// The fields, and what each may hold beside `*` and lists, ranges and steps of it.
const FIELDS: [(&str, &str); 6] = [
    ("second", "0 to 59"),
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of month", "1 to 31 or L"),
    ("month", "1 to 12 or JAN to DEC"),
    ("day of week", "0 to 7 or SUN to SAT"),
];

/// The slots of one schedule.
#[derive(Clone, Debug)]
pub struct Calendar {
    when: When,
    zone: TimeZone,
}

#[derive(Clone, Debug)]
enum When {
    /// Microseconds; counted from 1970, so that it does not matter who counts.
    Every(i64),
    /// The time of day is written out.
    Written(Cron),
    /// The time of day repeats.
    Repeating(Cron),
}

impl Calendar {
    /// Reads an expression and a zone's name; what makes no sense is refused, with what would.
    pub fn read(cron: &str, zone: &str) -> Result<Calendar, Invalid> {
        let zone = zones().get(zone).ok().filter(|found| !found.is_unknown()).ok_or_else(|| no_zone(zone))?;
        let when = match cron.trim().strip_prefix("@every") {
            Some(span) => When::Every(every(span).ok_or_else(|| {
                let limit = "@every and a span of 1s to 366d, such as `@every 90s` or `@every 1h30m`";
                Invalid::new(Code::OutOfBounds, "cron", limit, cron)
            })?),
            None => expression(cron)?,
        };
        let calendar = Calendar { when, zone };
        // 2026 and the leap years around it: what does not come then never comes.
        if calendar.next_after(Time(1_767_225_600 * SECOND)).is_none() {
            return Err(Invalid::new(Code::OutOfBounds, "cron", "a day that ever comes, unlike 30 February", cron));
        }
        Ok(calendar)
    }

    /// The zone's name, spelled as the database of zones spells it.
    #[must_use]
    pub fn zone(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// The first slot after `after`.
    #[must_use]
    pub fn next_after(&self, after: Time) -> Option<Time> {
        match &self.when {
            When::Every(span) => Some(Time((after.0.div_euclid(*span) + 1) * span)),
            When::Repeating(cron) => read(cron.find_next_occurrence(&self.zoned(after)?, false).ok()?),
            When::Written(cron) => {
                let mut wall = self.wall(after)?;
                for _ in 0..STEPS_MAX {
                    wall = cron.find_next_occurrence(&wall, false).ok()?;
                    // In the hour that a day has twice, its first half lies behind.
                    let slot = self.first_instant(&wall)?;
                    if slot > after {
                        return Some(slot);
                    }
                }
                None
            }
        }
    }

    /// The last slot up to `until`, itself included.
    #[must_use]
    pub fn last_until(&self, until: Time) -> Option<Time> {
        match &self.when {
            When::Every(span) => Some(Time(until.0.div_euclid(*span) * span)),
            When::Repeating(cron) => read(cron.find_previous_occurrence(&self.zoned(until)?, true).ok()?),
            When::Written(cron) => {
                // Shortly after clocks went back, times that are later on the wall lie behind.
                let changed = self.zone.preceding(timestamp(Time(until.0 + 1))?).next();
                let lately = changed.is_some_and(|change| change.timestamp().as_microsecond() > until.0 - CHANGE_MAX);
                let mut wall = self.wall(until)?;
                if lately {
                    wall = wall.checked_add(jiff::SignedDuration::from_micros(CHANGE_MAX)).ok()?;
                }
                for _ in 0..STEPS_MAX {
                    wall = cron.find_previous_occurrence(&wall, true).ok()?;
                    let slot = self.first_instant(&wall)?;
                    if slot <= until {
                        return Some(slot);
                    }
                    wall = wall.checked_sub(jiff::SignedDuration::from_secs(1)).ok()?;
                }
                None
            }
        }
    }

    /// The slots from `from` up to `now`, and the first after it.
    #[must_use]
    pub fn slots(&self, from: Time, now: Time) -> Slots {
        let mut due = Vec::new();
        let mut last = self.last_until(now);
        while let Some(slot) = last.filter(|slot| *slot >= from && due.len() < SLOTS_SEEN_MAX) {
            due.push(slot);
            last = self.last_until(Time(slot.0 - 1));
        }
        due.reverse();
        Slots { due, next: self.next_after(now) }
    }

    /// An instant as the zone's clocks show it: RFC 3339 with the zone's offset.
    #[must_use]
    pub fn local(&self, at: Time) -> String {
        let shown = self.zoned(at).map(|zoned| zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string());
        shown.unwrap_or_default()
    }

    fn zoned(&self, at: Time) -> Option<Zoned> {
        Some(timestamp(at)?.to_zoned(self.zone.clone()))
    }

    /// What the clock on the wall shows, as if it were in UTC: there all days are alike.
    fn wall(&self, at: Time) -> Option<Zoned> {
        self.zoned(at)?.datetime().to_zoned(TimeZone::UTC).ok()
    }

    /// When the wall clock first shows `wall`, or would have, had the day not left it out.
    fn first_instant(&self, wall: &Zoned) -> Option<Time> {
        let shown = self.zone.to_ambiguous_zoned(wall.datetime());
        match shown.offset() {
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => read(shown.compatible().ok()?),
            AmbiguousOffset::Gap { .. } => {
                let before = shown.earlier().ok()?.timestamp();
                let change = self.zone.following(before).next()?;
                Some(Time(change.timestamp().as_microsecond()))
            }
        }
    }
}

/// The zones compiled into this program.
fn zones() -> &'static TimeZoneDatabase {
    static ZONES: OnceLock<TimeZoneDatabase> = OnceLock::new();
    ZONES.get_or_init(TimeZoneDatabase::bundled)
}

/// The whole second that `at` lies in.
fn timestamp(at: Time) -> Option<Timestamp> {
    Timestamp::from_second(at.0.div_euclid(SECOND)).ok()
}

fn read(zoned: Zoned) -> Option<Time> {
    Some(Time(zoned.timestamp().as_second() * SECOND))
}

/// Reads the span of `@every`: whole numbers and units, largest first.
fn every(span: &str) -> Option<i64> {
    let span = span.strip_prefix(' ')?.trim();
    let span: jiff::Span = span.parse().ok()?;
    let micros = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok()?.as_micros();
    let micros = i64::try_from(micros).ok().filter(|micros| micros % SECOND == 0)?;
    (EVERY_MICROS.0..=EVERY_MICROS.1).contains(&micros).then_some(micros)
}

fn expression(cron: &str) -> Result<When, Invalid> {
    let refused = |why: String| {
        let limit = format!("a cron expression such as `30 2 * * 1-5` (minute hour day month weekday): {why}");
        Err(Invalid::new(Code::OutOfBounds, "cron", limit, cron))
    };
    let text = cron.trim();
    let text = match ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(text)) {
        Some((_, text)) => text,
        None if text.starts_with('@') => {
            let known = ALIASES.iter().map(|(alias, _)| *alias).chain(["@every 90s"]);
            let hint = nearest(text, known).map_or_else(
                || format!("aliases are {} and @every", ALIASES.map(|(alias, _)| alias).join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return refused(hint);
        }
        None => text,
    };
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let fields = match fields.len() {
        5 => ["0"].into_iter().chain(fields).collect::<Vec<_>>(),
        6 => fields,
        count => return refused(format!("5 fields are needed, or 6 with seconds in front, not {count}")),
    };
    let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).build();
    let Ok(parsed) = parser.parse(&fields.join(" ")) else {
        // Each field by itself, to say which one it is.
        let wrong = (0..6).find(|i| {
            let alone: Vec<&str> = (0..6).map(|n| if n == *i { fields[n] } else { "*" }).collect();
            parser.parse(&alone.join(" ")).is_err()
        });
        let Some(i) = wrong else { return refused("its fields do not go together".to_owned()) };
        let (name, holds) = FIELDS[i];
        return refused(format!("the {name} `{}` is wrong, it holds {holds}, and * , - / with them", fields[i]));
    };
    let written = fields[..3].iter().all(|field| field.bytes().all(|byte| byte.is_ascii_digit() || byte == b','));
    Ok(if written { When::Written(parsed) } else { When::Repeating(parsed) })
}

fn no_zone(zone: &str) -> Invalid {
    let names: Vec<String> = zones().available().map(|name| name.to_string()).collect();
    let near = nearest(zone, names.iter().map(String::as_str)).or_else(|| {
        // A city alone is what people try first.
        names
            .iter()
            .map(String::as_str)
            .find(|name| name.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(&zone.replace(' ', "_"))))
    });
    let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let limit = format!("the IANA name of a zone, such as Europe/Berlin or UTC{hint}");
    Invalid::new(Code::OutOfBounds, "zone", limit, zone)
}

/// The word among `known` that `typo` is a slip of: at most two letters wrong, missing or too many.
fn nearest<'a>(typo: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typo = typo.to_ascii_lowercase();
    let near = known.into_iter().map(|word| (distance(&typo, &word.to_ascii_lowercase()), word));
    near.filter(|(far, word)| *far <= 2.min(word.len() / 3)).min_by_key(|(far, _)| *far).map(|(_, word)| word)
}

/// Letters to change, add or take away between two words.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
#[path = "calendar_tests.rs"]
mod tests;
