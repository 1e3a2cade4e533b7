//! Syncs from the command line.

use crate::Place;
use serde_json::{Value, json};

#[test]
fn s4_a_sync_is_planned_listed_and_shown() {
    let place = Place::new();
    assert_eq!(place.out(&["sync", "plan", "orders", "a", "b", "--priority", "3"]), "1\n");
    let shown = place.out(&["sync", "show", "1"]);
    assert!(shown.contains("state           AVAILABLE"), "{shown}");
    assert!(shown.contains("0/2 chunks"), "{shown}");
    let list = place.out(&["sync", "list", "--matrix", "orders"]);
    assert!(list.lines().nth(1).unwrap().starts_with("1\torders\tAVAILABLE\t3\t2\t"), "{list}");
    let chunks = place.out(&["sync", "chunks", "1", "--state", "available"]);
    assert_eq!(chunks.lines().nth(1), Some("a\tAVAILABLE\t0/5\t-\t-\t-\t-"));
    let whole = place.json(&["sync", "show", "1"]);
    assert_eq!((&whole["state"], &whole["chunks"][1]["chunk_hash"]), (&json!("AVAILABLE"), &json!("b")));
    assert_eq!(whole["progress"]["available"], 2);
}

#[test]
fn s4_chunks_come_from_a_file_and_can_be_added() {
    let place = Place::new();
    let lines = "{\"chunk_hash\":\"a\",\"payload\":{\"from\":1}}\n\n{\"chunk_hash\":\"b\"}\n";
    let file = place.file("chunks.ndjson", lines);
    assert_eq!(place.json(&["sync", "plan", "orders", "--file", &file])["planned"], 2);
    assert_eq!(place.out(&["sync", "add", "1", "b", "c"]), "1 added, 3 planned\n");
    assert_eq!(place.json(&["sync", "show", "1"])["chunks"][0]["payload"], json!({"from":1}));
    let bad = place.file("bad.ndjson", "{\"chunk_hash\":\"a\"}\n{\"chunk_hsh\":\"b\"}\n");
    let refused = place.refused(&["sync", "plan", "other", "--file", &bad], 65);
    assert!(refused.contains("line 2") && refused.contains("did you mean `chunk_hash`?"), "{refused}");
}

#[test]
fn s6_a_second_plan_is_65_and_names_the_first() {
    let place = Place::new();
    place.out(&["sync", "plan", "orders", "a"]);
    let refused = place.refused(&["sync", "plan", "orders", "a", "--json"], 65);
    let refused: Value = serde_json::from_str(&refused).unwrap();
    assert_eq!((&refused["error"]["code"], &refused["error"]["id"]), (&json!("sync_unfinished"), &json!("1")));
    assert_eq!(place.out(&["sync", "cancel", "1", "--reason", "wrong source"]), "FAILED\n");
    assert!(place.out(&["sync", "timeline", "1"]).contains(" cancelled the sync: wrong source"));
    let ended = place.out(&["sync", "show", "1", "--watch"]);
    assert!(ended.contains("error           cancelled"), "{ended}");
    assert!(place.refused(&["sync", "cancel", "1"], 65).contains("already ended"));
    assert_eq!(place.out(&["sync", "plan", "orders", "a"]), "2\n");
}

#[test]
fn bad_input_and_unknown_syncs_are_told() {
    let place = Place::new();
    place.out(&["init"]);
    assert!(place.refused(&["sync", "show", "7"], 66).contains("sync 7 is not on record"));
    assert!(place.refused(&["sync", "timeline", "x"], 66).contains("not on record"));
    assert!(place.refused(&["sync", "cancel", "7"], 66).contains("not on record"));
    assert!(place.refused(&["sync", "plan", "m", "a", "a"], 65).contains("chunks[1].chunk_hash"));
    assert!(place.refused(&["sync", "plan", "m", "--attempts-max", "0"], 65).contains("attempts_max"));
    assert!(place.refused(&["sync", "plan", "m", "--file", "nowhere.ndjson"], 66).contains("cannot read"));
    assert!(place.refused(&["sync", "list", "--state", "sleeping"], 2).contains("use AVAILABLE"));
}
