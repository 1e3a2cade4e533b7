//! Every act on the command line leaves who gave it (L8).

use crate::Place;
use serde_json::{Value, json};

/// Runs `tenure ARGS` as `ann`.
fn ann(place: &Place, args: &[&str]) {
    place.tenure(args).env("USER", "ann").assert().success();
}

/// The names of whoever acted, once each.
fn actors(timeline: &Value) -> Vec<String> {
    let events = timeline["events"].as_array().unwrap().iter();
    let mut names: Vec<String> = events.filter_map(|event| Some(event["by"].as_str()?.to_owned())).collect();
    names.dedup();
    names
}

fn assert_ann(timeline: &Value) {
    let names = actors(timeline);
    assert!(names.len() == 1 && names[0].starts_with("cli:ann@") && names[0].len() > 8, "{timeline}");
}

#[test]
fn l8_changes_of_settings_are_told_by_their_timelines() {
    let place = Place::new();
    ann(&place, &["queue", "pause", "images"]);
    ann(&place, &["queue", "limit", "images", "--max-running", "5", "--retention", "1d"]);
    ann(&place, &["queue", "limit", "--max-running", "7"]);
    ann(&place, &["store", "new-epoch"]);
    let queue = place.json(&["queue", "timeline", "images"]);
    assert_ann(&queue);
    let settings: Vec<&Value> = queue["events"].as_array().unwrap().iter().map(|event| &event["setting"]).collect();
    assert_eq!(settings, ["paused", "max_running", "retention_ms"]);
    let told = place.out(&["queue", "timeline", "images"]);
    assert!(told.contains("changed max_running from none to 5"), "{told}");
    let store = place.json(&["store", "timeline"]);
    assert_ann(&store);
    assert_eq!((&store["events"][0]["to"], &store["events"][1]["setting"]), (&json!("7"), &json!("epoch")));

    ann(&place, &["schedule", "add", "nightly", "@daily", "q"]);
    ann(&place, &["schedule", "pause", "nightly"]);
    ann(&place, &["schedule", "remove", "nightly"]);
    let schedule = place.json(&["schedule", "timeline", "nightly"]);
    assert_ann(&schedule);
    let whats: Vec<&Value> = schedule["events"].as_array().unwrap().iter().map(|event| &event["what"]).collect();
    assert_eq!(whats, ["created", "changed", "removed"]);
    for noun in ["queue", "schedule", "pipeline"] {
        place.refused(&[noun, "timeline", "never"], 66);
    }
}

#[test]
fn l8_acts_on_jobs_and_domains_name_who_gave_the_command() {
    let place = Place::new();
    place.out(&["enqueue", "q", "1"]);
    ann(&place, &["job", "cancel", "1"]);
    ann(&place, &["job", "retry", "1"]);
    assert_ann(&place.json(&["job", "timeline", "1"]));
    ann(&place, &["domain", "skip", "d", "3"]);
    ann(&place, &["domain", "set", "d", "--max-retries", "0"]);
    let domain = place.json(&["domain", "timeline", "d"]);
    assert_ann(&domain);
    assert_eq!(domain["events"].as_array().unwrap().len(), 2, "{domain}");
}

#[test]
fn x_a_user_of_control_characters_is_escaped() {
    let place = Place::new();
    place.tenure(&["queue", "pause", "q"]).env("USER", "a\u{1b}[31m\nb").assert().success();
    let timeline = place.json(&["queue", "timeline", "q"]);
    assert!(timeline["events"][0]["by"].as_str().unwrap().starts_with("cli:a?[31m?b@"), "{timeline}");
}
