//! A list that is too long is counted before it is read: what it costs is bounded by what it may hold, not by what was
//! sent. Alone in its process, for the measure is of all of it.

#![cfg(target_os = "linux")]

use tenure::pipeline::{RunId, UnitKey};
use tenure::sync::SyncId;
use tenure_wire::{Problem, pipeline, queue, sync};

/// The most memory that this process ever had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

fn unit() -> UnitKey {
    UnitKey { run: RunId(1), stage: "s".into(), segment: None }
}

/// Reads `{field: [item, item, …]}`.
type Read = fn(&[u8]) -> Result<usize, Problem>;

#[test]
fn x_a_list_that_is_too_long_is_refused_before_it_is_read() {
    let held = r#""worker":"w","token":1,"#;
    let lists: [(&str, &str, &str, u64, Read); 9] = [
        ("jobs", r#"{"kind":"k"}"#, "", 10_000, |body| Ok(queue::request::ENQUEUE.read(body, "q".into())?.len())),
        ("heartbeats", "{}", "", 10_000, |body| Ok(queue::request::HEARTBEATS.read(body, ())?.len())),
        ("endings", "{}", "", 10_000, |body| Ok(queue::request::ENDINGS.read(body, ())?.len())),
        ("queues", "\"q\"", r#""worker":"w","#, 100, |body| {
            Ok(queue::request::CLAIM_FROM.read(body, ())?.0.queues.len())
        }),
        ("kinds", "\"k\"", r#""worker":"w","#, 1_000, |body| {
            Ok(queue::request::CLAIM.read(body, "q".into())?.0.queues.len())
        }),
        ("chunks", r#"{"chunk_hash":"h"}"#, "", 250_000, |body| Ok(sync::request::ADD.read(body, SyncId(1))?.1.len())),
        ("stages", r#"{"name":"s"}"#, r#""name":"p","version":1,"#, 1_000, |body| {
            Ok(pipeline::request::APPLY.read(body, ())?.stages.len())
        }),
        ("artifacts", "{}", held, 1_000, |body| pipeline::request::HEARTBEAT.read(body, unit()).map(|_| 0)),
        ("segments", "{}", held, 100_000, |body| pipeline::request::SPLIT.read(body, unit()).map(|_| 0)),
    ];
    for (field, item, fields, max, read) in lists {
        let count = ((16 << 20) / (item.len() + 1)).max(max as usize + 1);
        let sent = format!("{{{fields}\"{field}\":[{}{item}]}}", format!("{item},").repeat(count - 1));
        let before = peak();
        let refused = read(sent.as_bytes()).unwrap_err();
        let told = refused.to_json()["error"].clone();
        assert_eq!((told["code"].as_str(), told["field"].as_str()), (Some("out_of_bounds"), Some(field)), "{told}");
        assert_eq!(told["got"].as_str(), Some(count.to_string().as_str()), "{told}");
        assert!(told["limit"].as_str().is_some_and(|limit| limit.ends_with(&format!(" to {max}"))), "{told}");
        let grown = peak().saturating_sub(before);
        // Sixteen bytes for each item that may be there, and room for the allocator's doubling.
        assert!(grown < 32 << 20, "{field}: {count} items took {} MiB", grown >> 20);
    }
}
