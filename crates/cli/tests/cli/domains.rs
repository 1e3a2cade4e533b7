//! Domains from the command line.

use crate::Place;
use serde_json::{Value, json};

#[test]
fn d1_offsets_go_one_at_a_time_in_order() {
    let place = Place::new();
    assert_eq!(place.out(&["domain", "acquire", "acct-42", "1"]), "ACQUIRED\t1\n");
    assert_eq!(place.out(&["domain", "acquire", "acct-42", "2"]), "ENQUEUED\n");
    assert_eq!(place.out(&["domain", "succeed", "acct-42", "1"]), "NEXT_HINT\t2\n");
    let refused = place.refused(&["domain", "acquire", "acct-42", "3"], 65);
    assert!(refused.contains("offset 2 is first") && refused.lines().count() == 1, "{refused}");
    let second = place.json(&["domain", "acquire", "acct-42", "2"]);
    assert_eq!(second, json!({ "result": "ACQUIRED", "token": "2" }));
    assert_eq!(place.out(&["domain", "fail", "acct-42", "2"]), "RETRY_SCHEDULED\t1\n");
    assert_eq!(place.out(&["domain", "succeed", "acct-42", "2"]), "NO_BACKLOG\n");
    assert_eq!(place.out(&["domain", "acquire", "acct-42", "1"]), "ALREADY_PROCESSED\n");
}

#[test]
fn d1_a_write_that_does_not_count_is_65_with_its_code() {
    let place = Place::new();
    place.out(&["domain", "acquire", "a", "1"]);
    for (domain, token, code) in
        [("a", "7", "token_mismatch"), ("a", "seven", "token_mismatch"), ("b", "1", "lease_not_found")]
    {
        let refused = place.refused(&["domain", "succeed", domain, token, "--json"], 65);
        let refused: Value = serde_json::from_str(&refused).unwrap();
        assert_eq!(refused["error"]["code"], code);
    }
    let timeline = place.out(&["domain", "timeline", "a"]);
    for told in ["under token 7: token_mismatch", "under token that is none: token_mismatch"] {
        assert!(timeline.contains(&format!("refused a succeed {told}")), "{timeline}");
    }
}

#[test]
fn d3_d4_a_named_lease_that_runs_out_is_renewed_and_shown() {
    let place = Place::new();
    place.out(&["domain", "acquire", "a", "1", "--holder", "bob", "--lease", "1h"]);
    assert_eq!(place.out(&["domain", "acquire", "a", "1", "--holder", "eve"]), "HELD_BY_OTHER\n");
    assert!(place.out(&["domain", "heartbeat", "a", "1"]).starts_with("RENEWED\t20"));
    let shown = place.json(&["domain", "show", "a"]);
    assert_eq!((&shown["lease"]["holder"], &shown["lease"]["lease_ms"]), (&json!("bob"), &json!(3_600_000)));
    assert!(shown["lease"].get("token").is_none());
    let table = place.out(&["domain", "show", "a"]);
    assert!(table.contains("bob") && table.contains("max_retries           3"), "{table}");
    assert!(place.refused(&["domain", "show", "never"], 66).contains("domain never is not on record"));
}

#[test]
fn d7_an_operator_skips_and_sets() {
    let place = Place::new();
    let set = place.out(&["domain", "set", "a", "--max-retries", "0", "--takeovers-max", "2"]);
    assert!(set.contains("max_retries           0") && set.contains("takeovers_max         2"), "{set}");
    let set = place.json(&["domain", "set", "a", "--takeovers-max", "none", "--max-retries", "default"]);
    assert_eq!((&set["max_retries"], &set["takeovers_max"]), (&json!(3), &json!(null)));
    assert_eq!(place.out(&["domain", "skip", "a", "5"]), "SKIPPED\n");
    assert_eq!(place.out(&["domain", "acquire", "a", "5"]), "ALREADY_FAILED\n");
    assert!(place.out(&["domain", "timeline", "a"]).contains(" skipped offset 5"));
}

#[test]
fn domains_are_listed_by_page_and_by_state() {
    let place = Place::new();
    for name in ["b", "a/1", "c"] {
        place.out(&["domain", "acquire", name, "1"]);
    }
    let page = place.json(&["domain", "list", "--limit", "2"]);
    assert_eq!(page["domains"][0]["domain"], "a/1");
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = place.out(&["domain", "list", "--limit", "2", "--cursor", cursor]);
    assert_eq!(rest.lines().nth(1).unwrap(), "c\t1\t-\t0\t-\t0\t-");
    assert_eq!(place.json(&["domain", "list", "--state", "expired"])["domains"], json!([]));
    place.refused(&["domain", "list", "--state", "sleeping"], 2);
    place.refused(&["domain", "list", "--cursor", "zz"], 65);
    place.refused(&["domain", "acquire", "a", "-1"], 2);
    assert!(place.refused(&["domain", "acquire", "", "1"], 65).contains("1 to 256 bytes"));
}
