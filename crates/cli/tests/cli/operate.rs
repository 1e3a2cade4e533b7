//! What an operator does from the command line.

use crate::Place;
use crate::serve::Serving;
use serde_json::{Value, json};

/// What `tenure ARGS` says on stderr when it succeeds.
fn said(place: &Place, args: &[&str]) -> String {
    String::from_utf8(place.tenure(args).assert().success().get_output().stderr.clone()).unwrap()
}

#[test]
fn q7_the_same_key_is_the_same_job_and_another_body_is_65() {
    let place = Place::new();
    let job = ["enqueue", "q", r#"{"a":1}"#, "--key", "once", "--key-window", "7d"];
    assert_eq!(place.out(&job), "1\n");
    assert_eq!(place.out(&job), "1\n");
    assert!(said(&place, &job).contains("there already"));
    assert_eq!(place.json(&job)["jobs"][0]["deduplicated"], true);
    let refused = place.refused(&["enqueue", "q", "2", "--key", "once"], 65);
    assert!(refused.contains("belongs to job 1") && refused.lines().count() == 1, "{refused}");
    let refused = place.refused(&["enqueue", "q", "2", "--key", "once", "--json"], 65);
    let refused: Value = serde_json::from_str(&refused).unwrap();
    assert_eq!((&refused["error"]["code"], &refused["error"]["id"]), (&json!("dedup_conflict"), &json!("1")));
}

#[test]
fn q7_a_conflict_in_a_file_is_told_with_its_line() {
    let place = Place::new();
    let line = |payload: u32, key: u32| format!("{{\"payload\":{payload},\"key\":\"k{key}\"}}\n");
    let file = place.file("jobs.ndjson", &format!("{}\n{}{}{}", line(1, 1), line(2, 2), line(3, 1), line(4, 4)));
    let refused = place.refused(&["enqueue", "q", "--file", &file], 65);
    assert!(refused.contains("line 4 (nothing was enqueued)"), "{refused}");
    let file = place.file("good.ndjson", &format!("{}{}{}", line(1, 1), line(1, 1), line(2, 2)));
    assert!(said(&place, &["enqueue", "q", "--file", &file]).contains("3 jobs enqueued"));
    assert!(said(&place, &["enqueue", "q", "--file", &file]).contains("3 of them there already"));
}

#[test]
fn a_queue_is_paused_and_resumed() {
    let place = Place::new();
    place.out(&["enqueue", "images"]);
    assert!(place.out(&["queue", "pause", "images"]).contains("paused                true"));
    assert!(place.out(&["queue", "list"]).lines().nth(1).unwrap().ends_with("\tpaused"));
    assert!(place.out(&["job", "explain", "1"]).contains("the queue images is paused"));
    assert_eq!(place.json(&["queue", "resume", "images"])["paused"], false);
    assert!(place.out(&["queue", "list"]).lines().nth(1).unwrap().ends_with("\t-"));
    // A name that was never used may be a slip.
    assert!(said(&place, &["queue", "pause", "imgaes"]).contains("imgaes was never used before"));
}

#[test]
fn a_queue_is_limited_and_shows_it() {
    let place = Place::new();
    let limited = place.json(&[
        "queue",
        "limit",
        "q",
        "--max-running",
        "16",
        "--per-key",
        "2",
        "--rate",
        "100/s",
        "--rate-per-key",
        "10/1m30s",
        "--retention",
        "1d",
        "--lane-on-failure",
        "block",
    ]);
    assert_eq!((&limited["max_running"], &limited["max_running_per_key"]), (&json!(16), &json!(2)));
    assert_eq!(limited["rate_limit"], json!({"max":100,"period_ms":1000}));
    assert_eq!(limited["rate_limit_per_key"], json!({"max":10,"period_ms":90_000}));
    assert_eq!((&limited["retention_ms"], &limited["lane_on_failure"]), (&json!(86_400_000), &json!("block")));
    let shown = place.out(&["queue", "limit", "q"]);
    for line in [
        "max_running           16",
        "rate_limit            100/s",
        "rate_limit_per_key    10/90s",
        "retention             1d",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
        assert!(place.out(&["queue", "show", "q"]).contains(line));
    }
    let unset = place.json(&["queue", "limit", "q", "--per-key", "none", "--rate", "none", "--retention", "default"]);
    assert_eq!((&unset["max_running"], &unset["max_running_per_key"]), (&json!(16), &Value::Null));
    assert_eq!((&unset["rate_limit"], &unset["retention_ms"]), (&Value::Null, &json!(604_800_000)));
    assert_eq!(place.json(&["queue", "limit", "q", "--retention", "0"])["retention_ms"], 0);
    assert!(place.out(&["queue", "show", "q"]).contains("retention             0 (not kept)\n"));
}

#[test]
fn without_a_queue_the_whole_engine_is_limited() {
    let place = Place::new();
    place.out(&["init"]);
    assert_eq!(place.json(&["queue", "limit"]), json!({"max_running":null}));
    assert_eq!(place.json(&["queue", "limit", "--max-running", "200"]), json!({"max_running":200}));
    assert_eq!(place.out(&["queue", "limit"]), "max_running           200\n");
    assert_eq!(place.json(&["queue", "limit", "--max-running", "none"]), json!({"max_running":null}));
}

#[test]
fn a_job_is_cancelled_and_retried() {
    let place = Place::new();
    place.out(&["enqueue", "q"]);
    assert_eq!(place.out(&["job", "cancel", "1", "--reason", "wrong customer"]), "failed\n");
    assert!(place.out(&["job", "timeline", "1"]).contains("wrong customer"));
    assert!(place.refused(&["job", "cancel", "1"], 65).contains("already ended"));
    assert_eq!(place.json(&["job", "retry", "1"]), json!({"status":"queued"}));
    assert!(place.refused(&["job", "retry", "1"], 65).contains("not ended"));
    assert_eq!(place.json(&["job", "cancel", "1"]), json!({"status":"failed","cancel_requested":false}));
    assert_eq!(place.json(&["job", "explain", "1"])["reasons"][0]["code"], "finished");
}

#[test]
fn l11_the_holder_of_a_running_job_is_asked_unless_forced() {
    let place = Place::new();
    place.out(&["enqueue", "q"]);
    let serving = Serving::start(&place, &place.store());
    serving.ask("POST /v1/queues/q/claim", r#"{"worker":"w1"}"#);
    assert!(said(&place, &["job", "cancel", "1"]).contains("--force"));
    assert!(place.out(&["job", "show", "1"]).contains("cancel_requested  true"));
    assert_eq!(place.out(&["job", "cancel", "1", "--force"]), "failed\n");
}

#[test]
fn many_jobs_are_cancelled_and_retried_by_filter() {
    let place = Place::new();
    let file = place.file("jobs.ndjson", &"{}\n{\"kind\":\"other\"}\n".repeat(600));
    place.out(&["enqueue", "q", "--file", &file]);
    place.out(&["enqueue", "r"]);
    let cancel = ["job", "cancel", "--queue", "q", "--kind", "other", "--yes"];
    assert_eq!(place.out(&cancel), "DONE\tPASSED OVER\n600\t0\n");
    assert_eq!(place.json(&cancel), json!({"done":0,"passed_over":0,"next_cursor":null}));
    assert_eq!(place.json(&["job", "retry", "--queue", "q", "--yes"])["done"], 600);
    assert_eq!(place.json(&["job", "cancel", "--status", "queued", "--yes"])["done"], 1_201);
    assert_eq!(place.json(&["job", "retry", "--status", "failed", "--kind", "default", "--yes"])["done"], 601);
}

#[test]
fn an_sqlite_file_has_nothing_to_migrate() {
    let place = Place::new();
    assert!(said(&place, &["migrate"]).contains("upgrades itself"));
    assert_eq!(place.json(&["migrate"]), json!({"version":null}));
    let said = place.refused(&["migrate", "--store", "postgres://app:s3cret@127.0.0.1:1/db"], 69);
    assert!(said.starts_with("warning: ") && said.lines().count() == 2 && !said.contains("s3cret"), "{said}");
}

#[tokio::test]
async fn a_postgres_database_gets_the_schema_of_this_version() {
    let place = Place::new();
    let database = tenure_testing::TestDatabase::create().await.unwrap();
    let version = place.json(&["migrate", "--store", database.url()])["version"].as_i64().unwrap();
    assert!(version >= 1);
    // Nothing is left to do.
    assert_eq!(place.out(&["migrate", "--store", database.url()]), format!("{version}\n"));
    assert_eq!(place.out(&["enqueue", "q", "--store", database.url()]), "1\n");
}

#[test]
fn the_script_of_the_roles_is_printed_for_the_schema_of_the_store() {
    let place = Place::new();
    // Nothing is asked of the server.
    let nowhere = "postgres://app@127.0.0.1:1/db?schema=jobs";
    let script = place.out(&["migrate", "--print-roles", "--store", nowhere]);
    let usage = "grant usage on schema jobs to db_jobs_runtime, db_jobs_work, db_jobs_enqueue, db_jobs_read;";
    assert!(script.contains(usage), "{script}");
    assert_eq!(place.json(&["migrate", "--print-roles", "--store", nowhere])["script"], json!(script));
    assert!(said(&place, &["migrate", "--print-roles"]).contains("no roles"));
    assert_eq!(place.json(&["migrate", "--print-roles"]), json!({"script":null}));
}

#[test]
fn workers_are_listed_with_where_they_look_and_what_they_hold() {
    let place = Place::new();
    place.out(&["init"]);
    assert_eq!(place.out(&["worker", "list"]), "WORKER\tRUNNING\tLAST SEEN\tFIRST SEEN\tQUEUES\n");
    place.out(&["enqueue", "q"]);
    place.out(&["queue", "pause", "r"]);
    let serving = Serving::start(&place, &place.store());
    serving.ask("POST /v1/claim", r#"{"worker":"w2","queues":["r","q"],"kinds":["b","a"]}"#);
    serving.ask("POST /v1/queues/q/claim", r#"{"worker":"w1"}"#);
    let list = place.out(&["worker", "list"]);
    let rows: Vec<Vec<&str>> = list.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert_eq!((rows[0][0], rows[0][1], rows[0][4]), ("w1", "1", "q"), "{list}");
    assert_eq!((rows[1][0], rows[1][1], rows[1][4]), ("w2", "0", "q(a,b) r(a,b)"), "{list}");
    let page = place.json(&["worker", "list", "--limit", "1"]);
    assert_eq!((&page["workers"][0]["name"], &page["next_cursor"]), (&json!("w1"), &json!("w1")));
    assert_eq!(place.json(&["worker", "list", "--cursor", "w1"])["workers"][0]["name"], "w2");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_enqueue_on_postgres_wakes_others_before_its_process_ends() {
    let place = Place::new();
    let database = tenure_testing::TestDatabase::create().await.unwrap();
    let (client, mut connection) =
        tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.expect("the server is there");
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            if let tokio_postgres::AsyncMessage::Notification(note) = message {
                told.send(note.payload().to_owned()).unwrap();
            }
        }
    });
    client.batch_execute("listen tenure_wake").await.unwrap();
    // With a listener that can never connect, only what is sent at the end is heard.
    let with = if database.url().contains('?') { '&' } else { '?' };
    let store = format!("{}{with}listen_url=postgres%3A%2F%2F127.0.0.1%3A1%2Fnowhere", database.url());
    assert_eq!(place.out(&["enqueue", "images", "--store", &store]), "1\n");
    assert_eq!(heard.recv().await.as_deref(), Some("images"));
}
