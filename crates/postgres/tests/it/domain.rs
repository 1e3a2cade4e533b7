//! Domains on PostgreSQL: the suite, walks, crowds, and what the tables promise.

use crate::support::{Postgres, connect, database};
use tenure_core::domain::{Acquire, Acquired, Advance, Held, Refused, Skip, Skipped};
use tenure_postgres::PostgresStore;
use tenure_store::conformance::domain::crowds;
use tenure_store::conformance::{DomainWalk, walks};
use tenure_store::{DomainStore, Upkeep};
use tokio_postgres::Client;

tenure_store::conformance!(domain, Postgres);

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_steps_agree_with_core() {
    walks::<DomainWalk, Postgres>(0..8, 1_300).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_what_sixteen_threads_see_can_be_explained_by_one_order() {
    println!("{:?}", crowds::<Postgres>(0..4, 25).await);
}

async fn count(hand: &Client, table: &str) -> i64 {
    hand.query_one(&["select count(*) from tenure.", table].concat(), &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_offsets_that_end_in_order_leave_one_range_on_the_row() {
    let database = database().await;
    let (store, hand) = (PostgresStore::open(database.url()).await.unwrap(), connect(database.url()).await);
    let mut token = store.domain_acquire(vec![Acquire::new("a", 0)]).await.unwrap()[0].unwrap().token().unwrap();
    for offset in 1..200 {
        let advanced = store.domain_advance(vec![Advance::new("a", token).next(offset)]).await.unwrap()[0].unwrap();
        token = advanced.next.unwrap().1.unwrap().token().unwrap();
    }
    store.domain_succeed(vec![Held::new("a", token)]).await.unwrap()[0].unwrap();
    assert_eq!(count(&hand, "domain_range").await, 0);
    let row = hand.query_one("select ended_from, ended_to, ended_top from tenure.domain", &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, i64>(2)), (0, 199, 199));
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_holes_that_are_filled_leave_nothing_behind() {
    let database = database().await;
    let (store, hand) = (PostgresStore::open(database.url()).await.unwrap(), connect(database.url()).await);
    for offset in (0..20).map(|n| 2 * n).chain((0..20).rev().map(|n| 2 * n + 1)) {
        let answers = store.domain_acquire(vec![Acquire::new("a", offset)]).await.unwrap();
        let held = Held::new("a", answers[0].unwrap().token().unwrap());
        store.domain_succeed(vec![held]).await.unwrap()[0].unwrap();
    }
    assert_eq!(count(&hand, "domain_range").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_another_server_raises_the_tokens_of_every_domain() {
    let database = database().await;
    let (store, hand) = (PostgresStore::open(database.url()).await.unwrap(), connect(database.url()).await);
    let answers = store.domain_acquire(vec![Acquire::new("a", 1)]).await.unwrap();
    let first = answers[0].unwrap().token().unwrap();
    // As after a restore that lost what was written since: another timeline.
    hand.batch_execute("update tenure.epoch set timeline = '000000AA'").await.unwrap();
    let advanced = store.domain_advance(vec![Advance::new("a", first).next(2)]).await.unwrap()[0].unwrap();
    let second = advanced.next.unwrap().1.unwrap().token().unwrap();
    let base = store.epoch().await.unwrap().base;
    assert!(first < base && base <= second, "{first}, {base}, {second}");
}

#[tokio::test(flavor = "multi_thread")]
async fn c9_batches_in_any_order_never_deadlock() {
    let database = database().await;
    let deadlocks = "select deadlocks from pg_stat_database where datname = current_database()";
    let names: Vec<String> = (0..40).map(|n| format!("d{n}")).collect();
    let mut crowd = Vec::new();
    for caller in 0..8_usize {
        let (url, names) = (database.url().to_owned(), names.clone());
        crowd.push(tokio::spawn(async move {
            let store = PostgresStore::open(&url).await.unwrap();
            for round in 0..15_usize {
                // Each caller names the domains in an order of its own, some for the first time.
                let stride = [1, 3, 7, 9, 11, 13, 17, 19][caller];
                let order = (0..20).map(|n| (caller * 5 + round + n * stride) % names.len());
                let mut seen: Vec<usize> = order.collect();
                seen.sort_by_key(|n| (n * 31 + caller * 17) % 41);
                seen.dedup();
                let acquires = seen.iter().map(|n| Acquire::new(&*names[*n], round as u64)).collect();
                let answers = store.domain_acquire(acquires).await.unwrap();
                let mine = seen.iter().zip(&answers).filter_map(|(n, answer)| match answer {
                    Ok(Acquired::Acquired { token }) => Some(Held::new(&*names[*n], *token)),
                    _ => None,
                });
                let mine: Vec<Held> = mine.collect();
                if !mine.is_empty() {
                    let answers = store.domain_succeed(mine).await.unwrap();
                    let foul = answers.iter().find(|answer| **answer == Err(Refused::TokenMismatch));
                    assert_eq!(foul, None, "someone else wrote under our token");
                }
            }
        }));
    }
    for caller in crowd {
        caller.await.unwrap();
    }
    let hand = connect(database.url()).await;
    assert_eq!(hand.query_one(deadlocks, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn q11_the_view_speaks_the_words_of_the_document() {
    let database = database().await;
    let (store, hand) = (PostgresStore::open(database.url()).await.unwrap(), connect(database.url()).await);
    let acquires =
        vec![Acquire::new("busy", 7).holder("bob").lease_ms(1_000), Acquire::new("busy", 8), Acquire::new("idle", 1)];
    let answers = store.domain_acquire(acquires).await.unwrap();
    let held = Held::new("idle", answers[2].unwrap().token().unwrap());
    store.domain_succeed(vec![held]).await.unwrap()[0].unwrap();
    let view = "select domain_id, current_offset, token, acquired_at_millis, retry_count, holder, backlog_length
                  from tenure.work_leases order by domain_id";
    let rows = hand.query(view, &[]).await.unwrap();
    type Seen<'a> = (&'a str, Option<i64>, Option<&'a str>, bool, Option<i32>, Option<&'a str>, i64);
    let seen = |row: usize| -> Seen<'_> {
        let row = &rows[row];
        let acquired: Option<i64> = row.get(3);
        (row.get(0), row.get(1), row.get(2), acquired.is_some(), row.get(4), row.get(5), row.get(6))
    };
    assert_eq!(seen(0), ("busy", Some(7), Some("1"), true, Some(0), Some("bob"), 1));
    assert_eq!(seen(1), ("idle", None, None, false, None, None, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_a_domain_made_after_the_look_is_not_written_unlocked() {
    let database = database().await;
    let (store, hand) = (PostgresStore::open(database.url()).await.unwrap(), connect(database.url()).await);
    // A caller's clock stands still while the hand holds the advisory lock: between its locks and its writes.
    hand.batch_execute(
        "create or replace function tenure.clock() returns timestamptz language plpgsql volatile as $$
         begin
             if current_setting('application_name') = 'slow' then
                 perform pg_advisory_xact_lock_shared(21);
             end if;
             return clock_timestamp();
         end $$",
    )
    .await
    .unwrap();
    let slow = connect(database.url()).await;
    slow.batch_execute("set application_name = 'slow'").await.unwrap();
    let late = [
        r#"select word from tenure.domain_succeed('{"(a,,1,,)"}')"#,
        r#"select word from tenure.domain_heartbeat('{"(a,,1,,)"}')"#,
        r#"select word from tenure.domain_each('fail', '{"(a,,1,,)","(a,,1,,)"}')"#,
    ];
    for late in late {
        hand.batch_execute("truncate tenure.domain restart identity; select pg_advisory_lock(21)").await.unwrap();
        let writes = slow.query(late, &[]);
        let made = async {
            let waits = "select count(*) from pg_locks where locktype = 'advisory' and not granted";
            while hand.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            let acquire = Acquire { lease_ms: Some(60_000), ..Acquire::new("a", 7) };
            let token = store.domain_acquire(vec![acquire]).await.unwrap()[0].unwrap().token().unwrap();
            hand.batch_execute("select pg_advisory_unlock(21)").await.unwrap();
            token
        };
        let (rows, token) = tokio::join!(writes, made);
        for row in rows.unwrap() {
            assert_eq!(row.get::<_, &str>(0), "lease_not_found", "{late}: token {token:?}");
        }
    }
}

/// However many offsets of one domain a call names, its row is read and written a fixed number of times: versions of a row
/// that one transaction leaves behind are in the way of its own next look.
#[tokio::test(flavor = "multi_thread")]
async fn d6_many_offsets_of_one_domain_in_one_call_write_its_row_once() {
    let database = database().await;
    let (store, hand) = (PostgresStore::open(database.url()).await.unwrap(), connect(database.url()).await);
    store.domain_acquire(vec![Acquire::new("d", 0)]).await.unwrap()[0].unwrap();
    store.domain_skip(vec![Skip::new("other", 1)]).await.unwrap();
    let work = "select coalesce(sum(n_tup_upd), 0)::bigint,
                       coalesce(sum(seq_tup_read + idx_tup_fetch) filter (where relname = 'domain'), 0)::bigint,
                       coalesce(sum(idx_tup_fetch) filter (where relname <> 'domain'), 0)::bigint
                  from pg_stat_xact_user_tables where schemaname = 'tenure' and relname like 'domain%'";
    let offsets = |from: i64, step: usize| (from..).step_by(step).take(1_000).collect::<Vec<i64>>();
    for (verb, offsets) in [
        ("acquire", offsets(1, 1)),
        ("skip", offsets(500, 1)),
        ("skip", offsets(10_000, 2)),
        ("skip", offsets(10_001, 2)),
        ("skip", offsets(20_000, 1).into_iter().rev().collect()),
    ] {
        hand.batch_execute("begin").await.unwrap();
        let before = hand.query_one(work, &[]).await.unwrap();
        let each = "select count(*) filter (where word in ('ENQUEUED', 'SKIPPED'))
                      from tenure.domain_each($1::text,
                           (select array_agg(row('d', o, null, null, null)::tenure.domain_ask order by n)
                              from unnest($2::bigint[]) with ordinality as o(o, n))
                           || row('other', 3, null, null, null)::tenure.domain_ask)";
        let done: i64 = hand.query_one(each, &[&verb, &offsets]).await.unwrap().get(0);
        assert!(done >= 1_000, "{verb}: {done}");
        let after = hand.query_one(work, &[]).await.unwrap();
        let [updated, read, beside] = [0, 1, 2].map(|n| after.get::<_, i64>(n) - before.get::<_, i64>(n));
        assert!(updated <= 2, "{verb} from {}: {updated} updates", offsets[0]);
        assert!(read <= 20, "{verb} from {}: {read} rows of domain read", offsets[0]);
        assert!(beside <= 10_000, "{verb} from {}: {beside} rows read beside it", offsets[0]);
        hand.batch_execute("commit").await.unwrap();
    }
    let failed = hand.query_one("select count(*) from tenure.domain_range where failed", &[]).await.unwrap();
    assert!(failed.get::<_, i64>(0) <= 4, "what touches is one range");
    for (offset, word) in [(400, Skipped::Skipped), (1_499, Skipped::AlreadyFailed), (11_999, Skipped::AlreadyFailed)] {
        assert_eq!(store.domain_skip(vec![Skip::new("d", offset)]).await.unwrap(), [word]);
    }
}

/// Neither plans that a session made while there were few domains, nor those of one that comes before the server has looked
/// at the table, walk through the many there are.
#[tokio::test(flavor = "multi_thread")]
async fn d6_a_batch_reads_its_own_domains_however_many_there_are() {
    let database = database().await;
    let (store, hand) = (PostgresStore::open(database.url()).await.unwrap(), connect(database.url()).await);
    store.domain_acquire(vec![Acquire::new("first", 1)]).await.unwrap()[0].unwrap();
    let calls = |offset: i32, from: i32, to: i32| {
        let asked = |offset: i32| {
            format!(
                "(select array_agg(row('d' || n, {offset}, (select d.last_token from tenure.domain d where d.name = 'd' || n),
                                       null, 60000)::tenure.domain_ask order by n)
                    from generate_series({from}, {to}) n)"
            )
        };
        let (this, next) = (asked(offset), asked(offset + 1));
        [
            format!("select count(*) from tenure.domain_acquire({this})"),
            format!("select count(*) from tenure.domain_heartbeat({this})"),
            format!("select count(*) from tenure.domain_each('fail', {this})"),
            format!("select count(*) from tenure.domain_succeed({next}, true)"),
            format!("select count(*) from tenure.domain_succeed({this})"),
        ]
    };
    // A session settles on a plan after five calls.
    for round in 0..8 {
        for call in calls(2 * round, 1, 5) {
            hand.query_one(&call, &[]).await.unwrap();
        }
    }
    hand.batch_execute(
        "insert into tenure.domain (name, created_at) select 'd' || n, now() from generate_series(6, 50000) n",
    )
    .await
    .unwrap();
    let late = connect(database.url()).await;
    for (hand, from) in [(&late, 10_000), (&hand, 20_000)] {
        for call in calls(100, from, from + 99) {
            hand.batch_execute("begin").await.unwrap();
            assert_eq!(hand.query_one(&call, &[]).await.unwrap().get::<_, i64>(0), 100, "{call}");
            let read = "select (seq_tup_read + idx_tup_fetch)::bigint from pg_stat_xact_user_tables
                         where schemaname = 'tenure' and relname = 'domain'";
            let read: i64 = hand.query_one(read, &[]).await.unwrap().get(0);
            assert!(read < 5_000, "{read} rows were read for a hundred domains by {call}");
            hand.batch_execute("commit").await.unwrap();
        }
    }
}

/// What is asked goes as text within a row within an array: no character of a name or a holder means anything there.
#[tokio::test(flavor = "multi_thread")]
async fn x_a_name_and_a_holder_of_any_characters_are_what_they_are() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let odd = [r#"a"b"#, r"a\b", r#"\""#, "a,b", "(a)", "{a}", " a ", "NULL", "'", "\\\\", "ключ", "a\tb", r#"""""#];
    for (n, name) in odd.into_iter().enumerate() {
        let acquire = Acquire { holder: Some(odd[odd.len() - 1 - n].into()), ..Acquire::new(name, 7) };
        let Ok(Acquired::Acquired { token }) = store.domain_acquire(vec![acquire]).await.unwrap()[0] else {
            panic!("{name:?}")
        };
        let found = store.domain(name).await.unwrap().unwrap();
        let lease = found.lease.unwrap();
        assert_eq!((&*found.name, lease.offset, lease.holder.as_deref()), (name, 7, Some(odd[odd.len() - 1 - n])));
        assert!(store.domain_succeed(vec![Held::new(name, token)]).await.unwrap()[0].is_ok(), "{name:?}");
    }
}
