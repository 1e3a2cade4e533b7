//! The walk of schedules finds what it is there to find: each store below is the memory store with one mistake in front
//! of its schedules.

use super::support::{ANYTHING, Effort, Wrongly, planted};
use async_trait::async_trait;
use tenure_core::queue::JobId;
use tenure_core::schedule::rules::keeps_cursor;
use tenure_core::schedule::{Definition, Due, Fire, Fired, Put, Refused, Schedule};
use tenure_memory::MemoryStore;
use tenure_store::conformance::ScheduleWalk;
use tenure_store::{Clock, QueueStore, Result, ScheduleStore};

const EFFORT: Effort = Effort { steps: 800, seeds: 6, shrunk_max: 10 };

planted! {
    ScheduleWalk, Wrong, EFFORT;
    fire_without_the_revision: FireIgnoresRevision => "fire",
    fire_before_its_time: FireIgnoresClock => "fire",
    fire_of_one_that_rests: FireIgnoresRest => "fire",
    fire_of_the_first_slot_only: FirstSlotOnly => ANYTHING,
    jobs_of_a_refused_firing: JobsOfRefused => ANYTHING,
    put_without_the_revision: PutIgnoresRevision => "put",
    put_that_always_moves_the_cursor: CursorAlwaysMoves => "put",
    remove_that_keeps_the_schedule: RemoveKeeps => ANYTHING,
    due_without_a_bound: DueUnbounded => "due",
}

/// The memory store with one mistake in front of it.
struct Wrong {
    right: MemoryStore,
    clock: Clock,
    bug: Bug,
}

#[async_trait]
impl Wrongly for Wrong {
    fn planted(bug: usize, clock: Clock) -> Wrong {
        Wrong { right: MemoryStore::with_clock(clock.clone()), clock, bug: Bug::ALL[bug] }
    }

    fn right(&self) -> &MemoryStore {
        &self.right
    }

    async fn put_schedule(&self, mut put: Put) -> Result<std::result::Result<Schedule, Refused>> {
        let found = self.right.schedule(&put.name).await?;
        match (self.bug, found) {
            (Bug::PutIgnoresRevision, found) => put.revision = found.map(|found| found.revision),
            (Bug::CursorAlwaysMoves, Some(found)) if keeps_cursor(&found.definition, &put.definition) => {
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

    async fn remove_schedule(&self, name: &str) -> Result<bool> {
        if self.bug == Bug::RemoveKeeps {
            return Ok(self.right.schedule(name).await?.is_some());
        }
        self.right.remove_schedule(name).await
    }

    async fn due_schedules(&self, limit: u32) -> Result<Due> {
        self.right.due_schedules(if self.bug == Bug::DueUnbounded { 1_000 } else { limit }).await
    }

    async fn fire(&self, mut fire: Fire) -> Result<std::result::Result<Fired, Refused>> {
        let found = self.right.schedule(&fire.name).await?;
        let now = self.clock.now();
        let asked = fire.slots.len();
        match (self.bug, &found) {
            (Bug::FireIgnoresRevision, Some(found)) => fire.revision = found.revision,
            (Bug::FireIgnoresClock, _) => self.clock.set(fire.slots.last().map_or(now, |slot| now.max(*slot))),
            (Bug::FireIgnoresRest, Some(found)) if found.definition.paused => {
                let definition = Definition { paused: false, ..found.definition.clone() };
                let (name, next_at) = (fire.name.clone(), found.next_at);
                let wake = Put { name, definition, revision: Some(fire.revision), next_at };
                if let Ok(awake) = self.right.put_schedule(wake).await? {
                    fire.revision = awake.revision;
                }
            }
            (Bug::FirstSlotOnly, _) => fire.slots.truncate(1),
            _ => {}
        }
        let mut answer = self.right.fire(fire).await?;
        self.clock.set(now);
        match (self.bug, &mut answer) {
            (Bug::FirstSlotOnly, Ok(fired)) => {
                let first = fired.jobs.first().map_or(0, |job| job.0);
                fired.jobs = (0..asked as i64).map(|n| JobId(first + n)).collect();
            }
            (Bug::JobsOfRefused, Err(Refused::Changed)) => {
                let jobs = found.map(|found| found.definition.job).into_iter().collect();
                let _ = self.right.enqueue(jobs).await?;
            }
            _ => {}
        }
        Ok(answer)
    }
}
