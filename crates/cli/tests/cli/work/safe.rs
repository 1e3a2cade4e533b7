//! What a program is given, and what it is not.

use super::{alive, until};
use crate::{Place, Unprivileged};

#[test]
fn a_program_sees_a_short_list_of_variables_and_its_job() {
    let place = Place::new();
    let id = place.job("1", &["--kind", "k"]);
    let mut work =
        place.tenure(&["work", "q", "--drain", "--worker", "w", "--env", "MINE", "--lease", "9s", "--", "env"]);
    work.env("MINE", "yes").env("SECRET", "no").env("DATABASE_URL", "postgres://u:pw@h/db").env("LD_BIND_NOW", "1");
    work.assert().success();
    let seen = place.show(&id)["result"]["stdout"].as_str().unwrap().to_owned();
    let names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
    let allowed = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "MINE", "PWD"];
    for name in &names {
        assert!(allowed.contains(name) || name.starts_with("TENURE_"), "{name} is seen: {seen}");
    }
    let own = ["JOB_ID=1", "TOKEN=1", "ATTEMPT=1", "ATTEMPTS_MAX=5", "QUEUE=q", "KIND=k", "WORKER=w", "LEASE_MS=9000"];
    for variable in own {
        assert!(seen.lines().any(|line| line == format!("TENURE_{variable}")), "{variable}: {seen}");
    }
    assert!(seen.contains("MINE=yes") && !seen.contains("TENURE_STORE") && !seen.contains("CHECKPOINT"), "{seen}");
}

#[test]
fn what_is_never_handed_on_is_refused_by_name() {
    let place = Place::new();
    for name in
        ["LD_PRELOAD", "DATABASE_URL", "PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGHOST", "TENURE_STORE", "A=B", ""]
    {
        let said = place.refused(&["work", "q", "--env", name, "--", "true"], 2);
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// What a program can ask the kernel about itself, its keeper and its worker.
const CURIOUS: &str = "worker=$(cut -d' ' -f4 /proc/$PPID/stat); env; ls -l /proc/self/fd; \
     for pid in self $$ $PPID $worker; do echo \"of $pid:\"; tr '\\0' '\\n' < /proc/$pid/cmdline; \
     cat /proc/$pid/environ; ls -l /proc/$pid/fd/; head -c 1 /proc/$pid/maps; readlink /proc/$pid/cwd; done 2>&1; true";

#[test]
fn s12_a_program_finds_the_stores_address_nowhere() {
    let place = Place::new();
    let unprivileged = Unprivileged::of(&place);
    // What an address may hold: here it is the name of the file.
    let store = format!("sqlite:{}", place.folder.path().join("s3cret.db").display());
    let tenure = |args: &[&str]| {
        let mut command = unprivileged.tenure(&place, args);
        command
            .env("TENURE_STORE", &store)
            .env("DATABASE_URL", "postgres://u:hunter2@h/d")
            .env("PGPASSWORD", "hunter2");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    tenure(&["enqueue", "q", "1"]);
    tenure(&["work", "q", "--drain", "--", "sh", "-c", CURIOUS]);
    let job: serde_json::Value = serde_json::from_str(&tenure(&["job", "show", "1", "--json"])).unwrap();
    let seen = job["result"]["stdout"].as_str().unwrap_or_else(|| panic!("{job}"));
    assert!(!seen.contains("s3cret") && !seen.contains("hunter2"), "{seen}");
    assert!(!seen.contains("socket:"), "no connection of the worker's is open: {seen}");
    // It could look: at itself it did, at the other two it was not allowed.
    assert!(seen.contains("TENURE_JOB_ID=1") && seen.contains("__keep") && seen.contains("--drain"), "{seen}");
    assert_eq!(seen.lines().filter(|line| line.ends_with("Permission denied")).count(), 6, "{seen}");
}

#[test]
fn a_program_without_a_path_in_the_environment_has_a_safe_one() {
    let place = Place::new();
    let id = place.job("1", &[]);
    let mut work = place.tenure(&["work", "q", "--drain", "--", "/usr/bin/env"]);
    work.env_remove("PATH").assert().success();
    let seen = place.show(&id)["result"]["stdout"].as_str().unwrap().to_owned();
    assert!(seen.lines().any(|line| line == "PATH=/usr/local/bin:/usr/bin:/bin"), "{seen}");
}

#[test]
fn a_program_that_cannot_be_run_is_found_before_the_first_claim() {
    let place = Place::new();
    let plain = place.file("plain", "not a program");
    for (program, exit) in
        [("no-such-program", 66), ("./no-such-program", 66), (plain.as_str(), 77), ("/tmp", 77), ("./", 77)]
    {
        let said = place.refused(&["work", "q", "--", program], exit);
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert!(place.refused(&["work", "q", "--cwd", "nowhere", "--", "true"], 66).contains("nowhere"));
    assert!(place.refused(&["work", "q", "--cwd", &plain, "--", "true"], 66).contains("plain"));
    assert!(place.refused(&["work", "q"], 2).contains("PROGRAM"));
    assert!(place.refused(&["work", "--", "true"], 2).contains("QUEUE"));
    for wrong in ["--concurrency=abc", "--limit-memory=1M", "--limit-cpu=0s", "--lease=soon", "--concurency=2"] {
        place.refused(&["work", "q", wrong, "--", "true"], 2);
    }
    assert!(!place.folder.path().join("tenure.db").exists(), "a refused command leaves no store behind");
    for wrong in ["--concurrency=0", "--lease=1ms", "--worker=no name", "--kind=no kind", "--timeout=0s"] {
        place.refused(&["work", "q", wrong, "--drain", "--", "true"], 65);
    }
}

#[test]
fn a_file_that_only_looks_like_a_program_is_a_failed_attempt() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let script = place.file("script", "#!/no/such/interpreter\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let id = place.job("1", &[]);
    place.tenure(&["work", "q", "--drain", "--", "./script"]).assert().success();
    let error = place.show(&id)["error"].as_str().unwrap().to_owned();
    assert!(error.contains("script cannot be started: No such file"), "{error}");
}

#[test]
fn d6_endless_output_is_read_and_its_two_ends_are_kept() {
    let place = Place::new();
    let (done, failed) = (place.job("1", &["--kind", "done"]), place.job("2", &["--kind", "failed"]));
    let script = "echo first; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo last";
    place.drain(&["--kind", "done"], script);
    let result = &place.show(&done)["result"];
    let text = result["stdout"].as_str().unwrap();
    assert!(text.starts_with("first\nxxx") && text.ends_with("xxx\nlast\n") && text.len() < 70_000, "{}", text.len());
    assert_eq!(result["bytes"], 30_000_012);
    place.drain(&["--kind", "failed"], &format!("({script}) >&2; exit 1"));
    let error = place.show(&failed)["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("exit code 1: last\n") && error.len() < 8_192, "{error}");
}

#[test]
fn a_payload_that_nobody_reads_holds_up_nobody() {
    let place = Place::new();
    let large = place.file("large.ndjson", &format!(r#"{{"payload":"{}"}}"#, "x".repeat(1_000_000)));
    place.out(&["enqueue", "q", "--file", &large]);
    let said = place.drain(&[], "true");
    assert!(said.contains("1 completed"), "{said}");
    place.out(&["enqueue", "q", "--file", &large]);
    place.drain(&[], "wc -c");
    assert_eq!(place.show("2")["result"], 1_000_002);
}

#[test]
fn a_program_is_limited_and_gains_no_privileges() {
    let place = Place::new();
    let id = place.job("1", &[]);
    let flags = [
        "--limit-files",
        "33",
        "--limit-memory",
        "900M",
        "--limit-cpu",
        "77s",
        "--limit-file-size",
        "1M",
        "--cwd",
        "/",
    ];
    place.drain(
        &flags,
        "ulimit -n; ulimit -v; ulimit -t; ulimit -c; pwd; grep NoNewPrivs /proc/self/status; ls -l /proc/self/fd",
    );
    let text = place.show(&id)["result"]["stdout"].as_str().unwrap().to_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(&lines[..6], ["33", "921600", "77", "0", "/", "NoNewPrivs:\t1"]);
    assert!(!text.contains("tenure.db") && !text.contains("socket:"), "no file of the worker's is open: {text}");
}

#[test]
fn a_file_that_grows_too_large_ends_its_program() {
    let place = Place::new();
    let id = place.job("1", &[]);
    place.drain(&["--limit-file-size", "1K"], "exec head -c 100000 /dev/zero > big");
    assert_eq!(place.show(&id)["error"], "killed by SIGXFSZ (file too large)");
}

#[test]
fn nothing_that_a_program_starts_outlives_it() {
    let place = Place::new();
    place.job("1", &[]);
    // One in its group; one that left the group, and whose parents are gone; both with its output open.
    let script = "sleep 1000 & echo $! > left; (setsid sh -c 'echo $$ > gone; exec sleep 1000' &); \
                  while ! test -s gone; do sleep 0.01; done";
    let said = place.drain(&[], script);
    assert!(said.contains("1 completed"), "{said}");
    let (left, gone) = (place.pid("left"), place.pid("gone"));
    until("both are gone", || !alive(left) && !alive(gone));
}
