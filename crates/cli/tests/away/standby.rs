//! Opening and reading write nothing (L2): they work where nothing can be written.

use crate::{command, printed, psql, said, served, tenure};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tenure_testing::{PostgresServer, ServerOptions};

/// Longer than anything here takes on a machine that is busy with something else, and shorter than a call waits for a
/// commit that does not come.
const AT_ONCE: Duration = Duration::from_secs(8);

/// Where the last commit is: it moves with every write.
fn position(server: &PostgresServer) -> String {
    psql(server, "work", "select pg_current_wal_insert_lsn()")
}

#[test]
fn l2_opening_reading_and_the_doctor_write_nothing() {
    // Without the server's own housekeeping there is nobody else who writes.
    let options = ServerOptions::fast().setting("autovacuum", "off").setting("bgwriter_lru_maxpages", "0");
    let server = served(options.setting("checkpoint_timeout", "1d"));
    // The first look at a page may leave a hint on it, which is written down on some servers: all pages are looked at.
    psql(&server, "work", "vacuum");
    let url = server.url("work");
    let doctor = ["doctor"].as_slice();
    let reads = [doctor, &["job", "list"], &["job", "show", "1"], &["job", "explain", "1"], &["queue", "list"]];
    reads.iter().for_each(|args| drop(tenure(&url, args)));
    let rows = || psql(&server, "work", "select xmin::text || ctid::text from tenure.epoch");
    let before = (position(&server), rows());
    reads.iter().for_each(|args| drop(tenure(&url, args)));
    assert_eq!((position(&server), rows()), before, "somebody wrote");
}

#[test]
fn c6_on_a_hot_standby_reads_are_answered_and_a_write_is_refused_as_unavailable() {
    let primary = served(ServerOptions::fast());
    psql(&primary, "postgres", "create database bare");
    let standby = primary.standby("second", ServerOptions::fast().tcp()).expect("a standby");
    // Where there is no store, that is what is said: not that none can be made here.
    for read in [&["doctor"][..], &["job", "list"]] {
        let refused = tenure(&standby.url("bare"), read);
        let told = said(&refused);
        assert_eq!(refused.status.code(), Some(66), "{told}");
        assert!(told.contains("database bare") && told.contains("tenure init"), "{told}");
    }
    for url in [standby.url("work"), standby.tcp_url("work").expect("on TCP")] {
        assert!(printed(&url, &["job", "list"]).contains("queued"));
        assert!(printed(&url, &["job", "show", "1"]).contains("queued"));
        assert!(!printed(&url, &["job", "explain", "1"]).is_empty());
        assert!(printed(&url, &["queue", "list"]).contains('q'));
        assert!(!printed(&url, &["worker", "list", "--json"]).is_empty());
        let doctor = tenure(&url, &["doctor"]);
        let found = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(found.contains("standby"), "{found}{}", said(&doctor));
        for write in [
            ["enqueue", "q", "3"].as_slice(),
            &["queue", "pause", "q"],
            &["job", "cancel", "1"],
            &["store", "new-epoch"],
            &["domain", "acquire", "d", "1"],
        ] {
            let refused = tenure(&url, write);
            let told = said(&refused);
            assert_eq!(refused.status.code(), Some(69), "{write:?}: {told}");
            assert!(told.contains("read-only") || told.contains("standby"), "{write:?}: {told}");
        }
    }
}

#[test]
fn c6_with_the_synchronous_standby_gone_opening_and_reading_return_at_once() {
    let server = served(ServerOptions::fast());
    psql(&server, "work", "alter system set synchronous_standby_names = 'nobody'");
    psql(&server, "work", "select pg_reload_conf()");
    let waits = "select setting = 'nobody' from pg_settings where name = 'synchronous_standby_names'";
    while psql(&server, "work", waits) != "t" {}
    let url = server.url("work");
    for args in [["job", "list"].as_slice(), &["job", "show", "1"], &["queue", "list"], &["doctor"]] {
        let began = Instant::now();
        let mut child =
            command(&url, args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
        while child.try_wait().expect("it can be waited for").is_none() {
            if began.elapsed() > AT_ONCE {
                child.kill().expect("it can be ended");
                panic!("{args:?} waits for a standby that is gone");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    // A write waits for the standby, and is then told the truth: nobody knows whether it will be there.
    let refused = tenure(&format!("{url}?timeout_ms=700"), &["enqueue", "q", "3"]);
    assert_eq!(refused.status.code(), Some(75), "{}", said(&refused));
}
