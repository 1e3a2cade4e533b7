//! Domains in one SQLite file: the suite, walks, crowds over two handles, and what the tables promise.

#[path = "support/suite.rs"]
mod suite;

use suite::File;
use tenure_core::domain::{Acquire, Advance, Change, Held};
use tenure_core::{Actor, Time};
use tenure_sqlite::rusqlite;
use tenure_store::conformance::domain::crowds;
use tenure_store::conformance::{DomainWalk, Harness, walks};
use tenure_store::{DomainStore, Upkeep};

impl File {
    fn count(&self, table: &str) -> i64 {
        self.raw().query_row(&["SELECT count(*) FROM ", table].concat(), [], |row| row.get(0)).unwrap()
    }
}

tenure_store::conformance!(domain, File);

#[tokio::test(flavor = "multi_thread")]
async fn twenty_thousand_steps_agree_with_core() {
    walks::<DomainWalk, File>(0..14, 1_500).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_what_sixteen_threads_see_can_be_explained_by_one_order() {
    println!("{:?}", crowds::<File>(0..4, 30).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_offsets_that_end_in_order_leave_one_range_on_the_row() {
    let file = File::open(Time(0)).await;
    file.store.domain_change("a", Change { max_retries: Some(Some(0)), ..Change::default() }).await.unwrap();
    let answers = file.store.domain_acquire(vec![Acquire::new("a", 0)]).await.unwrap();
    let mut token = answers[0].unwrap().token().unwrap();
    for offset in 1..500 {
        let advances = vec![Advance::new("a", token).next(offset)];
        let advanced = file.store.domain_advance(advances).await.unwrap()[0].unwrap();
        token = advanced.next.unwrap().1.unwrap().token().unwrap();
    }
    file.store.domain_fail(vec![Held::new("a", token)]).await.unwrap()[0].unwrap();
    assert_eq!(file.count("tenure_domain_range"), 0);
    let row = "SELECT ended_from, ended_to, failed_from, failed_to FROM tenure_domain";
    let ranges =
        file.raw().query_row(row, [], |row| Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?]));
    assert_eq!(ranges.unwrap(), [0, 499, 499, 499]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_holes_that_are_filled_leave_nothing_behind() {
    let file = File::open(Time(0)).await;
    for offset in (0..20).map(|n| 2 * n).chain((0..20).rev().map(|n| 2 * n + 1)) {
        let answers = file.store.domain_acquire(vec![Acquire::new("a", offset)]).await.unwrap();
        let token = answers[0].unwrap().token().unwrap();
        file.store.domain_succeed(vec![Held::new("a", token)]).await.unwrap()[0].unwrap();
    }
    assert_eq!(file.count("tenure_domain_range"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn q11_the_view_speaks_the_words_of_the_document() {
    let file = File::open(Time(5_000_000)).await;
    let acquires =
        vec![Acquire::new("busy", 7).holder("bob").lease_ms(1_000), Acquire::new("busy", 8), Acquire::new("idle", 1)];
    let answers = file.store.domain_acquire(acquires).await.unwrap();
    let idle = answers[2].unwrap().token().unwrap();
    file.store.domain_succeed(vec![Held::new("idle", idle)]).await.unwrap()[0].unwrap();
    let raw = file.raw();
    let sql = "SELECT domain_id, current_offset, token, acquired_at_millis, retry_count, holder, backlog_length
               FROM tenure_work_leases ORDER BY domain_id";
    let mut view = raw.prepare(sql).unwrap();
    type Seen = (String, Option<i64>, Option<String>, Option<i64>, Option<i64>, Option<String>, i64);
    let rows = view.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
    });
    let rows: Vec<Seen> = rows.unwrap().map(Result::unwrap).collect();
    let busy = ("busy".into(), Some(7), Some("1".into()), Some(5_000), Some(0), Some("bob".into()), 1);
    assert_eq!(rows, [busy, ("idle".into(), None, None, None, None, None, 0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn l8_a_view_tells_what_was_changed_and_by_whom() {
    let file = File::open(Time(5_000_000)).await;
    let ann = file.store.acting_as(Actor::new("cli:ann@desk").unwrap());
    let change = |max_retries| Change { max_retries: Some(Some(max_retries)), ..Change::default() };
    ann.domain_change("d", change(0)).await.unwrap();
    ann.domain_change("d", change(0)).await.unwrap();
    let raw = file.raw();
    let mut view = raw.prepare("SELECT at, face, name, what, setting, was, became, by FROM tenure_changes").unwrap();
    let read = |row: &rusqlite::Row<'_>| (0..8).map(|i| row.get(i)).collect::<rusqlite::Result<Vec<String>>>();
    let rows: Vec<Vec<String>> = view.query_map([], read).unwrap().map(Result::unwrap).collect();
    let told = ["1970-01-01T00:00:05.000000Z", "domain", "d", "changed", "max_retries", "3", "0", "cli:ann@desk"];
    assert_eq!(rows, [told]);
}
