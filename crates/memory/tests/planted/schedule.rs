//! The walk of schedules finds what it is there to find: each store below is the memory store with one slip in front of
//! its schedules.

use super::Bug;
use super::wrong::Wrong;
use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::queue::JobId;
use tenure_core::schedule::rules::keeps_cursor;
use tenure_core::schedule::{Definition, Due, Fire, Fired, Firing, Put, Refused, Schedule};
use tenure_store::conformance::Harness;
use tenure_store::conformance::schedule::schedule_walk;
use tenure_store::{Clock, QueueStore, Result, ScheduleStore, Store};

const STEPS: u32 = 800;
const SEEDS: u64 = 6;
/// No slip needs more operations than this to show itself.
const SHRUNK_MAX: usize = 10;

macro_rules! slips {
    ($($test:ident: $slip:ident => $catcher:literal,)+) => {
        /// What is wrong with the schedules.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Slip { $($slip,)+ }

        const SLIPS: &[Slip] = &[$(Slip::$slip,)+];

        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                assert_caught::<{ Slip::$slip as usize }>($catcher).await;
            }
        )+
    };
}

slips! {
    fire_without_the_revision: FireIgnoresRevision => "fire",
    fire_before_its_time: FireIgnoresClock => "fire",
    fire_of_one_that_rests: FireIgnoresRest => "fire",
    fire_of_the_first_slot_only: FirstSlotOnly => "",
    jobs_of_a_refused_firing: JobsOfRefused => "",
    put_without_the_revision: PutIgnoresRevision => "put",
    put_that_always_moves_the_cursor: CursorAlwaysMoves => "put",
    remove_that_keeps_the_schedule: RemoveKeeps => "",
    due_without_a_bound: DueUnbounded => "due",
}

async fn assert_caught<const SLIP: usize>(catcher: &str) {
    let mut others = Vec::new();
    for seed in 0..SEEDS {
        let Err(failure) = schedule_walk::<Slipping<SLIP>>(seed, STEPS).await else { continue };
        assert!(failure.shrunk.len() <= SHRUNK_MAX, "{:?} took {failure}", SLIPS[SLIP]);
        if failure.message.starts_with(catcher) {
            println!("{failure}");
            return;
        }
        others.push(failure.to_string());
    }
    panic!("{:?} was not caught by {catcher:?}, but by {others:#?}", SLIPS[SLIP]);
}

struct Slipping<const SLIP: usize> {
    store: Arc<Wrong>,
    clock: Clock,
}

#[async_trait]
impl<const SLIP: usize> Harness for Slipping<SLIP> {
    async fn open(start: Time) -> Self {
        let clock = Clock::manual(start);
        // A walk of schedules raises no epoch: nothing but the slip is wrong here.
        let mut wrong = Wrong::new(Bug::EpochKept, clock.clone());
        wrong.slip = Some(SLIPS[SLIP]);
        Slipping { store: Arc::new(wrong), clock }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn set_clock(&self, now: Time) {
        self.clock.set(now);
    }

    async fn another(&self) -> Arc<dyn Store> {
        self.store.clone()
    }
}

#[async_trait]
impl ScheduleStore for Wrong {
    async fn put_schedule(&self, mut put: Put) -> Result<std::result::Result<Schedule, Refused>> {
        let found = self.right.schedule(&put.name).await?;
        match (self.slip, found) {
            (Some(Slip::PutIgnoresRevision), found) => put.revision = found.map(|found| found.revision),
            (Some(Slip::CursorAlwaysMoves), Some(found)) if keeps_cursor(&found.definition, &put.definition) => {
                // By way of another expression, the cursor moves.
                let definition = Definition { cron: "elsewhere".to_owned(), ..put.definition.clone() };
                let away = Put { definition, ..put.clone() };
                if let Ok(away) = self.right.put_schedule(away).await? {
                    put.revision = Some(away.revision);
                }
            }
            _ => {}
        }
        self.right.put_schedule(put).await
    }

    async fn schedule(&self, name: &str) -> Result<Option<Schedule>> {
        self.right.schedule(name).await
    }

    async fn schedules(&self, after: Option<&str>, limit: u32) -> Result<Page<Schedule>> {
        self.right.schedules(after, limit).await
    }

    async fn remove_schedule(&self, name: &str) -> Result<bool> {
        if self.slip == Some(Slip::RemoveKeeps) {
            return Ok(self.right.schedule(name).await?.is_some());
        }
        self.right.remove_schedule(name).await
    }

    async fn firings(&self, name: &str, before: Option<Time>, limit: u32) -> Result<Page<Firing>> {
        self.right.firings(name, before, limit).await
    }

    async fn due_schedules(&self, limit: u32) -> Result<Due> {
        self.right.due_schedules(if self.slip == Some(Slip::DueUnbounded) { 1_000 } else { limit }).await
    }

    async fn fire(&self, mut fire: Fire) -> Result<std::result::Result<Fired, Refused>> {
        let found = self.right.schedule(&fire.name).await?;
        let now = self.clock.now();
        let asked = fire.slots.len();
        match (self.slip, &found) {
            (Some(Slip::FireIgnoresRevision), Some(found)) => fire.revision = found.revision,
            (Some(Slip::FireIgnoresClock), _) => self.clock.set(fire.slots.last().map_or(now, |slot| now.max(*slot))),
            (Some(Slip::FireIgnoresRest), Some(found)) if found.definition.paused => {
                let definition = Definition { paused: false, ..found.definition.clone() };
                let (name, next_at) = (fire.name.clone(), found.next_at);
                let wake = Put { name, definition, revision: Some(fire.revision), next_at };
                if let Ok(awake) = self.right.put_schedule(wake).await? {
                    fire.revision = awake.revision;
                }
            }
            (Some(Slip::FirstSlotOnly), _) => fire.slots.truncate(1),
            _ => {}
        }
        let mut answer = self.right.fire(fire).await?;
        self.clock.set(now);
        match (self.slip, &mut answer) {
            (Some(Slip::FirstSlotOnly), Ok(fired)) => {
                let first = fired.jobs.first().map_or(0, |job| job.0);
                fired.jobs = (0..asked as i64).map(|n| JobId(first + n)).collect();
            }
            (Some(Slip::JobsOfRefused), Err(Refused::Changed)) => {
                let jobs = found.map(|found| found.definition.job).into_iter().collect();
                let _ = self.right.enqueue(jobs).await?;
            }
            _ => {}
        }
        Ok(answer)
    }
}
