//! What the calendar promises: days on which clocks change, in zones that do it differently, and what is refused.

use super::*;

/// 2026-01-01T00:00:00Z.
const NEW_YEAR: Time = Time(1_767_225_600 * SECOND);
const DAY: i64 = 86_400 * SECOND;

fn at(text: &str) -> Time {
    Time(text.parse::<Timestamp>().unwrap().as_microsecond())
}

fn shown(zone: &str, slots: &[Time]) -> Vec<String> {
    let zone = zones().get(zone).unwrap();
    let show = |slot: &Time| timestamp(*slot).unwrap().to_zoned(zone.clone()).strftime("%d %H:%M %:z").to_string();
    slots.iter().map(show).collect()
}

fn ahead(calendar: &Calendar, from: Time, until: Time) -> Vec<Time> {
    let slots = std::iter::successors(calendar.next_after(Time(from.0 - 1)), |slot| calendar.next_after(*slot));
    slots.take_while(|slot| *slot <= until).collect()
}

/// The slots of `cron` over the day before and the day of a change, as the wall shows them.
fn check(cron: &str, zone: &str, change: &str, expected: &[&str]) {
    let calendar = Calendar::read(cron, zone).unwrap();
    let (from, until) = (Time(at(change).0 - 2 * 3_600 * SECOND), Time(at(change).0 + 2 * 3_600 * SECOND));
    let slots = ahead(&calendar, from, until);
    assert_eq!(shown(zone, &slots), expected, "{cron} in {zone}");
    assert_eq!(calendar.slots(from, until).due, slots, "looking back at {cron} in {zone}");
}

#[test]
fn d2_a_written_time_that_the_day_leaves_out_fires_right_after_the_gap() {
    check("30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", &["29 03:00 +02:00"]);
    check("30 2 * * *", "America/New_York", "2026-03-08T07:00:00Z", &["08 03:00 -04:00"]);
    check("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T15:30:00Z", &["04 02:30 +11:00"]);
    check("0 0 * * *", "America/Sao_Paulo", "2018-11-04T03:00:00Z", &["04 01:00 -02:00"]);
    check("30 2 * * *", "Asia/Kolkata", "2026-03-28T21:00:00Z", &["29 02:30 +05:30"]);
}

#[test]
fn d2_a_written_time_that_the_day_has_twice_fires_the_first_time() {
    check("30 2 * * *", "Europe/Berlin", "2026-10-25T01:00:00Z", &["25 02:30 +02:00"]);
    check("30 1 * * *", "America/New_York", "2026-11-01T06:00:00Z", &["01 01:30 -04:00"]);
    check("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T15:00:00Z", &["05 01:45 +11:00"]);
    check("30 23 * * *", "America/Sao_Paulo", "2019-02-17T02:00:00Z", &["16 23:30 -02:00"]);
    check("30 2 * * *", "Asia/Kolkata", "2026-10-24T21:00:00Z", &["25 02:30 +05:30"]);
}

#[test]
fn d2_several_written_times_are_each_written() {
    // Both fall into the gap: one slot, not two.
    check("15,45 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", &["29 03:00 +02:00"]);
    check("0 2,3 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", &["29 03:00 +02:00"]);
    check(
        "0 1,2,3 * * *",
        "Europe/Berlin",
        "2026-10-25T01:00:00Z",
        &["25 01:00 +02:00", "25 02:00 +02:00", "25 03:00 +01:00"],
    );
}

#[test]
fn d2_repeating_times_go_by_the_clock_on_the_wall() {
    check(
        "30 * * * *",
        "Europe/Berlin",
        "2026-03-29T01:00:00Z",
        &["29 00:30 +01:00", "29 01:30 +01:00", "29 03:30 +02:00", "29 04:30 +02:00"],
    );
    check(
        "30 * * * *",
        "Europe/Berlin",
        "2026-10-25T01:00:00Z",
        &["25 01:30 +02:00", "25 02:30 +02:00", "25 02:30 +01:00", "25 03:30 +01:00"],
    );
    check(
        "*/20 1-2 * * *",
        "America/New_York",
        "2026-11-01T06:00:00Z",
        &[
            "01 01:00 -04:00",
            "01 01:20 -04:00",
            "01 01:40 -04:00",
            "01 01:00 -05:00",
            "01 01:20 -05:00",
            "01 01:40 -05:00",
            "01 02:00 -05:00",
            "01 02:20 -05:00",
            "01 02:40 -05:00",
        ],
    );
    check(
        "0 * * * *",
        "Australia/Lord_Howe",
        "2026-04-04T15:00:00Z",
        &["05 00:00 +11:00", "05 01:00 +11:00", "05 02:00 +10:30", "05 03:00 +10:30"],
    );
    check(
        "15 * * * *",
        "Australia/Lord_Howe",
        "2026-10-03T15:30:00Z",
        &["04 00:15 +10:30", "04 01:15 +10:30", "04 03:15 +11:00", "04 04:15 +11:00"],
    );
    check(
        "0 * * * *",
        "America/Sao_Paulo",
        "2019-02-17T02:00:00Z",
        &["16 22:00 -02:00", "16 23:00 -02:00", "16 23:00 -03:00", "17 00:00 -03:00", "17 01:00 -03:00"],
    );
    check(
        "0 */2 * * *",
        "Asia/Kolkata",
        "2026-03-28T20:30:00Z",
        &["29 00:00 +05:30", "29 02:00 +05:30", "29 04:00 +05:30"],
    );
}

#[test]
fn d2_a_day_that_never_was_fires_at_the_start_of_the_next() {
    let calendar = Calendar::read("0 12 * * *", "Pacific/Apia").unwrap();
    let slots = ahead(&calendar, at("2011-12-29T00:00:00Z"), at("2011-12-31T20:00:00Z"));
    assert_eq!(shown("Pacific/Apia", &slots), ["29 12:00 -10:00", "31 00:00 +14:00", "31 12:00 +14:00"]);
}

/// Judges every minute around each change of a zone apart from croner: which minutes does the wall show, and when first?
#[test]
fn d2_every_minute_around_every_change_is_as_the_wall_shows_it() {
    type Matches = fn(i8, i8) -> bool;
    let cases: [(&str, Matches, bool); 7] = [
        ("30 2 * * *", |h, m| h == 2 && m == 30, true),
        ("0 0 * * *", |h, m| h == 0 && m == 0, true),
        ("10,50 0,1,2,3,23 * * *", |h, m| [0, 1, 2, 3, 23].contains(&h) && [10, 50].contains(&m), true),
        ("* * * * *", |_, _| true, false),
        ("*/15 * * * *", |_, m| m % 15 == 0, false),
        ("5 1-3 * * *", |h, m| (1..=3).contains(&h) && m == 5, false),
        ("0 */3 * * *", |h, m| h % 3 == 0 && m == 0, false),
    ];
    let years = [
        ("Europe/Berlin", "2026-01-01T00:00:00Z"),
        ("America/New_York", "2026-01-01T00:00:00Z"),
        ("Australia/Lord_Howe", "2026-01-01T00:00:00Z"),
        ("America/Sao_Paulo", "2018-03-01T00:00:00Z"),
        ("Africa/Casablanca", "2025-01-01T00:00:00Z"),
        ("Asia/Kolkata", "2026-01-01T00:00:00Z"),
    ];
    for (name, year) in years {
        let zone = zones().get(name).unwrap();
        let year = at(year);
        let mut changes: Vec<Time> = zone
            .following(timestamp(year).unwrap())
            .map(|change| Time(change.timestamp().as_microsecond()))
            .take_while(|change| change.0 < year.0 + 366 * DAY)
            .collect();
        if name == "Asia/Kolkata" {
            assert_eq!(changes, [], "clocks never change there");
            changes.push(year);
        }
        assert!(name == "Asia/Kolkata" || changes.len() == 2, "{name}: {changes:?}");
        for change in changes {
            let (from, until) = (Time(change.0 - 27 * 3_600 * SECOND), Time(change.0 + 27 * 3_600 * SECOND));
            for (cron, matches, written) in cases {
                let calendar = Calendar::read(cron, name).unwrap();
                let mut expected = Vec::new();
                let mut walls = std::collections::BTreeSet::new();
                // From a day before, so that what the wall has shown before is known.
                let mut minute = from.0 - DAY;
                let mut before = timestamp(Time(minute - 60 * SECOND)).unwrap().to_zoned(zone.clone()).datetime();
                while minute <= until.0 {
                    let wall = timestamp(Time(minute)).unwrap().to_zoned(zone.clone()).datetime();
                    let mut hit = matches(wall.hour(), wall.minute()) && (walls.insert(wall) || !written);
                    // What the wall skipped before this minute is owed now.
                    let mut skipped = before.checked_add(jiff::Span::new().minutes(1)).unwrap();
                    while skipped < wall {
                        hit |= written && matches(skipped.hour(), skipped.minute());
                        skipped = skipped.checked_add(jiff::Span::new().minutes(1)).unwrap();
                    }
                    if hit && minute >= from.0 {
                        expected.push(Time(minute));
                    }
                    before = wall;
                    minute += 60 * SECOND;
                }
                assert_eq!(ahead(&calendar, from, until), expected, "{cron} in {name} around {change:?}");
                assert_eq!(calendar.slots(from, until).due, expected, "looking back at {cron} in {name}");
            }
        }
    }
}

#[test]
fn t5_looking_from_within_a_second_finds_the_same_slots() {
    for cron in ["* * * * * *", "*/7 * * * * *", "0 0 * * * *", "5,30 0,30 1,2 * * *"] {
        let calendar = Calendar::read(cron, "Europe/Berlin").unwrap();
        let start = at("2026-10-25T00:59:50Z");
        for micros in [0, 1, 499_999, 999_999] {
            let from = Time(start.0 + micros);
            let next = calendar.next_after(from).unwrap();
            assert!(next > from && next.0 % SECOND == 0, "{cron}");
            assert_eq!(calendar.last_until(next), Some(next), "{cron}");
            assert!(calendar.last_until(Time(next.0 - 1)).unwrap() <= from, "{cron}");
        }
    }
}

#[test]
fn t5_every_so_often_is_counted_from_1970() {
    let calendar = Calendar::read("@every 1h30m", "UTC").unwrap();
    let slots = ahead(&calendar, NEW_YEAR, Time(NEW_YEAR.0 + 5 * 3_600 * SECOND));
    assert_eq!(shown("UTC", &slots), ["01 00:00 +00:00", "01 01:30 +00:00", "01 03:00 +00:00", "01 04:30 +00:00"]);
    assert_eq!(calendar.slots(NEW_YEAR, Time(NEW_YEAR.0 + 1)).due, [NEW_YEAR]);
}

#[test]
fn t5_aliases_and_seconds_are_read() {
    for (cron, expected) in [
        ("@hourly", "2026-01-01T01:00:00Z"),
        ("@daily", "2026-01-02T00:00:00Z"),
        ("@MIDNIGHT", "2026-01-02T00:00:00Z"),
        ("@weekly", "2026-01-04T00:00:00Z"),
        ("@monthly", "2026-02-01T00:00:00Z"),
        ("@yearly", "2027-01-01T00:00:00Z"),
        ("15 30 2 * * *", "2026-01-01T02:30:15Z"),
        ("0 9 * * MON-FRI", "2026-01-01T09:00:00Z"),
        ("0 0 L * *", "2026-01-31T00:00:00Z"),
        ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
    ] {
        assert_eq!(Calendar::read(cron, "UTC").unwrap().next_after(NEW_YEAR), Some(at(expected)), "{cron}");
    }
}

#[test]
fn x_a_bad_expression_is_refused_and_explained() {
    for (cron, why) in [
        ("", "5 fields are needed"),
        ("* * * *", "5 fields are needed"),
        ("0 0 0 1 1 * 2026", "not 7"),
        ("0 25 * * *", "the hour `25` is wrong"),
        ("60 * * * *", "the minute `60` is wrong"),
        ("0 0 0 * *", "the day of month `0` is wrong"),
        ("0 0 * 13 *", "the month `13` is wrong"),
        ("0 0 * * 8", "the day of week `8` is wrong"),
        ("0 0 * * MOON", "the day of week `MOON` is wrong"),
        ("a b c d e", "the minute `a` is wrong"),
        ("*/0 * * * *", "the minute `*/0` is wrong"),
        ("@dayly", "did you mean `@daily`?"),
        ("@reboot", "aliases are @yearly"),
        ("@every", "@every and a span"),
        ("@every soon", "@every and a span"),
        ("@every 500ms", "@every and a span"),
        ("@every 1500ms", "@every and a span"),
        ("@every 0s", "@every and a span"),
        ("@every -1h", "@every and a span"),
        ("@every 1y", "@every and a span"),
        ("0 0 30 2 *", "unlike 30 February"),
        ("0 0 31 4,6,9,11 *", "unlike 30 February"),
    ] {
        let refused = Calendar::read(cron, "UTC").unwrap_err();
        assert_eq!((refused.code, refused.field.as_str()), (Code::OutOfBounds, "cron"), "{cron}");
        assert!(refused.to_string().contains(why), "{cron}: {refused}");
    }
}

#[test]
fn x_a_bad_zone_is_refused_with_a_hint() {
    for (zone, hint) in [
        ("Europe/Berln", "did you mean `Europe/Berlin`?"),
        ("Berlin", "did you mean `Europe/Berlin`?"),
        ("New York", "did you mean `America/New_York`?"),
        ("Mars/Olympus", "such as Europe/Berlin"),
        ("", "such as Europe/Berlin"),
        ("+02:00", "such as Europe/Berlin"),
        ("../../etc/passwd", "such as Europe/Berlin"),
        ("Etc/Unknown", "such as Europe/Berlin"),
    ] {
        let refused = Calendar::read("@daily", zone).unwrap_err();
        assert_eq!(refused.field, "zone");
        assert!(refused.to_string().contains(hint), "{zone}: {refused}");
    }
    assert_eq!(Calendar::read("@daily", "europe/BERLIN").unwrap().zone(), "Europe/Berlin");
}

#[test]
fn x_the_ends_of_time_have_no_slot_and_no_panic() {
    let calendar = Calendar::read("30 2 * * *", "Europe/Berlin").unwrap();
    let repeating = Calendar::read("* * * * *", "Europe/Berlin").unwrap();
    for calendar in [calendar, repeating] {
        for time in [Time::MIN, Time::MAX, Time(0), Time(-1)] {
            let _ = (calendar.next_after(time), calendar.last_until(time));
        }
        assert_eq!(calendar.next_after(Time::MAX), None);
    }
}

#[test]
fn t3_a_long_absence_is_looked_at_in_bounds() {
    let calendar = Calendar::read("* * * * *", "America/New_York").unwrap();
    let now = Time(NEW_YEAR.0 + 300 * DAY);
    let slots = calendar.slots(NEW_YEAR, now);
    assert_eq!((slots.due.len(), slots.due.last()), (SLOTS_SEEN_MAX, Some(&now)));
}
