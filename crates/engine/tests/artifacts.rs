//! Every place where artifacts may be kept does what a stage needs of it: a folder, memory, and object stores.

use object_store::local::LocalFileSystem;
use std::io::{Error as IoError, Result as IoResult};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tenure::Report;
use tenure::pipeline::artifacts::{ArtifactStore, Folder, InMemory, Objects, Validity, blake3, validate};
use tenure::pipeline::{Artifact, Definition, NewRun, RunStatus, Stage, StageContext, UnitKey};
use tenure::prelude::*;
use tenure::testing::TestEngine;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// More than an object store takes in one request.
const LARGE: usize = 21 << 20;

/// Every kind of store, and what must outlive it.
fn stores() -> (Vec<Arc<dyn ArtifactStore>>, [tempfile::TempDir; 2]) {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let local = LocalFileSystem::new_with_prefix(folders[1].path()).unwrap();
    let stores: Vec<Arc<dyn ArtifactStore>> = vec![
        Arc::new(Folder::new(folders[0].path())),
        Arc::new(InMemory::default()),
        Arc::new(Objects::new(Arc::new(object_store::memory::InMemory::new()))),
        Arc::new(Objects::new(Arc::new(local))),
    ];
    (stores, folders)
}

/// Bytes that never were in memory at once: how many are left, whether they end in an error, and the most that was asked
/// for at once.
struct Drip {
    left: usize,
    breaks: bool,
    most: Arc<AtomicUsize>,
}

impl Drip {
    fn new(left: usize) -> Drip {
        Drip { left, breaks: false, most: Arc::default() }
    }
}

impl AsyncRead for Drip {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<IoResult<()>> {
        self.most.fetch_max(out.remaining(), Ordering::SeqCst);
        if self.left == 0 && self.breaks {
            return Poll::Ready(Err(IoError::other("the source broke off")));
        }
        let piece = vec![7; out.remaining().min(self.left)];
        self.left -= piece.len();
        out.put_slice(&piece);
        Poll::Ready(Ok(()))
    }
}

async fn read(store: &dyn ArtifactStore, path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    store.open(path).await.unwrap()?.read_to_end(&mut bytes).await.unwrap();
    Some(bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_a_file_is_at_its_path_once_it_is_published() {
    let (stores, _folders) = stores();
    for store in stores {
        store.write("1/a/v1/_/x.tmp-5", Box::pin(&b"hello"[..])).await.unwrap();
        assert_eq!(read(&*store, "1/a/v1/_/x").await, None, "{store:?}");
        store.publish("1/a/v1/_/x.tmp-5", "1/a/v1/_/x").await.unwrap();
        assert_eq!(read(&*store, "1/a/v1/_/x").await.as_deref(), Some(&b"hello"[..]), "{store:?}");
        assert_eq!(read(&*store, "1/a/v1/_/x.tmp-5").await, None, "{store:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_publishing_replaces_what_was_at_the_path() {
    let (stores, _folders) = stores();
    for store in stores {
        for text in ["first", "second"] {
            store.write("a/tmp", Box::pin(text.as_bytes())).await.unwrap();
            store.publish("a/tmp", "a/x").await.unwrap();
        }
        assert_eq!(read(&*store, "a/x").await.as_deref(), Some(&b"second"[..]), "{store:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_absent_is_not_opened_not_published_and_removed_without_complaint() {
    let (stores, _folders) = stores();
    for store in stores {
        assert!(store.open("a/x").await.unwrap().is_none(), "{store:?}");
        assert!(store.publish("a/x", "a/y").await.is_err(), "{store:?}");
        store.remove("a/x").await.unwrap();
        store.write("a/x", Box::pin(&b"1"[..])).await.unwrap();
        store.remove("a/x").await.unwrap();
        assert!(store.open("a/x").await.unwrap().is_none(), "{store:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_what_is_missing_and_what_is_damaged_are_told_apart() {
    let (stores, _folders) = stores();
    for store in stores {
        let artifact = Artifact { path: "a/x".to_owned(), size: 5, blake3: blake3(b"hello") };
        assert_eq!(validate(&*store, &artifact).await.unwrap(), Validity::Missing, "{store:?}");
        for (text, validity) in [("hello", Validity::Valid), ("hallo", Validity::Corrupt), ("", Validity::Corrupt)] {
            store.write("a/x", Box::pin(text.as_bytes())).await.unwrap();
            assert_eq!(validate(&*store, &artifact).await.unwrap(), validity, "{store:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_breaks_off_leaves_nothing_at_its_name() {
    let (stores, _folders) = stores();
    for store in stores {
        let source = Drip { breaks: true, ..Drip::new(LARGE) };
        assert!(store.write("a/x", Box::pin(source)).await.is_err(), "{store:?}");
        assert!(store.open("a/x").await.unwrap().is_none(), "{store:?}");
    }
}

/// A pipeline that makes a file in pieces and reads it in pieces.
struct Place {
    engine: TestEngine,
    run: tenure::pipeline::RunId,
}

impl Place {
    async fn new() -> Place {
        let engine = TestEngine::new();
        let definition = Definition::new("p").stage(Stage::new("make")).stage(Stage::new("use").needs(["make"]));
        engine.verbs().apply_pipeline(definition).await.unwrap();
        let run = engine.verbs().start_run(NewRun::new("p", "1")).await.unwrap();
        Place { engine, run }
    }

    /// Makes the file if it must, then reads it.
    async fn work(&self, store: Arc<dyn ArtifactStore>, most: &Arc<AtomicUsize>) -> Report {
        self.engine.orchestrator().advance(10).await.unwrap();
        let most = most.clone();
        let make = move |cx: StageContext, _: u64| {
            let most = most.clone();
            async move {
                let made = cx.write_from("large", Drip { most, ..Drip::new(LARGE) }).await?;
                Ok::<_, tenure::Stop>((made.path, made.size, made.blake3))
            }
        };
        async fn count(cx: StageContext, (path, size, blake3): (String, u64, String)) -> Outcome<u64> {
            let mut from = cx.open(&Artifact { path, size, blake3 }).await?;
            let mut piece = vec![0; 1 << 16];
            let mut bytes = 0;
            loop {
                match from.read(&mut piece).await? {
                    0 => return Outcome::done(bytes),
                    read => bytes += read as u64,
                }
            }
        }
        let stages = self.engine.stages("p").artifacts(store).handle("make", make).handle("use", count);
        stages.drain().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_an_artifact_is_written_and_read_in_pieces() {
    let (stores, _folders) = stores();
    for store in stores {
        let place = Place::new().await;
        let most = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            place.work(store.clone(), &most).await;
        }
        place.engine.orchestrator().advance(10).await.unwrap();
        let (run, stages) = place.engine.verbs().run(place.run).await.unwrap().unwrap();
        assert_eq!(run.status, RunStatus::Done, "{store:?}");
        assert_eq!(stages[1].unit.output, Some(LARGE.to_string()), "{store:?}");
        assert_eq!(place.engine.verbs().verify_run(place.run, &*store).await.unwrap(), (1, vec![]), "{store:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_a_file_of_any_size_is_copied_in_pieces_of_64_kib() {
    let folder = tempfile::tempdir().unwrap();
    let objects = Objects::new(Arc::new(object_store::memory::InMemory::new()));
    let stores: [Arc<dyn ArtifactStore>; 2] = [Arc::new(Folder::new(folder.path())), Arc::new(objects)];
    for store in stores {
        let (place, most) = (Place::new().await, Arc::new(AtomicUsize::new(0)));
        place.work(store.clone(), &most).await;
        assert_eq!(most.load(Ordering::SeqCst), 1 << 16, "{store:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_a_reader_of_a_damaged_artifact_is_told_at_its_end() {
    let (stores, _folders) = stores();
    for store in stores {
        let (place, most) = (Place::new().await, Arc::default());
        place.work(store.clone(), &most).await;
        let path = format!("{}/make/v1/_/large", place.run);
        store.write(&path, Box::pin(Drip::new(LARGE - 1))).await.unwrap();
        let report = place.work(store.clone(), &most).await;
        assert_eq!((report.completed, report.failed), (0, 1), "{store:?}");
        let (_, stages) = place.engine.verbs().run(place.run).await.unwrap().unwrap();
        let error = stages[1].unit.error.clone().unwrap_or_default();
        assert!(error.contains("is not what was recorded"), "{store:?}: {error}");
        let findings = place.engine.verbs().verify_run(place.run, &*store).await.unwrap().1;
        assert_eq!(findings.into_iter().map(|of| of.unit).collect::<Vec<_>>(), [UnitKey::stage(place.run, "make")]);
    }
}
