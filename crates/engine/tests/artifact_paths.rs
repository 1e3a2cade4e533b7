//! What lies at the path of an artifact need not be a file, and what is recorded need not be a path of ours: neither
//! stops a verify of the others, leads out of the folder, or is waited for.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tenure::pipeline::artifacts::{ArtifactStore, Folder, Validity, blake3, validate};
use tenure::pipeline::{Act, Artifact, Claim, Definition, Ending, Fault, NewRun, Record, Stage, StageContext};
use tenure::prelude::*;
use tenure::testing::TestEngine;
use tokio::io::AsyncReadExt;

/// No test here takes as long; one that does waits for a FIFO, or reads without end.
const STUCK: Duration = Duration::from_secs(60);

const TEXT: &[u8] = b"hello";

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn recorded(path: &str) -> Artifact {
    Artifact { path: path.to_owned(), size: TEXT.len() as u64, blake3: blake3(TEXT) }
}

/// What happens to an artifact's file.
type Tamper = fn(&Path, &Path);

/// What is done to a file, and what verify then says of it.
type Case = (&'static str, Tamper, Option<(Fault, &'static str)>);

/// Name of the artifact, what happens to its file (and a place outside of the folder), and what is found then.
const TAMPERED: [Case; 13] = [
    ("untouched", |_, _| {}, None),
    (
        "hard-linked",
        |file, outside| {
            fs::hard_link(file, outside.join("linked")).unwrap();
        },
        None,
    ),
    ("missing", |file, _| fs::remove_file(file).unwrap(), Some((Fault::Missing, ""))),
    ("changed", |file, _| fs::write(file, "hallo").unwrap(), Some((Fault::Corrupt, ""))),
    ("shrunk", |file, _| fs::write(file, "hell").unwrap(), Some((Fault::Corrupt, ""))),
    // Read to its end, eight tebibytes would take hours.
    (
        "grown",
        |file, _| fs::File::options().write(true).open(file).unwrap().set_len(1 << 43).unwrap(),
        Some((Fault::Corrupt, "")),
    ),
    (
        "directory",
        |file, _| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
        Some((Fault::Unreadable, "folder")),
    ),
    (
        "fifo",
        |file, _| {
            fs::remove_file(file).unwrap();
            fifo(file);
        },
        Some((Fault::Unreadable, "FIFO")),
    ),
    (
        "socket",
        |file, outside| {
            // The path of a socket is short; a rename moves it where it belongs.
            let bound = outside.join("socket");
            drop(UnixListener::bind(&bound).unwrap());
            fs::rename(bound, file).unwrap();
        },
        Some((Fault::Unreadable, "socket")),
    ),
    (
        "link",
        |file, outside| {
            // What it leads to is what was recorded: it is not followed all the same.
            fs::rename(file, outside.join("link")).unwrap();
            symlink(outside.join("link"), file).unwrap();
        },
        Some((Fault::Unreadable, "symbolic link")),
    ),
    (
        "link-to-device",
        |file, _| {
            fs::remove_file(file).unwrap();
            symlink("/dev/zero", file).unwrap();
        },
        Some((Fault::Unreadable, "symbolic link")),
    ),
    (
        "below-link/x",
        |file, outside| {
            let folder = file.parent().unwrap();
            fs::rename(folder, outside.join("moved")).unwrap();
            symlink(outside.join("moved"), folder).unwrap();
        },
        Some((Fault::Unreadable, "symbolic link")),
    ),
    (
        "below-file/x",
        |file, _| {
            let folder = file.parent().unwrap();
            fs::remove_dir_all(folder).unwrap();
            fs::write(folder, "").unwrap();
        },
        Some((Fault::Unreadable, "not a folder")),
    ),
];

async fn begun() -> (TestEngine, tenure::pipeline::RunId) {
    let engine = TestEngine::new();
    engine.verbs().apply_pipeline(Definition::new("p").stage(Stage::new("make"))).await.unwrap();
    let run = engine.verbs().start_run(NewRun::new("p", "1")).await.unwrap();
    engine.orchestrator().advance(10).await.unwrap();
    (engine, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_each_artifact_has_its_finding_and_none_stops_the_verify_of_the_others() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Folder::new(folder.path());
    let (engine, run) = begun().await;
    async fn make(cx: StageContext, _: u64) -> Outcome<()> {
        for (name, ..) in TAMPERED {
            cx.write(name, TEXT).await?;
        }
        Outcome::done(())
    }
    engine.stages("p").artifacts(store.clone()).handle("make", make).drain().await.unwrap();
    let file = |name: &str| folder.path().join(format!("{run}/make/v1/_/{name}"));
    for (name, tamper, _) in TAMPERED {
        tamper(&file(name), outside.path());
    }
    let (looked_at, findings) =
        tokio::time::timeout(STUCK, engine.verbs().verify_run(run, &store)).await.expect("it ends").unwrap();
    assert_eq!(looked_at, TAMPERED.len() as u64);
    let mut found: BTreeMap<PathBuf, (Fault, String)> = findings
        .into_iter()
        .map(|found| (folder.path().join(&found.artifact.path), (found.fault, found.why.unwrap_or_default())))
        .collect();
    for (name, _, expected) in TAMPERED {
        match (found.remove(&file(name)), expected) {
            (None, None) => {}
            (Some((fault, why)), Some((expected, word))) => {
                assert_eq!(fault, expected, "{name}: {why}");
                assert!(why.contains(word), "{name}: {why}");
            }
            (found, expected) => panic!("{name}: {found:?} and not {expected:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_a_path_that_is_not_the_units_own_is_found_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = Folder::new(folder.path());
    let (engine, run) = begun().await;
    let unit = engine.stage_worker().claim(Claim::new("p", "make", "w")).await.unwrap().units.remove(0);
    let worker = engine.stage_worker();
    let complete = |paths: &[&str]| {
        let artifacts = paths.iter().map(|path| recorded(path)).collect();
        let record = Record { token: unit.token, artifacts, sealed: None };
        let act = Act::Complete { output: None, record: Some(record) };
        worker.finish(Ending { unit: unit.key(), owner: "w".to_owned(), token: unit.token, act })
    };
    // Another unit's, or nobody's: not recorded.
    for path in [
        format!("{run}/other/v1/_/x"),
        format!("{run}0/make/v1/_/x"),
        format!("{run}/make/v1/s0/x"),
        format!("{run}/make/v1/_"),
        format!("{run}/make/1/_/x"),
        "secrets".to_owned(),
    ] {
        let refused = complete(&[&path]).await.unwrap_err().to_string();
        assert!(refused.contains("artifacts[0].path") && refused.contains("below"), "{refused}");
    }
    // Of another version, or longer than any file's name: these only who looks at the files can tell.
    let (mine, other) = (format!("{run}/make/v1/_/mine"), format!("{run}/make/v2/_/x"));
    let long = format!("{run}/make/v1/_/{}", "x".repeat(300));
    for path in [&mine, &other] {
        store.write(path, Box::pin(TEXT)).await.unwrap();
    }
    complete(&[&mine, &other, &long]).await.unwrap();
    let (looked_at, findings) = engine.verbs().verify_run(run, &store).await.unwrap();
    assert_eq!((looked_at, findings.len()), (3, 2), "{findings:?}");
    for finding in findings {
        let why = finding.why.unwrap_or_default();
        let word = if finding.artifact.path == long { "too long" } else { "not below" };
        assert_eq!(finding.fault, Fault::Unreadable, "{}", finding.artifact.path);
        assert!(why.contains(word), "{}: {why}", finding.artifact.path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_path_below_the_folder_is_neither_read_nor_written() {
    let above = tempfile::tempdir().unwrap();
    fs::write(above.path().join("secret"), TEXT).unwrap();
    fs::create_dir(above.path().join("root")).unwrap();
    let store = Folder::new(above.path().join("root"));
    let absolute = above.path().join("secret").display().to_string();
    let long = "x".repeat(5_000);
    let deep = "x/".repeat(2_500) + "x";
    for path in ["../secret", "a/../../secret", "a/./x", "a//x", "", "/", ".", "a/", "a\0b", &absolute, &long, &deep] {
        assert!(validate(&store, &recorded(path)).await.is_err(), "{path:?}");
        assert!(store.open(path).await.is_err(), "{path:?}");
        assert!(store.write(path, Box::pin(&b"owned"[..])).await.is_err(), "{path:?}");
        assert!(store.remove(path).await.is_err(), "{path:?}");
        store.write("tmp", Box::pin(&b"owned"[..])).await.unwrap();
        assert!(store.publish("tmp", path).await.is_err(), "{path:?}");
    }
    assert_eq!(fs::read(above.path().join("secret")).unwrap(), TEXT);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_is_not_opened() {
    let store = Folder::new("/dev");
    let artifact = Artifact { path: "zero".to_owned(), size: 0, blake3: blake3(b"") };
    for path in ["zero", "null", "tty"] {
        let refused = store.open(path).await.map(drop).unwrap_err().to_string();
        assert!(refused.contains("device"), "{path}: {refused}");
    }
    assert!(validate(&store, &artifact).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_follows_no_link_and_waits_for_no_fifo() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Folder::new(folder.path());
    fs::write(outside.path().join("file"), TEXT).unwrap();
    symlink(outside.path(), folder.path().join("linked")).unwrap();
    // A folder of the path is a link: nothing is made behind it.
    for path in ["linked/new", "linked/a/b/new"] {
        let refused = store.write(path, Box::pin(&b"owned"[..])).await.unwrap_err().to_string();
        assert!(refused.contains("symbolic link"), "{refused}");
    }
    store.write("tmp", Box::pin(&b"new"[..])).await.unwrap();
    assert!(store.publish("tmp", "linked/new").await.is_err());
    assert!(store.remove("linked/file").await.is_err());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    // The name itself is taken, by a link to somebody's file or by what would be waited for: it is made anew.
    fs::create_dir(folder.path().join("a")).unwrap();
    symlink(outside.path().join("file"), folder.path().join("a/link")).unwrap();
    fs::hard_link(outside.path().join("file"), folder.path().join("a/hard")).unwrap();
    fifo(&folder.path().join("a/fifo"));
    for path in ["a/link", "a/hard", "a/fifo"] {
        let writing = store.write(path, Box::pin(&b"new"[..]));
        tokio::time::timeout(STUCK, writing).await.expect("it ends").unwrap();
        assert!(fs::symlink_metadata(folder.path().join(path)).unwrap().is_file(), "{path}");
    }
    assert_eq!(fs::read(outside.path().join("file")).unwrap(), TEXT);
    // A folder is in the way: it stays, and the writer is told.
    fs::create_dir(folder.path().join("a/folder")).unwrap();
    assert!(store.publish("tmp", "a/folder").await.is_err());
    assert!(store.write("a/folder", Box::pin(TEXT)).await.is_err());
    assert!(folder.path().join("a/folder").is_dir());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_a_grown_artifact_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Folder::new(folder.path());
    let (engine, run) = begun().await;
    let path = folder.path().join(format!("{run}/make/v1/_/x"));
    let make = move |cx: StageContext, _: u64| {
        let path = path.clone();
        async move {
            let made = cx.write("x", TEXT).await?;
            assert_eq!(cx.read(&made).await?, TEXT);
            fs::File::options().write(true).open(&path)?.set_len(1 << 43)?;
            let mut read = 0_usize;
            let mut from = cx.open(&made).await?;
            loop {
                match from.read(&mut [0; 4_096]).await {
                    Ok(0) => return Outcome::<usize>::fail("read to its end"),
                    Ok(more) => read += more,
                    Err(_) => return Outcome::done(read),
                }
            }
        }
    };
    let working = engine.stages("p").artifacts(store).handle("make", make);
    let report = tokio::time::timeout(STUCK, working.drain()).await.expect("it ends").unwrap();
    assert_eq!(report.completed, 1, "{report:?}");
    let (_, stages) = engine.verbs().run(run).await.unwrap().unwrap();
    let read: u64 = stages[0].unit.output.as_deref().unwrap().parse().unwrap();
    assert!(read <= 4_096, "{read} bytes");
    assert_eq!(validate(&Folder::new("/nowhere"), &recorded("x")).await.unwrap(), Validity::Missing);
}
