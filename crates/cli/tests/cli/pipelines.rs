//! `tenure pipeline` and `tenure run`.

use crate::{Place, Unprivileged};
use tenure::Tenure;
use tenure::pipeline::artifacts::Folder;
use tenure::pipeline::{Definition, NewRun, Stage, StageContext};
use tenure::prelude::*;

const VIDEO: &str = r#"
name = "video"
version = 1
[[stages]]
name = "fetch"
[[stages]]
name = "encode"
needs = ["fetch"]
segmented = true
"#;

#[test]
fn a_pipeline_is_applied_from_toml_started_shown_and_cancelled() {
    let place = Place::new();
    let file = place.file("video.toml", VIDEO);
    assert_eq!(place.out(&["pipeline", "apply", &file]), "video 1\n");
    assert_eq!(place.json(&["pipeline", "apply", &file])["stages"][1]["segmented"], true);
    assert!(place.out(&["pipeline", "list"]).contains("video\t1\t2\t"));
    assert!(place.out(&["pipeline", "show", "video"]).contains("encode\tfetch\t30000\t5\t0\tyes"));
    let run = place.out(&["pipeline", "start", "video", r#"{"file":"a.mov"}"#]);
    let run = run.trim();
    let keyed = place.out(&["pipeline", "start", "video", "1", "--key", "k"]);
    assert_eq!(place.out(&["pipeline", "start", "video", "1", "--key", "k"]), keyed);
    assert!(place.refused(&["pipeline", "start", "video", "2", "--key", "k"], 65).contains(keyed.trim()));
    assert_eq!(place.out(&["run", "cancel", keyed.trim()]), "ERROR\n");
    let shown = place.out(&["run", "show", run]);
    assert!(shown.starts_with(&format!("run {run} of video version 1: RUNNING\nfetch ")), "{shown}");
    assert!(shown.contains("\n↓ encode ") && shown.contains("needs fetch"), "{shown}");
    assert!(place.out(&["run", "explain", run]).contains("encode waits for fetch (NEW)"));
    assert_eq!(place.out(&["run", "cancel", run, "--reason", "enough"]), "ERROR\n");
    assert!(place.out(&["run", "timeline", run]).contains(" cancelled the run: enough"));
    assert!(place.refused(&["run", "cancel", run], 65).contains("already ended"));
    assert_eq!(place.out(&["run", "retry", run]), "RUNNING\n");
    assert_eq!(place.json(&["run", "list", "--status", "running"])["runs"][0]["id"], run);
    assert_eq!(place.json(&["run", "verify", run])["artifacts"], 0);
    assert!(place.refused(&["run", "retry", run, "--from", "nowhere"], 65).contains("not ended"));
}

#[test]
fn a_graph_is_drawn_below_what_it_needs_however_large() {
    let place = Place::new();
    let stage = |name: &str, needs: &[&str]| format!("[[stages]]\nname = \"{name}\"\nneeds = {needs:?}\n");
    let fork = [
        stage("a", &[]),
        stage("b", &["a"]),
        stage("c", &["b"]),
        stage("d", &["a"]),
        stage("e", &["d", "c"]),
        stage("wide1", &[]),
        stage("wide2", &["a", "wide1"]),
    ];
    let file = place.file("fork.toml", &format!("name = \"fork\"\nversion = 1\n{}", fork.concat()));
    place.out(&["pipeline", "apply", &file]);
    let run = place.out(&["pipeline", "start", "fork"]);
    let shown = place.out(&["run", "show", run.trim()]);
    let drawn: Vec<&str> = shown.lines().skip(1).map(|line| line.split("  NEW").next().unwrap().trim_end()).collect();
    assert_eq!(drawn, ["a", "├─ b", "│  ↓ c", "│  ↓ e", "└─ d", "wide1", "↓ wide2"], "{shown}");
    assert!(shown.contains("needs d, c") && shown.contains("needs a, wide1"), "{shown}");

    // As many stages as there may be, each with many needs: drawn at once.
    let names: Vec<String> = (0..1_000).map(|n| format!("s{n}")).collect();
    let many: String = (0..1_000_usize)
        .map(|n| stage(&names[n], &names[n.saturating_sub(60)..n].iter().map(String::as_str).collect::<Vec<_>>()))
        .collect();
    let file = place.file("many.toml", &format!("name = \"many\"\nversion = 1\n{many}"));
    place.out(&["pipeline", "apply", &file]);
    let run = place.out(&["pipeline", "start", "many"]);
    assert_eq!(place.out(&["run", "show", run.trim()]).lines().count(), 1_001);
}

#[test]
fn p8_a_wrong_file_is_refused_by_name() {
    let place = Place::new();
    let cycle = place.file("cycle.json", r#"{"name":"p","version":1,"stages":[{"name":"a","needs":["a"]}]}"#);
    assert!(place.refused(&["pipeline", "apply", &cycle], 65).contains("a → a"));
    let broken = place.file("broken.toml", "name = ");
    let refused = place.refused(&["pipeline", "apply", &broken], 65);
    assert!(refused.contains("not valid TOML") && refused.contains("at line 1 column 8"), "{refused}");
    let refused = place.refused(&["pipeline", "show", "p", "--version", "3"], 66);
    assert!(refused.contains("pipeline p in version 3"), "{refused}");
    place.refused(&["pipeline", "apply", "absent.toml"], 66);
    place.refused(&["pipeline", "start", "absent"], 66);
    place.refused(&["run", "show", "7"], 66);
}

/// A run whose one stage made the files `names` in `artifacts`.
fn made(place: &Place, names: &'static [&'static str]) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let tenure = Tenure::open(&place.store()).await.unwrap();
        tenure.verbs().apply_pipeline(Definition::new("p").stage(Stage::new("make"))).await.unwrap();
        let run = tenure.verbs().start_run(NewRun::new("p", "1")).await.unwrap();
        tenure.orchestrator().advance(10).await.unwrap();
        let make = move |cx: StageContext, _: u64| async move {
            for name in names {
                cx.write(name, name.as_bytes()).await?;
            }
            Outcome::<()>::done(())
        };
        let folder = Folder::new(place.folder.path().join("artifacts"));
        tenure.stages("p").artifacts(folder).handle("make", make).drain().await.unwrap();
        tenure.orchestrator().advance(10).await.unwrap();
        tenure.close().await.unwrap();
        run.to_string()
    })
}

#[test]
fn p7_verify_tells_what_is_wrong_with_each_artifact_and_repairs_only_what_it_could_read() {
    let place = Place::new();
    let run = made(&place, &["closed", "fifo", "fine", "gone"]);
    let file = |name: &str| place.folder.path().join(format!("artifacts/{run}/make/v1/_/{name}"));
    std::fs::remove_file(file("fifo")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(file("fifo")).status().unwrap().success());
    std::fs::remove_file(file("gone")).unwrap();
    std::fs::set_permissions(file("closed"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let unprivileged = Unprivileged::of(&place);
    let verify = |more: &[&str]| {
        let output =
            unprivileged.tenure(&place, &[&["run", "verify", &run, "--json"], more].concat()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
        (output.status.code(), found, said)
    };
    let (code, found, said) = verify(&[]);
    assert_eq!((code, &found["artifacts"]), (Some(65), &4.into()), "{found}");
    let faults: Vec<(&str, &str)> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["fault"].as_str().unwrap(), one["why"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(faults.len(), 3, "{found}");
    assert!(faults[0].0 == "unreadable" && faults[0].1.contains("Permission denied"), "{found}");
    assert_eq!(faults[1], ("unreadable", "it is a FIFO, not a file"));
    assert_eq!(faults[2], ("missing", ""));
    assert!(said.contains("2 artifacts unreadable") && said.contains("1 artifact missing or corrupt"), "{said}");
    let (code, found, said) = verify(&["--repair"]);
    assert_eq!((code, &found["repaired"]), (Some(65), &"RUNNING".into()), "what is unreadable is left: {said}");
    assert!(said.contains("2 artifacts unreadable") && !said.contains("missing"), "{said}");
}
