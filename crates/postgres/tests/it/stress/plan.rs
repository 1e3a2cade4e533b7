//! What a run of the stress does: all of it follows from the seed, except what the machine makes of it.

use std::time::{Duration, Instant};
use tenure_core::queue::{Change, LaneOnFailure, Rate};
use tenure_store::conformance::Chance;

/// How the engine's W behaves during a run. A set one makes claims wait in line, which hides other races: most runs have
/// none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Unlimited,
    Fixed(u32),
    Live,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) clients: u64,
    pub(crate) lasts: Duration,
    /// How long the drain waits for a job to become claimable: a minute is allowed (Q8).
    pub(crate) patience: Duration,
    pub(crate) engine: Engine,
    /// How many lanes a queue has, and how many tenants. A few meet all the time; of many, some are left alone for long,
    /// and nobody looks at what was forgotten in them.
    pub(crate) width: usize,
    /// Whether connections are terminated and statements time out.
    pub(crate) chaos: bool,
    /// Ends the run as soon as faults of all these kinds were found.
    pub(crate) stop_at: &'static [&'static str],
    /// How often progress is printed.
    pub(crate) progress: Option<Duration>,
}

impl Plan {
    pub(crate) fn new(seed: u64, lasts: Duration) -> Plan {
        let mut chance = Chance::of(seed, 0);
        let engine = match chance.below(4) {
            0 => Engine::Fixed(6),
            1 => Engine::Live,
            _ => Engine::Unlimited,
        };
        Plan {
            seed,
            clients: 8,
            lasts,
            patience: Duration::from_secs(75),
            engine,
            width: chance.pick(&[3, 25]),
            chaos: true,
            stop_at: &[],
            progress: None,
        }
    }
}

/// When a run is over.
#[derive(Clone, Debug)]
pub(crate) struct End {
    at: Instant,
    early: tokio::sync::watch::Receiver<bool>,
}

impl End {
    pub(crate) fn new(lasts: Duration, early: tokio::sync::watch::Receiver<bool>) -> End {
        End { at: Instant::now() + lasts, early }
    }

    pub(crate) fn is_here(&self) -> bool {
        Instant::now() >= self.at || *self.early.borrow()
    }

    /// A pause of the run, which its end cuts short.
    pub(crate) async fn pause(&mut self, ms: u64) {
        let pause = Duration::from_millis(ms).min(self.at.saturating_duration_since(Instant::now()));
        let _ = tokio::time::timeout(pause, self.early.wait_for(|early| *early)).await;
    }
}

/// Limits that stay as they are.
pub(crate) const FIXED: &str = "fixed";
/// Lanes that stop at a failure, for the whole run.
pub(crate) const BLOCK: &str = "block";
/// Limits that one operator changes.
pub(crate) const LIVE: &str = "live";
/// Rates that stay as they are.
pub(crate) const RATED: &str = "rated";
/// Settings that anybody changes at any time: nothing about them is judged.
pub(crate) const WILD: &str = "wild";

/// A queue is drawn as often as it is named.
pub(crate) const DRAWN: [&str; 10] = [FIXED, FIXED, FIXED, BLOCK, BLOCK, LIVE, LIVE, WILD, WILD, RATED];
pub(crate) const QUEUES: [&str; 5] = [BLOCK, FIXED, LIVE, RATED, WILD];
pub(crate) const KINDS: [&str; 3] = ["draw", "mail", "sum"];

/// A lane, a tenant, both or neither: three of five have either, of `width`.
pub(crate) fn groups(drawn: usize, width: usize) -> (Option<String>, Option<String>) {
    let group = |word: &str, n: usize| (n % 5 >= 2).then(|| format!("{word}{}", n / 5 % width));
    (group("l", drawn), group("t", drawn / 7))
}

/// Of the queue `rated`, and of each tenant in it.
pub(crate) const RATE: Rate = Rate { max: 6, period_ms: 200 };
pub(crate) const KEY_RATE: Rate = Rate { max: 2, period_ms: 200 };

/// What the queues are set to before anything happens.
pub(crate) fn settings(queue: &str) -> Change {
    let none = Change::default();
    match queue {
        FIXED => Change { max_running: Some(Some(4)), max_running_per_key: Some(Some(1)), ..none },
        BLOCK => {
            Change { max_running_per_key: Some(Some(2)), lane_on_failure: Some(Some(LaneOnFailure::Block)), ..none }
        }
        RATED => Change { rate_limit: Some(Some(RATE)), rate_limit_per_key: Some(Some(KEY_RATE)), ..none },
        WILD => Change { max_running_per_key: Some(Some(1)), ..none },
        _ => Change { max_running: Some(Some(6)), max_running_per_key: Some(Some(2)), paused: Some(false), ..none },
    }
}
