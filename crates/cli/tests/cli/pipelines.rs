//! `tenure pipeline` and `tenure run`.

use crate::Place;

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
