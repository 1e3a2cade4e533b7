//! Workers and their database: killed, frozen, replaced, cut off, while jobs under limits and lanes and domains in order
//! are worked on. What callers were answered is written down apart from the store, and one judge reads it
//! (`tenure_testing::history`).

mod crew;

use crew::{Crew, blocking, psql};
use std::collections::BTreeSet;
use std::time::Duration;
use tenure::{Claim, Filter, NewJob, Tenure};
use tenure_testing::history::Fault;
use tenure_testing::{FaultProxy, PostgresServer, ServerOptions};

/// All of these at once, the password and database of the first: they have both in common.
fn addresses(servers: &[&PostgresServer]) -> String {
    let urls: Vec<String> = servers.iter().map(|server| server.tcp_url("work").expect("on TCP")).collect();
    let hosts: Vec<&str> = urls.iter().map(|url| url.split(['@', '/']).nth(3).expect("a host")).collect();
    let (before, _) = urls[0].split_once('@').expect("a user");
    // What is silent for two seconds is given up: leases are three seconds long.
    format!("{before}@{}/work?connect_timeout=2&timeout_ms=2000", hosts.join(","))
}

/// A server with an empty database `work`, and standbys of it under these names, each of which it waits for if `quorum`.
fn cluster(names: &[&str], quorum: bool) -> Vec<PostgresServer> {
    let options = || ServerOptions::fast().tcp().max_connections(100).shared_buffers("16MB");
    let primary = PostgresServer::start(options()).expect("a server");
    psql(&primary, "postgres", "create database work");
    let mut servers = vec![primary];
    for name in names {
        let standby = servers[0].standby(name, options()).expect("a standby");
        servers.push(standby);
    }
    if quorum {
        let set = format!("alter system set synchronous_standby_names = 'ANY 1 ({})'", names.join(", "));
        psql(&servers[0], "postgres", &set);
        psql(&servers[0], "postgres", "select pg_reload_conf()");
        let connected =
            format!("select count(*) = {} from pg_stat_replication where sync_state = 'quorum'", names.len());
        while psql(&servers[0], "postgres", &connected) != "t" {}
    }
    servers
}

/// Of these standbys the one that has received most: it has every commit that a quorum has acknowledged.
fn furthest(standbys: &[PostgresServer]) -> &PostgresServer {
    let received = |standby: &&PostgresServer| {
        let sql = "select pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')";
        psql(standby, "postgres", sql).parse::<u64>().expect("a position")
    };
    standbys.iter().max_by_key(received).expect("a standby")
}

#[tokio::test(flavor = "multi_thread")]
async fn c7_a_primary_that_is_killed_and_its_quorum_standby_promoted_lose_nothing() {
    let servers = blocking(|| cluster(&["b", "c"], true)).await;
    let crew = Crew::begin(&addresses(&servers.iter().collect::<Vec<_>>())).await;
    crew.at_work().await;
    let servers = blocking(move || {
        servers[0].kill();
        furthest(&servers[1..]).promote().expect("it is promoted");
        servers
    })
    .await;
    let done = crew.end().await;
    assert!(done.outages > 0, "somebody noticed");
    done.is_well();
    drop(servers);
}

#[tokio::test(flavor = "multi_thread")]
async fn c4_a_primary_that_hangs_is_left_for_the_standby_that_was_promoted() {
    let servers = blocking(|| cluster(&["b"], true)).await;
    let crew = Crew::begin(&addresses(&servers.iter().collect::<Vec<_>>())).await;
    crew.at_work().await;
    let servers = blocking(move || {
        // Every process of it: connections stay open, others are taken in by the kernel, and nothing is ever answered.
        servers[0].freeze();
        servers[1].promote().expect("it is promoted");
        servers
    })
    .await;
    let done = crew.end().await;
    assert!(done.outages > 0, "somebody noticed");
    done.is_well();
    // Never thawed before it is fenced.
    servers[0].kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_two_standbys_promoted_in_turn_give_out_no_token_twice_and_take_no_ending_of_each_others() {
    let servers = blocking(|| cluster(&["b", "c"], false)).await;
    let [a, b, c] = servers.as_slice() else { unreachable!() };
    let tenure = Tenure::open(&addresses(&[a])).await.unwrap();
    // All of it is on both standbys before the primary dies: what they draw begins at the same place.
    let job = tenure.enqueue(NewJob::new("once", "k", "1")).await.unwrap().id;
    let crew = Crew::filled(&addresses(&[a]), &addresses(&[b, c])).await;
    for standby in [b, c] {
        let behind = "select pg_last_wal_replay_lsn()";
        let (end, begun) = (psql(a, "work", "select pg_current_wal_flush_lsn()"), std::time::Instant::now());
        let there = format!("select ({behind}) >= '{end}'::pg_lsn");
        while psql(standby, "work", &there) != "t" {
            assert!(begun.elapsed() < Duration::from_secs(60), "the standby does not follow");
        }
    }
    a.kill();
    b.promote().unwrap();
    let on_b = Tenure::open(&addresses(&[b])).await.unwrap();
    let first = on_b.verbs().claim(Claim::new("once", "w").lease_ms(600_000)).await.unwrap().jobs.remove(0);
    let crew = crew.work().await;
    crew.at_work().await;
    b.kill();
    c.promote().unwrap();
    let on_c = Tenure::open(&addresses(&[c])).await.unwrap();
    let second = on_c.verbs().claim(Claim::new("once", "w").lease_ms(600_000)).await.unwrap().jobs.remove(0);
    assert_eq!((first.id, second.id), (job, job));
    assert!(first.token < second.token, "{} then {}", first.token, second.token);
    let refused = on_c.verbs().complete(job, "w", first.token, None).await.unwrap_err();
    assert_eq!(refused.code(), "lease_lost");
    on_c.verbs().complete(job, "w", second.token, None).await.unwrap();

    let done = crew.end().await;
    // What was done on the first of them is lost by nature, and done again on the second; of domains only what was still
    // to be acquired. Each promise is judged that does not speak of both.
    let by_nature = |fault: &Fault| match fault {
        Fault::FinishedTwice { .. } | Fault::OrderBroken { .. } => true,
        Fault::HeldTwice { .. } | Fault::LimitExceeded { .. } => true,
        Fault::Stuck { unit } => unit.starts_with("domain"),
        _ => false,
    };
    assert!(done.in_time, "{}", done.summary);
    let faults: Vec<&Fault> = done.faults.iter().filter(|fault| !by_nature(fault)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let twice = done.faults.iter().any(|fault| matches!(fault, Fault::FinishedTwice { .. }));
    assert!(twice, "some was done on both, or nothing is shown: {}", done.summary);
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_connections_cut_before_and_after_their_commits_under_load_lose_nothing() {
    let servers = blocking(|| cluster(&[], false)).await;
    let proxy = FaultProxy::in_front_of(&servers[0].tcp_url("work").expect("on TCP")).await.unwrap();
    let crew = Crew::begin(&format!("{}?timeout_ms=2000", proxy.url())).await;
    crew.at_work().await;
    let mut struck = BTreeSet::new();
    let verbs = ["tenure.claim(", "tenure.finish(", "tenure.enqueue_all", "tenure.domain_", "tenure.heartbeat"];
    for round in 0..6 {
        for verb in verbs {
            if round % 2 == 0 {
                proxy.cut_before(verb)
            } else {
                proxy.cut_after(verb)
            }
            if tokio::time::timeout(Duration::from_millis(700), proxy.struck()).await.is_ok() {
                struck.insert((verb, round % 2));
            }
        }
    }
    proxy.heal();
    let done = crew.end().await;
    assert!(struck.len() >= 7, "{struck:?}");
    done.is_well();
    let left = Tenure::open(&servers[0].url("work")).await.unwrap();
    let unended = Filter { status: Some(tenure::Status::Running), ..Filter::default() };
    assert!(left.verbs().jobs(unended, None, 1).await.unwrap().items.is_empty());
}
