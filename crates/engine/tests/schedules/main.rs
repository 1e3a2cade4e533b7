//! Schedules end to end: several schedulers, a clock that jumps about over a year with its changes of clocks, schedulers
//! that die in the middle of it; and each slot is a job exactly once.

mod crowd;
mod policy;
mod processes;

use std::collections::BTreeMap;
use tenure::schedule::{Calendar, CatchUp, NewSchedule};
use tenure::{Filter, JobId, NewJob, Tenure, Time};
use tenure_store::conformance::Chance;
use tokio_postgres::{Client, NoTls};

/// 2018-03-01T00:00:00Z.
pub(crate) const START: Time = Time(1_519_862_400_000_000);
/// A year later. Between them clocks change twice in each of these zones but the last.
pub(crate) const END: Time = Time(START.0 + 365 * 86_400_000_000);
pub(crate) const ZONES: [&str; 5] =
    ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata"];

/// A schedule for each zone and expression, each with a queue of its own name.
pub(crate) fn schedules(crons: &[&str]) -> Vec<NewSchedule> {
    let each = |(n, cron): (usize, &&str)| {
        let cron = (*cron).to_owned();
        ZONES.map(|zone| {
            let name = format!("s{n}-{}", zone.replace('/', "-"));
            let job = NewJob::new(name.clone(), "tick", "null");
            NewSchedule::new(name, cron.clone(), job).zone(zone).catch_up(CatchUp::All)
        })
    };
    crons.iter().enumerate().flat_map(each).collect()
}

/// Every schedule has one job for each of its slots after the start and up to the end, and nothing else.
pub(crate) async fn assert_each_slot_once(tenure: &Tenure, schedules: &[NewSchedule]) {
    let mut jobs: BTreeMap<String, Vec<Time>> = BTreeMap::new();
    let mut before: Option<JobId> = None;
    loop {
        let page = tenure.verbs().jobs(Filter::default(), before, 1_000).await.unwrap();
        page.items.iter().for_each(|job| jobs.entry(job.queue.clone()).or_default().push(job.run_at));
        before = page.items.last().map(|job| job.id);
        if !page.more {
            break;
        }
    }
    for schedule in schedules {
        let calendar = Calendar::read(&schedule.cron, &schedule.zone).unwrap();
        let slots = std::iter::successors(calendar.next_after(START), |slot| calendar.next_after(*slot));
        let expected: Vec<Time> = slots.take_while(|slot| *slot <= END).collect();
        let mut fired = jobs.remove(&schedule.name).unwrap_or_default();
        fired.sort_unstable();
        assert!(expected.len() > 300, "{} has {} slots", schedule.name, expected.len());
        assert_eq!(fired, expected, "{}", schedule.name);
        let stands = tenure.verbs().schedule(&schedule.name).await.unwrap().unwrap();
        assert_eq!((stands.fired, stands.missed), (expected.len() as u64, 0), "{}", schedule.name);
    }
    assert!(jobs.is_empty(), "jobs of nobody: {:?}", jobs.keys());
}

/// Instants on the way to the end: onward by hours or days, and now and then back by up to three hours.
pub(crate) fn journey(mut chance: Chance, hours_max: usize) -> Vec<Time> {
    let mut now = START;
    let mut stops = Vec::new();
    while now < END {
        if chance.one_in(5) {
            stops.push(Time(now.0 - chance.below(10_800_000_000) as i64));
        }
        now = Time(now.0 + (1 + chance.below(hours_max * 3_600_000)) as i64 * 1_000).min(END);
        stops.push(now);
    }
    stops
}

/// A hand on the clock of a PostgreSQL store, replaced as L5 allows.
pub(crate) struct Hand(Client);

impl Hand {
    pub(crate) async fn on(url: &str) -> Hand {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let clock = "
            create sequence tenure.test_clock;
            create or replace function tenure.clock() returns timestamptz language sql volatile as $$
                select timestamptz 'epoch' + (last_value / 1000000) * interval '1 second'
                       + (last_value % 1000000) * interval '1 microsecond'
                  from tenure.test_clock
            $$";
        client.batch_execute(clock).await.unwrap();
        Hand(client)
    }

    pub(crate) async fn set(&self, now: Time) {
        self.0.query("select setval('tenure.test_clock', $1)", &[&now.0]).await.unwrap();
    }
}
