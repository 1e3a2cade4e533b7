//! What the engine finds around it: a clock, chance, and a thread for what must not wait. One value, held by
//! [`Tenure`](crate::Tenure), so that whoever hands in another owns all that is not decided by the store and the program.
//!
//! Sleeps and tasks are those of the runtime that it runs on.

use crate::chance;
use crate::clock::Moment;
use futures_util::future::BoxFuture;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use tenure_core::retry::Retry;

/// Where the engine runs.
pub(crate) trait Around: Debug + Send + Sync {
    fn now(&self) -> Moment;

    /// A number in −1 … 1, for jitter.
    fn chance(&self) -> f64;

    /// Runs what may wait for nobody else.
    fn apart(&self, name: &str, work: BoxFuture<'static, ()>) -> io::Result<()>;
}

/// This machine.
#[derive(Debug)]
struct Machine;

impl Around for Machine {
    fn now(&self) -> Moment {
        Moment::now()
    }

    fn chance(&self) -> f64 {
        chance::signed_unit()
    }

    /// On a thread of its own.
    fn apart(&self, name: &str, work: BoxFuture<'static, ()>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name(name.to_owned()).spawn(move || runtime.block_on(work))?;
        Ok(())
    }
}

/// What the engine finds around it. Cheap to clone; production's is the default.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings(Arc<dyn Around>);

impl Default for Surroundings {
    fn default() -> Surroundings {
        Surroundings(Arc::new(Machine))
    }
}

impl Surroundings {
    #[cfg(test)]
    pub(crate) fn new(around: impl Around + 'static) -> Surroundings {
        Surroundings(Arc::new(around))
    }

    /// Now, by a clock that is good for deadlines of this worker's own (L5).
    pub(crate) fn now(&self) -> Moment {
        self.0.now()
    }

    pub(crate) fn chance(&self) -> f64 {
        self.0.chance()
    }

    /// A retry by the unit's own backoff.
    pub(crate) fn by_policy(&self) -> Retry {
        Retry::Policy { chance: self.chance() }
    }

    pub(crate) fn apart(&self, name: &str, work: BoxFuture<'static, ()>) -> io::Result<()> {
        self.0.apart(name, work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewJob, Report, Stop, Tenure, Time};
    use std::sync::Mutex;
    use std::time::Duration;
    use tenure_memory::MemoryStore;
    use tenure_store::Clock;
    use tenure_store::conformance::Chance;
    use tokio::time::Instant;

    /// A machine of one thread, whose time passes when nobody has anything to do.
    #[derive(Debug)]
    struct Simulated {
        began: Instant,
        of_store: Clock,
        chance: Mutex<Chance>,
    }

    impl Around for Simulated {
        fn now(&self) -> Moment {
            let passed = self.began.elapsed();
            self.of_store.set(Time(passed.as_micros() as i64));
            Moment(Duration::from_secs(1_000) + passed)
        }

        fn chance(&self) -> f64 {
            self.chance.lock().unwrap().signed_unit()
        }

        fn apart(&self, _: &str, work: BoxFuture<'static, ()>) -> io::Result<()> {
            drop(tokio::spawn(work));
            Ok(())
        }
    }

    /// When which attempt began, of jobs that take longer than their lease and fail twice.
    async fn worked(seed: u64) -> (Report, Vec<String>) {
        let (began, of_store) = (Instant::now(), Clock::manual(Time(0)));
        let chance = Mutex::new(Chance::new(seed));
        let simulated = Simulated { began, of_store: of_store.clone(), chance };
        let tenure = Tenure::within(MemoryStore::with_clock(of_store), Surroundings::new(simulated));
        for _ in 0..12 {
            tenure.enqueue(NewJob::new("q", "k", "1")).await.unwrap();
        }
        let lines = Arc::new(Mutex::new(Vec::new()));
        let noting = lines.clone();
        let worker = tenure.worker().queue("q").name("w").concurrency(3).lease(Duration::from_secs(1));
        let worker = worker.handle_any(move |cx| {
            let line = format!("attempt {} of job {} after {:?}", cx.attempt(), cx.id(), began.elapsed());
            noting.lock().unwrap().push(line);
            async move {
                tokio::time::sleep(Duration::from_millis(1_500)).await;
                if cx.attempt() < 3 { Err(Stop::from("again")) } else { Ok(None) }
            }
        });
        let report = worker.run_until(tokio::time::sleep(Duration::from_secs(120))).await.unwrap();
        let lines = std::mem::take(&mut *lines.lock().unwrap());
        (report, lines)
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_with_a_clock_chance_and_threads_of_its_own_does_the_same_again() {
        let (report, lines) = worked(1).await;
        assert_eq!((report.completed, report.retried, report.refused), (12, 24, 0), "the heart kept the leases");
        assert_eq!((report, lines.clone()), worked(1).await);
        assert_ne!(lines, worked(2).await.1, "chance moves the waits between attempts");
    }
}
