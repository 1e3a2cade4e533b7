//! Each command does what it says, and says what it refuses.

use crate::Place;
use serde_json::json;

#[test]
fn an_enqueued_job_is_listed_shown_and_told() {
    let place = Place::new();
    let payload = r#"{ "asset" : 42 }"#;
    let id = place.out(&["enqueue", "images", payload, "--kind", "resize", "--priority", "-5"]);
    assert_eq!(id, "1\n");
    let list = place.out(&["job", "list", "--queue", "images", "--status", "queued", "--kind", "resize"]);
    let mut lines = list.lines();
    assert_eq!(lines.next(), Some("ID\tQUEUE\tKIND\tSTATUS\tPRIORITY\tATTEMPT\tRUN AT\tWORKER"));
    assert!(lines.next().unwrap().starts_with("1\timages\tresize\tqueued\t-5\t0/5\t2"), "{list}");
    let show = place.out(&["job", "show", "1"]);
    assert!(show.contains(payload) && show.contains("status            queued"), "{show}");
    let timeline = place.out(&["job", "timeline", "1"]);
    assert!(timeline.contains("\tenqueued\tentered the queue"), "{timeline}");
    let queues = place.out(&["queue", "list"]);
    assert!(queues.contains("images\t1\t0\t0\t0\t2"), "{queues}");
    assert!(place.out(&["queue", "show", "images"]).contains("images\t1\t0\t0\t0\t2"));
}

#[test]
fn json_has_the_shapes_of_the_http_api() {
    let place = Place::new();
    let enqueued = place.json(&["enqueue", "q"]);
    assert_eq!(enqueued, json!({"jobs":[{"id":"1","status":"queued","deduplicated":false}]}));
    let list = place.json(&["job", "list"]);
    assert_eq!((&list["jobs"][0]["kind"], &list["next_cursor"]), (&json!("default"), &json!(null)));
    assert!(list["jobs"][0].get("payload").is_none());
    let job = place.json(&["job", "show", "1"]);
    assert_eq!((&job["payload"], &job["attempts"], &job["attempts_max"]), (&json!(null), &json!([]), &json!(5)));
    assert_eq!(place.json(&["job", "timeline", "1"])["events"][0]["what"], "enqueued");
    assert_eq!(place.json(&["queue", "show", "q"])["counts"]["queued"], 1);
    assert_eq!(place.json(&["queue", "list"])["queues"][0]["name"], "q");
    let epoch = place.json(&["store", "new-epoch"])["epoch"].as_u64().unwrap();
    assert_eq!(place.out(&["store", "new-epoch"]), format!("{}\n", epoch + 1));
}

#[test]
fn flags_reach_the_job() {
    let place = Place::new();
    let at = "2099-12-24T18:00:00+01:00";
    place.out(&["enqueue", "q", "1", "--run-at", at, "--attempts-max", "2", "--timeout", "1m30s"]);
    let job = place.json(&["job", "show", "1"]);
    assert_eq!(job["run_at"], "2099-12-24T17:00:00Z");
    assert_eq!((&job["attempts_max"], &job["timeout_ms"]), (&json!(2), &json!(90_000)));
    place.out(&["enqueue", "q", "2", "--ordering-key", "user 7", "--limit-key", "acme"]);
    let job = place.json(&["job", "show", "2"]);
    assert_eq!((&job["ordering_key"], &job["limit_key"]), (&json!("user 7"), &json!("acme")));
}

#[test]
fn the_store_may_be_named_before_or_after_the_command() {
    let place = Place::new();
    place.out(&["init"]);
    let other = format!("sqlite:{}", place.folder.path().join("other.db").display());
    place.out(&["--store", &other, "enqueue", "a"]);
    place.out(&["enqueue", "b", "--store", &other]);
    let names = |args: &[&str]| -> Vec<String> {
        let queues = place.json(args)["queues"].as_array().unwrap().clone();
        queues.iter().map(|queue| queue["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["queue", "list", "--store", &other]), ["a", "b"]);
    assert_eq!(names(&["queue", "list"]), [""; 0]);
}

#[test]
fn lists_come_in_pages() {
    let place = Place::new();
    let file = place.file("jobs.ndjson", "{}\n{}\n{}\n");
    place.out(&["enqueue", "q", "--file", &file]);
    let first = place.json(&["job", "list", "--limit", "2"]);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = place.json(&["job", "list", "--limit", "2", "--cursor", cursor]);
    assert_eq!((&second["jobs"][0]["id"], &second["next_cursor"]), (&json!("1"), &json!(null)));
}

#[test]
fn a_file_is_enqueued_in_order_with_the_flags_as_defaults() {
    let place = Place::new();
    let lines: String = (0..2_500).map(|n| format!("{{\"payload\":{n}}}\n")).collect();
    let file =
        place.file("jobs.ndjson", &format!("{lines}\n{{\"kind\":\"other\",\"payload\":\"last\",\"priority\":9}}"));
    let printed = place.out(&["enqueue", "q", "--kind", "import", "--priority", "3", "--file", &file]);
    assert_eq!(printed.lines().count(), 2_501);
    let first = place.json(&["job", "show", "1"]);
    assert_eq!((&first["kind"], &first["payload"], &first["priority"]), (&json!("import"), &json!(0), &json!(3)));
    let last = place.json(&["job", "show", "2501"]);
    assert_eq!((&last["kind"], &last["payload"], &last["priority"]), (&json!("other"), &json!("last"), &json!(9)));
}

#[test]
fn a_bad_line_is_named_and_its_batch_is_not_enqueued() {
    let place = Place::new();
    let lines: String = (0..1_500).map(|n| format!("{{\"payload\":{n}}}\n")).collect();
    let file = place.file("jobs.ndjson", &format!("{lines}{{\"payload\":1,\"priorty\":2}}\n"));
    let output = place.tenure(&["enqueue", "q", "--file", &file]).assert().code(65).get_output().clone();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("line 1501 (lines 1 to 1000 were enqueued, nothing after)"), "{said}");
    assert!(said.contains("did you mean `priority`"), "{said}");
    assert_eq!(place.json(&["queue", "show", "q"])["counts"]["queued"], 1_000);
    let said = place.refused_with(&["enqueue", "fresh", "--file", "-"], "{\"kind\":\"k\"}\n[]\n", 65);
    assert!(said.contains("stdin, line 2 (nothing was enqueued)"), "{said}");
    place.refused(&["queue", "show", "fresh"], 66);
}

#[test]
fn bad_input_is_65_and_changes_nothing() {
    let place = Place::new();
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    for (args, says) in [
        (&["enqueue", "a b", "1"][..], "queue"),
        (&["enqueue", "\u{1b}[31m", "1"], "\\u{1b}"),
        (&["enqueue", "q", "{"], "JSON"),
        (&["enqueue", "q", "not json"], "JSON"),
        (&["enqueue", "q", r#"{"a":1,"a":2}"#], "twice"),
        (&["enqueue", "q", r#""\u0000""#], "\\u0000"),
        (&["enqueue", "q", &deep], "deep"),
        (&["enqueue", "q", "1", "--kind", ""], "kind"),
        (&["enqueue", "q", "1", "--attempts-max", "0"], "attempts_max"),
        (&["enqueue", "q", "1", "--timeout", "0s"], "timeout_ms"),
        (&["enqueue", "q", "1", "--key", ""], "key"),
        (&["enqueue", "q", "1", "--key", "a\nb"], "key"),
        (&["enqueue", "q", "1", "--key", "a", "--key-window", "0s"], "key_window_ms"),
        (&["enqueue", "q", "1", "--ordering-key", "\u{202e}"], "ordering_key"),
        (&["enqueue", "q", "1", "--limit-key", &"x".repeat(257)], "limit_key"),
        (&["queue", "limit", "q", "--max-running", "0"], "use pause"),
        (&["queue", "limit", "q", "--max-running", "1000001"], "max_running"),
        (&["queue", "limit", "q", "--per-key", "0"], "max_running_per_key"),
        (&["queue", "limit", "q", "--rate", "0/s"], "rate_limit.max"),
        (&["queue", "limit", "q", "--rate", "1/2d"], "rate_limit.period_ms"),
        (&["queue", "limit", "q", "--retention", "5000d"], "retention_ms"),
        (&["queue", "limit", "--max-running", "0"], "use pause"),
        (&["queue", "pause", "a b"], "queue"),
        (&["job", "cancel", "--queue", "a b", "--yes"], "queue"),
        (&["job", "list", "--limit", "0"], "limit"),
        (&["job", "list", "--queue", "a b"], "queue"),
        (&["queue", "show", "a\nb"], "queue"),
    ] {
        let said = place.refused(args, 65);
        assert!(said.contains(says) && said.lines().count() == 1, "{args:?}: {said}");
    }
    assert_eq!(place.json(&["queue", "list"])["queues"], json!([]));
}

#[test]
fn wrong_usage_is_2() {
    let place = Place::new();
    for (args, says) in [
        (&["enqueu", "q"][..], "enqueue"),
        (&["enqueue"], "<QUEUE>"),
        (&["enqueue", "q", "1", "--prioritty", "1"], "--priority"),
        (&["enqueue", "q", "1", "--priority", "abc"], "invalid value"),
        (&["enqueue", "q", "1", "--priority", "2147483648"], "invalid value"),
        (&["enqueue", "q", "1", "--run-at", "2026-02-30T00:00:00Z"], "RFC 3339"),
        (&["enqueue", "q", "1", "--run-at", "tomorrow"], "RFC 3339"),
        (&["enqueue", "q", "1", "--timeout", "soon"], "90s"),
        (&["enqueue", "q", "1", "--file", "x"], "cannot be used with"),
        (&["enqueue", "q", "1", "--key-window", "1m"], "--key"),
        (&["enqueue", "q", "--key", "a", "--file", "x"], "cannot be used with"),
        (&["queue", "limit", "q", "--max-running", "many"], "whole number, or none"),
        (&["queue", "limit", "q", "--max-running", "-1"], "-1"),
        (&["queue", "limit", "q", "--rate", "100"], "100/s"),
        (&["queue", "limit", "q", "--retention", "7"], "7d"),
        (&["queue", "limit", "q", "--lane-on-failure", "stop"], "continue or block"),
        (&["queue", "limit", "--per-key", "1"], "QUEUE"),
        (&["queue", "pause"], "<QUEUE>"),
        (&["job", "cancel"], "ID"),
        (&["job", "cancel", "1", "--queue", "q"], "cannot be used with"),
        (&["job", "cancel", "1", "--yes"], "cannot be used with"),
        (&["job", "retry", "--status", "done"], "queued, running, completed or failed"),
        (&["job", "retry", "--queue", "q"], "add --yes"),
        (&["job", "cancel", "--kind", "k"], "add --yes"),
        (&["job", "list", "--status", "done"], "queued, running, completed or failed"),
        (&["serve", "--listen", "nowhere"], "invalid"),
        (&["queue", "list", "--store", "mysql://h/db"], "sqlite:FILE"),
    ] {
        let said = place.refused(args, 2);
        assert!(said.contains(says), "{args:?}: {said}");
    }
}

#[test]
fn what_is_not_on_record_is_66() {
    let place = Place::new();
    place.out(&["init"]);
    for args in [
        &["job", "show", "1"][..],
        &["job", "show", "x"],
        &["job", "timeline", "7"],
        &["queue", "show", "q"],
        &["job", "explain", "7"],
        &["job", "cancel", "7"],
        &["job", "retry", "x"],
        &["queue", "limit", "q"],
    ] {
        assert!(place.refused(args, 66).contains("not on record"));
    }
    place.refused(&["enqueue", "q", "--file", "absent.ndjson"], 66);
    let said = place.refused(&["job", "show", "1", "--json"], 66);
    assert!(said.starts_with(r#"{"error":{"code":"not_found""#), "{said}");
}

#[test]
fn a_store_that_cannot_be_opened_is_one_line_without_its_password() {
    let place = Place::new();
    let garbage = format!("sqlite:{}", place.file("garbage.db", &"this is no database ".repeat(100)));
    let folder = format!("sqlite:{}", place.folder.path().display());
    let nobody = "postgres://app:s3cret@127.0.0.1:1/db";
    for store in [&garbage, &folder, nobody] {
        let output = place.tenure(&["queue", "list"]).env("TENURE_STORE", store).assert().get_output().clone();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(69 | 77)), "{store}: {:?} {said}", output.status);
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[test]
fn s12_a_password_on_the_command_line_is_warned_of_once_and_one_elsewhere_is_not() {
    let place = Place::new();
    let warned = |args: &[&str], store: &str| {
        let mut command = place.tenure(args);
        let output = command.env("TENURE_STORE", store).assert().get_output().clone();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("s3cret"), "{said}");
        said.matches("every user of this machine").count()
    };
    let secret = "postgres://app:s3cret@127.0.0.1:1/db";
    for address in [secret, "postgres://app@127.0.0.1:1/db?password=s3cret"] {
        assert_eq!(warned(&["queue", "list", "--store", address], ""), 1, "{address}");
        assert_eq!(warned(&["--store", address, "queue", "list", "--json"], ""), 1, "{address}");
        assert_eq!(warned(&[&format!("--store={address}"), "queue", "list"], ""), 1, "{address}");
        assert_eq!(warned(&["queue", "list"], address), 0, "{address}");
    }
    assert_eq!(warned(&["queue", "list", "--store", "postgres://app@127.0.0.1:1/db"], ""), 0);
    assert_eq!(warned(&["queue", "list", "--store", &place.store()], secret), 0);
    let config = place.file("secret.toml", &format!("store = \"{secret}\"\n"));
    let mut from_file = place.tenure(&["queue", "list", "--config", &config]);
    let said = from_file.env_remove("TENURE_STORE").assert().get_output().stderr.clone();
    assert!(!String::from_utf8(said).unwrap().contains("every user"));
}

#[test]
fn s14_text_of_strangers_is_escaped() {
    let place = Place::new();
    place.out(&["enqueue", "q", "\"\u{202e}gnp.exe\u{9b}31m\""]);
    let show = place.out(&["job", "show", "1"]);
    assert!(show.contains("\\u{202e}") && !show.contains('\u{9b}'), "{show}");
}

#[test]
fn help_has_examples_for_every_command() {
    let place = Place::new();
    for command in [
        &[][..],
        &["serve"],
        &["enqueue"],
        &["job", "list"],
        &["job", "show"],
        &["job", "timeline"],
        &["job", "explain"],
        &["job", "cancel"],
        &["job", "retry"],
        &["queue", "list"],
        &["queue", "show"],
        &["queue", "pause"],
        &["queue", "resume"],
        &["queue", "limit"],
        &["migrate"],
        &["store", "new-epoch"],
    ] {
        let help = place.out(&[command, &["--help"]].concat());
        assert!(help.contains("Example"), "{command:?}: {help}");
    }
}
