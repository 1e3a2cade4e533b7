//! Opening a file: what is created, what is refused, and that what is refused is left as it was.

mod support;

use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::{File, START, claim, complete, enqueue, url};
use tenure_core::domain::Acquire;
use tenure_core::pipeline::{self, Definition, NewRun, Stage};
use tenure_core::queue::{Act, Claim, Ending, Filter, NewJob, Status};
use tenure_core::retry::Retry;
use tenure_core::sync::{ChunkClaim, NewChunk, Plan, SyncClaim};
use tenure_core::{Time, Token};
use tenure_sqlite::in_transaction::enqueue_at;
use tenure_sqlite::{SqliteOptions, SqliteStore, Synchronous};
use tenure_store::{DomainStore, Outcome, PipelineStore, QueueStore, StoreError, SyncStore, Upkeep};

async fn refused(url: &str) -> StoreError {
    SqliteStore::open(url).await.map(drop).unwrap_err()
}

#[tokio::test]
async fn x_what_was_enqueued_is_there_after_reopening() {
    let file = File::new();
    let ids = enqueue(&file.open().await, 3).await;
    let store = file.open().await;
    for id in ids {
        assert_eq!(store.job(id).await.unwrap().unwrap().status, Status::Queued);
    }
}

#[tokio::test]
async fn c13_a_store_that_was_closed_is_one_file() {
    let file = File::new();
    enqueue(&file.open().await, 3).await;
    let left: Vec<_> = fs::read_dir(file.path().parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["tenure.db"]);
}

#[tokio::test]
async fn x_ids_and_tokens_go_on_after_reopening() {
    let file = File::new();
    let store = file.open().await;
    let first = enqueue(&store, 1).await[0];
    let claimed = claim(&store, "a", 1).await;
    store.finish(vec![complete(first, "a", claimed[0].token)]).await.unwrap()[0].unwrap();
    drop(store);
    let store = file.open().await;
    assert!(enqueue(&store, 1).await[0] > first);
    assert!(claim(&store, "a", 1).await[0].token > claimed[0].token);
}

/// One token of each face: a job's, a unit's, a sync's, a chunk's, and a domain's.
async fn claim_all(store: &SqliteStore) -> [Token; 5] {
    let sync = store.claim_sync(SyncClaim::new("w")).await.unwrap().unwrap();
    [
        claim(store, "w", 1).await[0].token,
        store.claim_units(pipeline::Claim::new("p", "a", "w")).await.unwrap().unwrap().units[0].token,
        sync.token,
        store.claim_chunk(ChunkClaim::new(sync.id, "w")).await.unwrap().unwrap().token,
        store.domain_acquire(vec![Acquire::new("d", 1)]).await.unwrap()[0].unwrap().token().unwrap(),
    ]
}

#[tokio::test]
async fn l2_one_backup_put_back_twice_draws_no_token_twice() {
    let file = File::new();
    file.clock.set(Time(1_800_000_000_000_000));
    let store = file.open().await;
    enqueue(&store, 1).await;
    store.apply_pipeline(Definition::new("p").stage(Stage::new("a"))).await.unwrap().unwrap();
    store.start_run(NewRun::new("p", "1")).await.unwrap().unwrap();
    store.advance_runs(10).await.unwrap();
    store.plan_sync(Plan::new("m").chunks([NewChunk::new("c")])).await.unwrap().unwrap();
    drop(store);
    let backup = fs::read(file.path()).unwrap();
    let mut rounds = vec![claim_all(&file.open().await).await];
    for day in 1..3 {
        fs::write(file.path(), &backup).unwrap();
        file.clock.set(Time(1_800_000_000_000_000).plus_ms(day * 86_400_000));
        let store = file.open().await;
        store.new_epoch().await.unwrap();
        rounds.push(claim_all(&store).await);
    }
    for face in 0..5 {
        let tokens: Vec<Token> = rounds.iter().map(|round| round[face]).collect();
        assert!(tokens.is_sorted_by(|a, b| a < b), "face {face}: {rounds:?}");
    }
    // All but those of domains are one counter's.
    let mut counted: Vec<Token> = rounds.iter().flat_map(|round| round[..4].iter().copied()).collect();
    counted.sort();
    counted.dedup();
    assert_eq!(counted.len(), 12, "{rounds:?}");
}

#[tokio::test]
async fn l2_a_clock_far_ahead_is_refused_before_it_spends_the_tokens() {
    let file = File::new();
    let store = file.open().await;
    let before = store.new_epoch().await.unwrap();
    file.clock.set(Time(4_000_000_000_000_000));
    let refused = store.new_epoch().await.unwrap_err();
    assert!(refused.to_string().contains("clock"), "{refused}");
    assert_eq!(store.epoch().await.unwrap(), before);
}

#[cfg(unix)]
#[tokio::test]
async fn x_a_new_file_can_be_read_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let file = File::new();
    let store = file.open().await;
    enqueue(&store, 1).await;
    for suffix in ["", "-wal", "-shm"] {
        let path = format!("{}{suffix}", file.path().display());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path}");
    }
}

#[tokio::test]
async fn c16_a_file_that_is_no_database_is_refused_and_left_alone() {
    let file = File::new();
    let garbage = b"this is not a database, but it is somebody's work\n".repeat(100);
    fs::write(file.path(), &garbage).unwrap();
    let error = refused(&file.url()).await;
    assert!(matches!(error, StoreError::Broken { .. }), "{error}");
    assert!(error.to_string().contains("tenure.db") && !error.to_string().contains('\n'), "{error}");
    assert_eq!(fs::read(file.path()).unwrap(), garbage);
}

#[tokio::test]
async fn c16_a_truncated_file_is_refused_and_left_alone() {
    let file = File::new();
    enqueue(&file.open().await, 1_000).await;
    let whole = fs::read(file.path()).unwrap();
    // In the middle of the schema, so that nothing can be read at all.
    let cut = &whole[..5_000];
    fs::write(file.path(), cut).unwrap();
    let error = refused(&file.url()).await;
    assert!(matches!(error, StoreError::Broken { .. }), "{error}");
    assert_eq!(fs::read(file.path()).unwrap(), cut);
}

#[tokio::test]
async fn c16_an_emptied_file_beside_its_wal_is_not_begun_anew() {
    let file = File::new();
    let store = file.open().await;
    enqueue(&store, 1).await;
    // As after a crash: the WAL is still there.
    let wal = fs::read(format!("{}-wal", file.path().display())).unwrap();
    drop(store);
    fs::write(file.path(), b"").unwrap();
    fs::write(format!("{}-wal", file.path().display()), &wal).unwrap();
    let error = refused(&file.url()).await;
    assert!(matches!(error, StoreError::Broken { .. }), "{error}");
    assert_eq!(fs::read(format!("{}-wal", file.path().display())).unwrap(), wal);
}

/// Somebody has moved the file and left the WAL, which holds what was committed last.
#[cfg(unix)]
#[tokio::test]
async fn c16_a_missing_file_beside_its_wal_is_not_begun_anew() {
    let file = File::new();
    let store = file.open().await;
    enqueue(&store, 3).await;
    let (aside, wal) = (file.path().with_extension("aside"), beside(&file, "-wal"));
    fs::rename(file.path(), &aside).unwrap();
    let error = refused(&file.url()).await;
    let put_back = |message: &str| message.contains("is not there") && message.contains("put it back");
    assert!(matches!(&error, StoreError::Broken { message } if put_back(message)), "{error}");
    assert!(!file.path().exists());
    fs::rename(&aside, file.path()).unwrap();
    // Who had it open goes on, as does who opens it now, and who opens it when nobody had it any more.
    enqueue(&store, 1).await;
    assert_eq!(file.open().await.queue("q").await.unwrap().unwrap().counts.queued, 4);
    let after_a_crash = [file.path(), wal].map(|path| (fs::read(&path).unwrap(), path));
    drop(store);
    after_a_crash.iter().for_each(|(bytes, path)| fs::write(path, bytes).unwrap());
    fs::rename(file.path(), &aside).unwrap();
    refused(&file.url()).await;
    fs::rename(&aside, file.path()).unwrap();
    assert_eq!(file.open().await.queue("q").await.unwrap().unwrap().counts.queued, 4);
}

/// An application that keeps its file in another mode has a journal instead, from which a broken-off commit is undone.
#[tokio::test]
async fn c16_a_missing_or_emptied_file_beside_its_journal_is_not_begun_anew() {
    let file = File::new();
    let journal = journal_of(7);
    fs::write(beside(&file, "-journal"), &journal).unwrap();
    let error = refused(&file.url()).await;
    assert!(matches!(&error, StoreError::Broken { message } if message.contains("-journal")), "{error}");
    assert!(!file.path().exists());
    fs::write(file.path(), b"").unwrap();
    let error = refused(&file.url()).await;
    assert!(matches!(&error, StoreError::Broken { message } if message.contains("-journal")), "{error}");
    assert_eq!(fs::read(beside(&file, "-journal")).unwrap(), journal);
}

/// The journal of a new file undoes its creation: whoever was killed in the middle of that has lost nothing, and whoever
/// looks in the middle of that has only to wait.
#[tokio::test]
async fn c18_a_file_whose_creation_was_broken_off_is_begun_anew() {
    for left in [journal_of(0), vec![0; 512], b"short".to_vec()] {
        let file = File::new();
        fs::write(file.path(), b"").unwrap();
        fs::write(beside(&file, "-journal"), &left).unwrap();
        enqueue(&file.open().await, 1).await;
    }
}

/// The head of a rollback journal that was begun when the database had so many pages.
fn journal_of(pages: u32) -> Vec<u8> {
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for number in [0, 1, pages, 512, 4_096] {
        journal.extend(number.to_be_bytes());
    }
    journal.resize(512, 0);
    journal
}

/// The name of a file that SQLite keeps beside the database.
fn beside(file: &File, suffix: &str) -> PathBuf {
    format!("{}{suffix}", file.path().display()).into()
}

#[tokio::test]
async fn c16_flipped_bits_are_never_a_panic_nor_an_empty_store() {
    let file = File::new();
    let store = file.open().await;
    let ids = enqueue(&store, 300).await;
    drop(store);
    let whole = fs::read(file.path()).unwrap();
    let damaged = File::new();
    for flip in 0..60 {
        let mut bytes = whole.clone();
        let at = (flip * 7_919 + 17) % bytes.len();
        bytes[at] ^= 1 << (flip % 8);
        fs::write(damaged.path(), &bytes).unwrap();
        match SqliteStore::open(&damaged.url()).await {
            Err(error) => {
                let told = matches!(error, StoreError::Broken { .. } | StoreError::SchemaNewer { .. });
                assert!(told, "flip {flip} at {at}: {error}");
            }
            // The bit was in a text or in a free place: every job is still there, or is said to be unreadable.
            Ok(store) => {
                for id in &ids {
                    let job = store.job(*id).await;
                    assert!(!matches!(job, Ok(None)), "flip {flip} at {at} lost {id} in silence");
                }
            }
        }
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{suffix}", damaged.path().display()));
        }
    }
}

/// Opens what is there, and makes nothing.
async fn existing(file: &File) -> Result<SqliteStore, StoreError> {
    SqliteStore::open_with(&url(&file.path()), SqliteOptions::new().create(false)).await
}

#[tokio::test]
async fn x_without_creating_what_is_no_store_is_absent_and_left_alone() {
    let file = File::new();
    let beside = || fs::read_dir(file.path().parent().unwrap()).unwrap().count();
    let absent = async |why: &str| {
        let error = existing(&file).await.map(drop).unwrap_err();
        let StoreError::Absent { place } = &error else { panic!("{error}") };
        assert!(place.contains("tenure.db") && place.contains(why), "{error}");
        assert_eq!(error.code(), "store_absent");
    };
    absent("no such file").await;
    assert_eq!(beside(), 0);
    fs::write(file.path(), "").unwrap();
    absent("empty").await;
    assert_eq!((beside(), fs::metadata(file.path()).unwrap().len()), (1, 0));
    Connection::open(file.path()).unwrap().execute_batch("CREATE TABLE book (id)").unwrap();
    let before = fs::read(file.path()).unwrap();
    absent("tables").await;
    assert_eq!((beside(), fs::read(file.path()).unwrap()), (1, before));
}

/// Not to create is not to read only: what is there can be used.
#[tokio::test]
async fn x_without_creating_a_store_that_is_there_is_read_and_written() {
    let file = File::new();
    enqueue(&file.open().await, 1).await;
    let store = existing(&file).await.unwrap();
    enqueue(&store, 1).await;
    assert_eq!(store.jobs(Filter::default(), None, 10).await.unwrap().items.len(), 2);
    drop(store);
    assert_eq!(fs::read_dir(file.path().parent().unwrap()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_directory_is_denied() {
    let file = File::new();
    fs::create_dir(file.path()).unwrap();
    let error = refused(&file.url()).await;
    assert!(matches!(&error, StoreError::Denied { message } if message.contains("directory")), "{error}");
}

#[tokio::test]
async fn a_file_in_a_missing_directory_is_denied() {
    let file = File::new();
    let error = refused(&url(&file.path().join("deeper/tenure.db"))).await;
    assert!(matches!(&error, StoreError::Denied { message } if message.contains("does not exist")), "{error}");
}

#[tokio::test]
async fn an_unknown_option_is_refused_and_no_file_is_made() {
    let file = File::new();
    let error = refused(&format!("{}?cache=shared", file.url())).await;
    let known = |message: &str| message.contains("only synchronous is") && !message.contains("cache");
    assert!(matches!(&error, StoreError::Address { message } if known(message)), "{error}");
    assert!(!file.path().exists());
}

#[tokio::test]
async fn x_a_newer_schema_is_refused_by_name() {
    let file = File::new();
    drop(file.open().await);
    file.raw().execute("INSERT INTO tenure_schema VALUES (99, 'tomorrow', 0)", []).unwrap();
    let error = refused(&file.url()).await;
    assert!(matches!(error, StoreError::SchemaNewer { found: 99, .. }), "{error}");
}

#[tokio::test]
async fn x_a_file_of_an_application_keeps_its_tables_and_its_user_version() {
    let file = File::new();
    file.raw().execute_batch("CREATE TABLE invoice (n INTEGER); PRAGMA user_version = 42").unwrap();
    enqueue(&file.open().await, 1).await;
    let raw = file.raw();
    assert_eq!(raw.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)), Ok(42));
    assert_eq!(raw.query_row("SELECT count(*) FROM invoice", [], |row| row.get::<_, i64>(0)), Ok(0));
}

/// What the file has, by its kind; SQLite's own counters apart.
fn things(raw: &Connection) -> Vec<(String, String, String)> {
    let sql =
        "SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name <> 'sqlite_sequence' ORDER BY type, name";
    let mut select = raw.prepare(sql).unwrap();
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[tokio::test]
async fn x_everything_in_a_file_that_is_ours_says_so_in_its_name() {
    let file = File::new();
    drop(file.open().await);
    for (kind, name, _) in things(&file.raw()) {
        let ours = ["tenure_", "sqlite_autoindex_tenure_"].iter().any(|prefix| name.starts_with(prefix));
        assert!(ours, "{kind} {name}");
    }
}

#[tokio::test]
async fn x_an_application_whose_tables_have_our_plain_names_shares_the_file_untouched() {
    let file = File::new();
    file.raw()
        .execute_batch(
            "CREATE TABLE job (title TEXT);
             INSERT INTO job VALUES ('baker');
             CREATE TABLE queue (person TEXT);
             INSERT INTO queue VALUES ('ann');
             CREATE TABLE lease (flat INTEGER);
             INSERT INTO lease VALUES (7);
             CREATE TABLE event (day TEXT);
             CREATE INDEX job_ready ON job (title);
             CREATE TRIGGER unit_token AFTER INSERT ON job BEGIN INSERT INTO event VALUES (new.title); END;
             CREATE VIEW work_queue AS SELECT person FROM queue;
             PRAGMA user_version = 42;
             PRAGMA application_id = 77",
        )
        .unwrap();
    let theirs = things(&file.raw());
    let store = file.open().await;
    let ids = enqueue(&store, 2).await;
    let held = claim(&store, "a", 1).await.remove(0);
    store.finish(vec![complete(held.id, "a", held.token)]).await.unwrap().remove(0).unwrap();
    let held = store.domain_acquire(vec![Acquire::new("d", 1)]).await.unwrap()[0].unwrap();
    assert!(held.token().is_some());
    store.plan_sync(Plan::new("m").chunks([NewChunk::new("c")])).await.unwrap().unwrap();
    store.apply_pipeline(Definition::new("p").stage(Stage::new("a"))).await.unwrap().unwrap();
    store.start_run(NewRun::new("p", "1")).await.unwrap().unwrap();
    assert_eq!(store.job(ids[0]).await.unwrap().unwrap().status, Status::Completed);
    drop(store);
    let raw = file.raw();
    let now: Vec<_> = things(&raw).into_iter().filter(|(_, name, _)| !name.contains("tenure_")).collect();
    assert_eq!(now, theirs);
    let text = |sql: &str| raw.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(text("SELECT group_concat(title) FROM job"), "baker");
    assert_eq!(text("SELECT group_concat(person) FROM work_queue"), "ann");
    assert_eq!(text("SELECT group_concat(flat) FROM lease"), "7");
    assert_eq!(text("SELECT CAST(count(*) AS TEXT) FROM event"), "0");
    for (pragma, kept) in [("user_version", 42), ("application_id", 77)] {
        assert_eq!(raw.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)), Ok(kept), "{pragma}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c18_many_openers_of_a_new_file_lay_it_out_once() {
    let file = File::new();
    let openers: Vec<_> = (0..16)
        .map(|_| {
            let url = file.url();
            tokio::spawn(async move { SqliteStore::open(&url).await.unwrap() })
        })
        .collect();
    for opener in openers {
        enqueue(&opener.await.unwrap(), 1).await;
    }
    let applied = file.raw().query_row("SELECT count(*) = max(version) FROM tenure_schema", [], |row| row.get(0));
    assert_eq!(applied, Ok(true));
    assert_eq!(file.open().await.queue("q").await.unwrap().unwrap().counts.queued, 16);
}

#[tokio::test]
async fn a_store_in_memory_is_private_to_its_value() {
    let one = SqliteStore::open("sqlite::memory:").await.unwrap();
    let other = SqliteStore::open("sqlite::memory:").await.unwrap();
    enqueue(&one, 2).await;
    assert_eq!(claim(&one, "a", 10).await.len(), 2);
    assert_eq!(other.queues(None, 10).await.unwrap().items, []);
}

#[tokio::test]
async fn c14_a_store_says_how_durable_it_is() {
    let file = File::new();
    let told = file.open().await.describe().await.unwrap();
    assert!(told.contains("tenure.db") && told.contains("journal wal") && told.contains("sync full"), "{told}");
    let lax = SqliteStore::open(&format!("{}?synchronous=normal", file.url())).await.unwrap();
    assert!(lax.describe().await.unwrap().contains("sync normal"));
    let options = SqliteOptions::new().synchronous(Synchronous::Off);
    let off = SqliteStore::open_with(&file.url(), options).await.unwrap();
    assert!(off.describe().await.unwrap().contains("sync off"));
}

#[cfg(unix)]
#[tokio::test]
async fn c17_a_deleted_file_is_noticed_before_anyone_is_answered() {
    let file = File::new();
    let store = file.open().await;
    enqueue(&store, 1).await;
    fs::remove_file(file.path()).unwrap();
    assert_gone(&store, "deleted").await;
}

/// What every call says of a file that is no longer where it was: nothing was read, and nothing was changed.
async fn assert_gone(store: &SqliteStore, what: &str) {
    let write = store.enqueue(vec![NewJob::new("q", "kind", "{}")]).await.unwrap_err();
    let claim = store.claim(Claim::new("q", "w")).await.unwrap_err();
    let read = store.queue("q").await.unwrap_err();
    let list = store.jobs(Filter::default(), None, 10).await.unwrap_err();
    let ready = store.ready().await.unwrap_err();
    for error in [write, claim, read, list, ready] {
        assert!(error.to_string().contains(what), "{error}");
        assert!(matches!(error, StoreError::Unavailable { outcome: Outcome::NotDone, .. }), "{error}");
    }
}

/// How many jobs a file holds, looked at without Tenure.
fn jobs_in(path: &Path) -> i64 {
    Connection::open(path).unwrap().query_row("SELECT count(*) FROM tenure_job", [], |row| row.get(0)).unwrap()
}

#[cfg(unix)]
#[tokio::test]
async fn c17_a_moved_file_is_noticed_and_nothing_is_written_to_it() {
    let file = File::new();
    let store = file.open().await;
    enqueue(&store, 1).await;
    let aside = file.path().with_extension("aside");
    fs::rename(file.path(), &aside).unwrap();
    assert_gone(&store, "moved").await;
    // Back in its place, it goes on.
    fs::rename(&aside, file.path()).unwrap();
    enqueue(&store, 1).await;
    store.ready().await.unwrap();
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.queued, 2);
    drop(store);
    assert_eq!(jobs_in(&file.path()), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn c17_a_removed_directory_is_noticed() {
    let file = File::new();
    let store = file.open().await;
    enqueue(&store, 1).await;
    fs::remove_dir_all(file.path().parent().unwrap()).unwrap();
    assert_gone(&store, "deleted").await;
}

/// A backup restored under a running process: what it would have told, or written, is not what is there now.
#[cfg(unix)]
#[tokio::test]
async fn c17_a_restored_backup_is_noticed_and_left_as_it_is() {
    let file = File::new();
    let store = file.open().await;
    enqueue(&store, 2).await;
    let backup = file.path().with_extension("backup");
    file.raw().execute("VACUUM INTO ?1", [backup.to_str().unwrap()]).unwrap();
    enqueue(&store, 3).await;
    fs::rename(&backup, file.path()).unwrap();
    for side in ["-wal", "-shm"] {
        fs::remove_file(format!("{}{side}", file.path().display())).unwrap();
    }
    assert_gone(&store, "replaced").await;
    drop(store);
    assert_eq!(jobs_in(&file.path()), 2);
    let restored = file.open().await;
    enqueue(&restored, 1).await;
}

/// Readiness is a write that is taken back.
#[tokio::test]
async fn x_asking_for_readiness_changes_nothing() {
    let file = File::new();
    let store = file.open().await;
    enqueue(&store, 1).await;
    let epoch = store.epoch().await.unwrap();
    for _ in 0..3 {
        store.ready().await.unwrap();
    }
    assert_eq!(store.epoch().await.unwrap(), epoch);
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.queued, 1);
}

#[cfg(unix)]
#[tokio::test]
async fn c17_a_replaced_file_is_noticed_before_anyone_is_answered() {
    let file = File::new();
    let store = file.open().await;
    enqueue(&store, 1).await;
    let other = file.path().with_extension("other");
    fs::copy(file.path(), &other).unwrap();
    fs::rename(&other, file.path()).unwrap();
    assert_gone(&store, "replaced").await;
}

#[tokio::test]
async fn c13_the_wal_shrinks_once_a_long_reader_lets_go() {
    let file = File::new();
    let store = file.open().await;
    let reader = file.raw();
    reader.execute_batch("BEGIN; SELECT count(*) FROM tenure_job").unwrap();
    let big = NewJob::new("q", "kind", format!("\"{}\"", "x".repeat(1 << 20)));
    for _ in 0..8 {
        store.enqueue(vec![big.clone(); 10]).await.unwrap().unwrap();
    }
    let wal = || fs::metadata(format!("{}-wal", file.path().display())).unwrap().len();
    assert!(wal() > 80 << 20, "the reader should have held {} bytes", wal());
    reader.execute_batch("COMMIT").unwrap();
    for _ in 0..3 {
        enqueue(&store, 1).await;
    }
    assert!(wal() <= 64 << 20, "{} bytes", wal());
}

#[tokio::test]
async fn q11_the_queue_can_be_read_in_the_words_of_its_document() {
    let file = File::new();
    let store = file.open().await;
    let ids = enqueue(&store, 4).await;
    file.at(1_500);
    let claimed = store.claim(Claim::new("q", "worker-1").max(3)).await.unwrap().jobs;
    file.at(2_000);
    let fail = Act::Fail { error: "boom".into(), retry: Retry::In { delay_ms: 60_000 } };
    let endings = vec![
        complete(ids[0], "worker-1", claimed[0].token),
        Ending { act: fail, ..complete(ids[1], "worker-1", claimed[1].token) },
    ];
    store.finish(endings).await.unwrap();
    let early = NewJob::new("q", "kind", "[]").priority(-1).run_at(tenure_core::Time(-1));
    store.enqueue(vec![early]).await.unwrap().unwrap();

    let raw = Connection::open(file.path()).unwrap();
    let mut select = raw.prepare("SELECT * FROM tenure_work_queue ORDER BY id").unwrap();
    let names = "id status priority payload run_at claimed_by lease_expires_at created_at started_at updated_at \
                 queue kind attempt error";
    assert_eq!(select.column_names().collect::<Vec<_>>().join(" "), names);
    let shown: Vec<String> = select
        .query_map([], |row| {
            let cells = [1, 4, 5, 6, 8, 9].map(|i| row.get::<_, Option<String>>(i).unwrap().unwrap_or("-".into()));
            Ok(cells.join(" "))
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let [t0, t1, t2] = ["2023-11-14T22:13:20.000000Z", "2023-11-14T22:13:21.500000Z", "2023-11-14T22:13:22.000000Z"];
    assert_eq!(START.0 % 1_000_000, 0);
    assert_eq!(
        shown,
        [
            format!("completed {t0} - - {t1} {t2}"),
            format!("queued 2023-11-14T22:14:22.000000Z - - {t1} {t2}"),
            format!("running {t0} worker-1 2023-11-14T22:13:51.500000Z {t1} {t1}"),
            format!("queued {t0} - - - {t0}"),
            format!("queued 1969-12-31T23:59:59.999999Z - - - {t2}"),
        ]
    );
}

#[cfg(unix)]
#[tokio::test]
async fn c17_a_store_behind_a_link_is_one_store() {
    let file = File::new();
    let link = file.path().with_extension("link");
    let store = file.open().await;
    std::os::unix::fs::symlink(file.path(), &link).unwrap();
    let linked = SqliteStore::open(&url(&link)).await.unwrap();
    enqueue(&linked, 1).await;
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.queued, 1);
    fs::remove_file(&link).unwrap();
    let error = linked.enqueue(vec![NewJob::new("q", "kind", "{}")]).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { outcome: Outcome::NotDone, .. }), "{error}");
}

/// Two names would have two WALs: what is written under one is not seen under the other, and then overwritten.
#[cfg(unix)]
#[tokio::test]
async fn c17_a_file_with_two_names_is_refused_under_both() {
    let file = File::new();
    enqueue(&file.open().await, 1).await;
    let hard = file.path().with_extension("hard");
    fs::hard_link(file.path(), &hard).unwrap();
    for name in [&hard, &file.path()] {
        let error = refused(&url(name)).await;
        let told = |message: &str| message.contains("2 names (hard links)") && message.contains("remove the other");
        assert!(matches!(&error, StoreError::Denied { message } if told(message)), "{error}");
    }
    fs::remove_file(&hard).unwrap();
    enqueue(&file.open().await, 1).await;
    assert_eq!(jobs_in(&file.path()), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn c17_a_second_name_is_noticed_while_the_file_is_open() {
    let file = File::new();
    let store = file.open().await;
    enqueue(&store, 1).await;
    let hard = file.path().with_extension("hard");
    fs::hard_link(file.path(), &hard).unwrap();
    assert_gone(&store, "hard links").await;
    let mut own = file.raw();
    let transaction = own.transaction().unwrap();
    let place = store.place();
    let error = enqueue_at(&transaction, &place, &[NewJob::new("q", "kind", "{}")]).unwrap_err();
    assert!(error.to_string().contains("hard links"), "{error}");
    drop(transaction);
    fs::remove_file(&hard).unwrap();
    enqueue(&store, 1).await;
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.queued, 2);
}

/// A damaged job that waits is passed over: by claims, which set it aside, and by lists; and `doctor` names it (L7).
#[tokio::test]
async fn l7_a_waiting_job_that_cannot_be_read_stops_neither_claims_nor_lists() {
    let damages = [
        "UPDATE tenure_job SET payload = CAST(x'22ff22' AS TEXT) WHERE id = ?1",
        "UPDATE tenure_job SET kind = CAST(x'22ff22' AS TEXT) WHERE id = ?1",
        "UPDATE tenure_job SET limit_key = CAST(x'22ff22' AS TEXT) WHERE id = ?1",
        "UPDATE tenure_job SET priority = 99999999999 WHERE id = ?1",
        "UPDATE tenure_job SET attempts_max = 99999999999 WHERE id = ?1",
        "UPDATE tenure_job SET timeout_ms = -5 WHERE id = ?1",
    ];
    for damage in damages {
        let file = File::new();
        let store = file.open().await;
        let ids = enqueue(&store, 3).await;
        file.raw().execute(damage, [ids[0].0]).unwrap();
        let rows = store.examine().await.unwrap().into_iter().find(|finding| finding.topic == "rows").unwrap();
        assert!(rows.found.contains(&format!("job {}", ids[0])), "{damage}: {rows:?}");
        let listed = store.jobs(Filter::default(), None, 10).await.unwrap().items;
        assert_eq!(listed.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[2], ids[1]], "{damage}");
        for expected in [vec![ids[1]], vec![ids[2]], vec![]] {
            let jobs = store.claim(Claim::new("q", "w")).await.unwrap().jobs;
            assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), expected, "{damage}");
        }
        // Mended, it is taken again once the store is opened anew.
        let mend = "UPDATE tenure_job SET payload = '{}', kind = 'kind', limit_key = NULL, priority = 0, attempts_max = 5, \
                    timeout_ms = NULL WHERE id = ?1";
        file.raw().execute(mend, [ids[0].0]).unwrap();
        drop(store);
        let store = file.open().await;
        let jobs = store.claim(Claim::new("q", "w")).await.unwrap().jobs;
        assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[0]], "{damage}");
        let rows = store.examine().await.unwrap().into_iter().find(|finding| finding.topic == "rows").unwrap();
        assert!(rows.found.contains("readable"), "{damage}: {rows:?}");
    }
}

/// The same of a stage.
#[tokio::test]
async fn l7_a_waiting_stage_that_cannot_be_read_stops_no_claim() {
    let file = File::new();
    let store = file.open().await;
    store.apply_pipeline(Definition::new("p").stage(Stage::new("a"))).await.unwrap().unwrap();
    for _ in 0..3 {
        store.start_run(NewRun::new("p", "1")).await.unwrap().unwrap();
    }
    store.advance_runs(10).await.unwrap();
    let damage = "UPDATE tenure_unit SET attempts_max = 99999999999 WHERE id = (SELECT min(id) FROM tenure_unit)";
    file.raw().execute(damage, []).unwrap();
    let rows = store.examine().await.unwrap().into_iter().find(|finding| finding.topic == "rows").unwrap();
    assert!(rows.found.contains("unit "), "{rows:?}");
    for expected in [1, 1, 0] {
        let units = store.claim_units(pipeline::Claim::new("p", "a", "w")).await.unwrap().unwrap().units;
        assert_eq!(units.len(), expected);
    }
}

/// Whoever waits for a lock that another holds is told that nothing was changed, before an HTTP caller's 30 s are over;
/// also who came while another waited. What was told is true.
#[tokio::test]
async fn c12_a_lock_that_is_held_for_long_is_told_before_the_caller_gives_up() {
    let file = File::new();
    let store = file.open().await;
    let other = file.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let write = || tokio::time::timeout(Duration::from_secs(30), store.enqueue(vec![NewJob::new("q", "kind", "{}")]));
    let (one, two) = tokio::join!(write(), write());
    for told in [one, two] {
        let error = told.expect("an answer in time").unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { outcome: Outcome::NotDone, .. }), "{error}");
    }
    other.execute_batch("ROLLBACK").unwrap();
    let ids = enqueue(&store, 1).await;
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.queued, 1);
    assert_eq!(ids.len(), 1);
}
