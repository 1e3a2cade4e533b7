//! Schedules from the command line, and fired by real servers.

use crate::Place;
use crate::serve::Serving;
use std::collections::BTreeSet;

#[test]
fn a_schedule_is_added_shown_paused_and_removed() {
    let place = Place::new();
    let add = ["schedule", "add", "nightly", "30  2 * * *", "reports", r#"{"a": 1}"#, "--zone", "europe/berlin"];
    let added = place.out(&[&add[..], &["--kind", "report", "--catch-up", "all"]].concat());
    for line in ["cron                  30 2 * * *", "zone                  Europe/Berlin", "catch_up              all"]
    {
        assert!(added.contains(line), "{added}");
    }
    assert!(added.contains(r#"job.payload           {"a": 1}"#), "{added}");
    let listed = place.out(&["schedule", "list"]);
    assert!(
        listed.starts_with("SCHEDULE\tCRON\tZONE")
            && listed.contains("nightly\t30 2 * * *\tEurope/Berlin\treports\treport\t")
    );
    assert_eq!(place.json(&["schedule", "pause", "nightly"])["paused"], true);
    assert!(place.out(&["schedule", "list"]).contains("\tpaused\t"));
    assert_eq!(place.json(&["schedule", "resume", "nightly"])["paused"], false);
    assert!(place.out(&["schedule", "show", "nightly"]).contains("SLOT\tFIRED\tJOB"));
    assert_eq!(place.json(&["schedule", "show", "nightly"])["job"]["queue"], "reports");
    assert_eq!(place.out(&["schedule", "remove", "nightly"]), "");
    for verb in ["show", "pause", "resume", "remove", "next"] {
        let said = place.refused(&["schedule", verb, "nightly"], 66);
        assert!(said.contains("schedule nightly is not on record"), "{said}");
    }
}

#[test]
fn next_previews_slots_in_their_zone() {
    let place = Place::new();
    let next = place.json(&["schedule", "next", "--cron", "30 2 * * *", "--zone", "Asia/Kolkata", "--count", "2"]);
    let slots = next["slots"].as_array().unwrap();
    assert_eq!(slots.len(), 2);
    for slot in slots {
        assert!(slot["at"].as_str().unwrap().ends_with("T21:00:00Z"), "{slot}");
        assert!(slot["local"].as_str().unwrap().ends_with("T02:30:00+05:30"), "{slot}");
    }
    assert!(!place.folder.path().join("tenure.db").exists(), "an expression needs no store");
    place.out(&["schedule", "add", "s", "@every 90s", "q"]);
    assert_eq!(place.out(&["schedule", "next", "s"]).lines().count(), 11);
}

#[test]
fn x_what_makes_no_sense_is_65_and_explained() {
    let place = Place::new();
    for (args, hint) in [
        (["schedule", "next", "--cron", "0 25 * * *"], "the hour `25` is wrong"),
        (["schedule", "next", "--cron", "@dayly"], "did you mean `@daily`?"),
        (["schedule", "add", "a b", "@daily"], "not a valid name"),
    ] {
        let mut args = args.to_vec();
        if args[1] == "add" {
            args.push("q");
        }
        let said = place.refused(&args, 65);
        assert!(said.contains(hint) && said.lines().count() == 1, "{said}");
    }
    let said = place.refused(&["schedule", "next", "--cron", "@daily", "--zone", "New York"], 65);
    assert!(said.contains("did you mean `America/New_York`?"), "{said}");
    place.refused(&["schedule", "next"], 2);
}

#[test]
fn d1_three_servers_that_are_killed_fire_each_second_once() {
    let place = Place::new();
    place.out(&["schedule", "add", "tick", "* * * * * *", "q", "--catch-up", "all"]);
    let start = || Serving::start(&place, &place.store());
    let mut serving = [start(), start(), start()];
    let fired = || place.json(&["schedule", "show", "tick"])["fired"].as_u64().unwrap();
    let mut killed = 0;
    while fired() < 9 || killed < 6 {
        // Replaced, and with that killed: SIGKILL, wherever it is.
        serving[killed % 3] = start();
        killed += 1;
    }
    place.out(&["schedule", "pause", "tick"]);
    let fired = fired();
    drop(serving);
    let jobs = place.json(&["job", "list", "--queue", "q", "--limit", "1000"]);
    let slots: Vec<String> =
        jobs["jobs"].as_array().unwrap().iter().map(|job| job["run_at"].as_str().unwrap().to_owned()).collect();
    let once: BTreeSet<jiff::Timestamp> = slots.iter().map(|slot| slot.parse().unwrap()).collect();
    assert_eq!(
        (once.len(), slots.len() as u64),
        (slots.len(), fired),
        "a slot was fired twice, or a firing has no job"
    );
    let (first, last) = (once.first().unwrap(), once.last().unwrap());
    assert_eq!(last.as_second() - first.as_second() + 1, fired as i64, "a second is missing");
}
