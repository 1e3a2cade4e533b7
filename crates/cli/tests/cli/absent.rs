//! Where there is no store: what only reads says so and makes none (X); what writes makes it.

use super::Place;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use tenure::rusqlite::Connection;
use tenure_testing::TestDatabase;

/// Every command that only reads, with what it needs to be asked.
const READS: &[(&str, &[&str])] = &[
    ("doctor", &[]),
    ("domain list", &[]),
    ("domain show", &["d"]),
    ("domain timeline", &["d"]),
    ("job explain", &["1"]),
    ("job list", &[]),
    ("job show", &["1"]),
    ("job timeline", &["1"]),
    ("pipeline list", &[]),
    ("pipeline show", &["p"]),
    ("pipeline timeline", &["p"]),
    ("queue limit", &[]),
    ("queue limit", &["q"]),
    ("queue list", &[]),
    ("queue show", &["q"]),
    ("queue timeline", &["q"]),
    ("run explain", &["1"]),
    ("run list", &[]),
    ("run show", &["1"]),
    ("run timeline", &["1"]),
    ("run verify", &["1", "--artifacts", "."]),
    ("schedule list", &[]),
    ("schedule next", &["s"]),
    ("schedule show", &["s"]),
    ("schedule timeline", &["s"]),
    ("store timeline", &[]),
    ("sync chunks", &["1"]),
    ("sync list", &[]),
    ("sync show", &["1"]),
    ("sync timeline", &["1"]),
    ("worker list", &[]),
];

/// Every other: they make a store, or open none.
const OTHERS: &[&str] = &[
    "completions",
    "demo",
    "domain acquire",
    "domain fail",
    "domain heartbeat",
    "domain set",
    "domain skip",
    "domain succeed",
    "enqueue",
    "init",
    "job cancel",
    "job retry",
    "man",
    "migrate",
    "pipeline apply",
    "pipeline start",
    "queue pause",
    "queue resume",
    "run cancel",
    "run pause",
    "run resume",
    "run retry",
    "schedule add",
    "schedule pause",
    "schedule remove",
    "schedule resume",
    "serve",
    "store new-epoch",
    "sync add",
    "sync cancel",
    "sync plan",
    "work",
];

/// Asks everything that only reads of the store at `store`, and is told that there is none.
fn ask_all(place: &Place, store: &str) {
    for (command, args) in READS {
        let asked: Vec<&str> = command.split(' ').chain(args.iter().copied()).chain(["--store", store]).collect();
        let said = place.refused(&[&asked[..], &["--json"]].concat(), 66);
        let error: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{asked:?}: {error}: {said}"));
        assert_eq!(error["error"]["code"], "store_absent", "{asked:?}: {said}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains("no Tenure store") && message.contains("tenure init"), "{asked:?}: {said}");
    }
}

/// Each file of a folder with what is in it, byte for byte.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())
    };
    let mut files: Vec<_> = files.map(read).collect();
    files.sort();
    files
}

/// A database of an application, in this journal mode, closed.
fn application(place: &Place, journal: &str) -> Connection {
    let conn = Connection::open(place.folder.path().join("tenure.db")).unwrap();
    conn.pragma_update(None, "journal_mode", journal).unwrap();
    conn.execute_batch("CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO book (title) VALUES ('a')")
        .unwrap();
    conn
}

#[test]
fn x_every_command_is_known_to_read_or_to_write() {
    let place = Place::new();
    let folder = place.folder.path().join("man1");
    place.tenure(&["man", "--out", folder.to_str().unwrap()]).assert().success();
    let pages: BTreeSet<String> = files(&folder).into_iter().map(|(name, _)| name.replace(".1", "")).collect();
    let verbs = |page: &&String| !pages.iter().any(|other| other.starts_with(&format!("{page}-")));
    let commands: BTreeSet<String> =
        pages.iter().filter(verbs).map(|page| page["tenure-".len()..].to_owned()).collect();
    let known: BTreeSet<String> =
        READS.iter().map(|(command, _)| *command).chain(OTHERS.iter().copied()).map(|c| c.replace(' ', "-")).collect();
    assert_eq!(commands, known, "say in this file whether a new command only reads");
}

#[test]
fn x_reading_where_there_is_no_file_makes_none() {
    let place = Place::new();
    ask_all(&place, &place.store());
    assert_eq!(files(place.folder.path()), []);
    let said = place.refused(&["queue", "list"], 66);
    assert!(said.contains(place.folder.path().to_str().unwrap()) && said.contains("tenure.db"), "{said}");
    assert!(said.contains("no such file") && said.lines().count() == 1, "{said}");
    place.refused(&["doctor", "--store", &format!("sqlite:{}/away/a.db", place.folder.path().display())], 66);
    assert_eq!(files(place.folder.path()), []);
}

#[test]
fn x_reading_an_empty_file_leaves_it_empty() {
    let place = Place::new();
    place.file("tenure.db", "");
    ask_all(&place, &place.store());
    assert_eq!(files(place.folder.path()), [("tenure.db".to_owned(), Vec::new())]);
    assert!(place.refused(&["doctor"], 66).contains("empty"));
}

#[test]
fn x_reading_a_database_of_an_application_leaves_every_byte_of_it() {
    for journal in ["delete", "wal"] {
        let place = Place::new();
        drop(application(&place, journal));
        let before = files(place.folder.path());
        assert_eq!(before.len(), 1, "{journal}");
        ask_all(&place, &place.store());
        assert_eq!(files(place.folder.path()), before, "{journal}");
    }
}

/// Its log is beside it: what was committed last is in that alone.
#[test]
fn x_reading_a_database_that_an_application_has_open_leaves_every_byte_of_it() {
    for journal in ["delete", "wal"] {
        let place = Place::new();
        let conn = application(&place, journal);
        let database = || files(place.folder.path()).into_iter().filter(|(name, _)| !name.ends_with("-shm"));
        let before: Vec<_> = database().collect();
        ask_all(&place, &place.store());
        assert_eq!(database().collect::<Vec<_>>(), before, "{journal}");
        drop(conn);
        assert_eq!(files(place.folder.path()).len(), 1, "{journal}");
    }
}

/// A copy made by `VACUUM INTO` has another journal, and its owner may mean it so.
#[test]
fn x_reading_a_store_with_another_journal_does_not_switch_it() {
    let place = Place::new();
    place.out(&["enqueue", "q", "1"]);
    let copy = Place::new();
    let conn = Connection::open(place.folder.path().join("tenure.db")).unwrap();
    conn.execute("VACUUM INTO ?1", [copy.folder.path().join("tenure.db").to_str().unwrap()]).unwrap();
    let before = files(copy.folder.path());
    assert!(copy.out(&["job", "list"]).contains("queued"));
    assert!(copy.out(&["doctor"]).contains("journal delete"));
    assert_eq!(files(copy.folder.path()), before);
    copy.out(&["enqueue", "q", "2"]);
    assert!(copy.out(&["doctor"]).contains("journal wal"));
}

#[test]
fn x_reading_an_older_store_does_not_upgrade_it() {
    let place = Place::new();
    place.out(&["init"]);
    let conn = Connection::open(place.folder.path().join("tenure.db")).unwrap();
    conn.execute("DELETE FROM tenure_schema WHERE version > 1", []).unwrap();
    drop(conn);
    let before = files(place.folder.path());
    for command in [&["queue", "list"][..], &["doctor"]] {
        let said = place.refused(command, 69);
        assert!(said.contains("older") && said.contains("tenure migrate"), "{said}");
    }
    assert_eq!(files(place.folder.path()), before);
}

#[test]
fn x_init_makes_a_store_and_says_so_and_a_second_time_that_it_is_there() {
    let place = Place::new();
    let made = place.json(&["init"]);
    assert_eq!(made["created"], true, "{made}");
    assert!(made["store"].as_str().unwrap().contains("tenure.db"), "{made}");
    let before = files(place.folder.path());
    assert_eq!(place.json(&["init"])["created"], false);
    let again = place.out(&["init"]);
    assert!(again.contains("already") && again.contains("tenure.db"), "{again}");
    assert_eq!(files(place.folder.path()), before);
    assert!(place.out(&["queue", "list"]).starts_with("QUEUE"));
    let other = Place::new();
    assert!(other.out(&["init"]).starts_with("made"));
}

#[test]
fn x_init_lays_a_store_out_beside_the_tables_of_an_application() {
    let place = Place::new();
    let conn = application(&place, "delete");
    assert_eq!(place.json(&["init"])["created"], true);
    assert_eq!(conn.query_row("SELECT count(*) FROM book", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    place.out(&["queue", "list"]);
}

#[test]
fn x_writing_makes_the_store() {
    for write in [&["enqueue", "q", "1"][..], &["queue", "pause", "q"], &["queue", "limit", "q", "--max-running", "2"]]
    {
        let place = Place::new();
        place.out(write);
        assert!(place.out(&["queue", "list"]).contains('q'), "{write:?}");
    }
    let place = Place::new();
    assert!(place.refused(&["job", "cancel", "1", "--json"], 66).contains("\"not_found\""));
    place.out(&["job", "list"]);
}

/// What is in a database, but for what PostgreSQL itself has there.
async fn in_database(database: &TestDatabase, first: &str) -> Vec<String> {
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(first).await.unwrap();
    let sql = "select n.nspname || '.' || coalesce(c.relname, '') as name
                 from pg_namespace n left join pg_class c on c.relnamespace = n.oid
                where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 1";
    client.query(sql, &[]).await.unwrap().iter().map(|row| row.get("name")).collect()
}

#[test]
fn x_reading_an_empty_database_or_one_of_an_application_leaves_it_as_it_is() {
    let place = Place::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for theirs in ["", "create table book (id int)", "create schema tenure; create table tenure.book (id int)"] {
        let database = runtime.block_on(TestDatabase::create()).unwrap();
        let before = runtime.block_on(in_database(&database, theirs));
        ask_all(&place, database.url());
        let said = place.refused(&["queue", "list", "--store", &format!("{}?auto_migrate=true", database.url())], 66);
        assert!(said.contains(database.name()) && said.contains("schema tenure"), "{said}");
        assert_eq!(runtime.block_on(in_database(&database, "")), before);
        assert_eq!(place.json(&["init", "--store", database.url()])["created"], true);
        assert_eq!(place.json(&["init", "--store", database.url()])["created"], false);
        place.out(&["queue", "list", "--store", database.url()]);
    }
}
