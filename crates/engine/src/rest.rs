//! How long to rest between looks that bring nothing.
//!
//! A store hints when time alone may change its answer. Always true: whatever it hints, looks that only a hint asked for
//! and that bring nothing become rare, down to one a second; and a hint that is kept is followed to the moment.

use crate::Result;
use std::time::Duration;
use tenure_core::bounds;
use tenure_store::Listener;
use tokio::time::Instant;

/// The longest rest: the floor under lost wake-ups.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The shortest rest after a hint that was not kept; twice as long after the next.
const FLOOR: Duration = Duration::from_millis(50);

/// The rests of one who looks.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    floor: Duration,
    /// The rest under way was cut short by a hint.
    hinted: bool,
}

impl Rest {
    /// A look brought nothing, and the store hints when the next may: how long to rest, unless woken.
    pub(crate) fn begin(&mut self, hint: Option<Duration>) -> Duration {
        let hint = hint.filter(|hint| *hint < LOOK_AGAIN);
        self.hinted = hint.is_some();
        hint.map_or(LOOK_AGAIN, |hint| hint.max(self.floor))
    }

    /// Nobody has woken it: the next look is made for the hint's sake, if there was one.
    pub(crate) fn over(&mut self) {
        self.floor = if self.hinted { (self.floor * 2).clamp(FLOOR, LOOK_AGAIN) } else { Duration::ZERO };
    }

    /// A look brought something.
    pub(crate) fn found(&mut self) {
        *self = Rest::default();
    }
}

/// Looks until there is something, or `wait` is over. `nothing` is the hint of a look that brought nothing, if it gave one.
pub(crate) async fn look_within<C, F: Future<Output = Result<C>>>(
    wait: Duration,
    listener: &mut Listener,
    mut look: impl FnMut() -> F,
    nothing: impl Fn(&C) -> Option<Option<Duration>>,
) -> Result<C> {
    bounds::within("wait_ms", crate::worker::ms(wait), 0, bounds::WAIT_MS_MAX)?;
    let deadline = Instant::now() + wait;
    let mut rest = Rest::default();
    loop {
        let found = look().await?;
        let Some(hint) = nothing(&found).filter(|_| Instant::now() < deadline) else { return Ok(found) };
        let next_look = (Instant::now() + rest.begin(hint)).min(deadline);
        tokio::select! {
            () = listener.woken() => {}
            () = tokio::time::sleep_until(next_look) => rest.over(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn q2_hints_that_are_not_kept_become_rare() {
        let mut rest = Rest::default();
        let rests = (0..8).map(|_| {
            let rested = rest.begin(Some(Duration::ZERO));
            rest.over();
            rested
        });
        assert_eq!(rests.collect::<Vec<_>>(), [0, 50, 100, 200, 400, 800, 1_000, 1_000].map(ms));
    }

    #[test]
    fn q2_a_hint_that_is_kept_is_followed_to_the_moment() {
        let mut rest = Rest::default();
        for _ in 0..3 {
            assert_eq!(rest.begin(Some(ms(7))), ms(7));
            rest.over();
            rest.found();
        }
    }

    #[test]
    fn q2_wake_ups_and_full_rests_take_nothing_from_the_next_hint() {
        let mut rest = Rest::default();
        for _ in 0..5 {
            // Woken before it was over.
            assert_eq!(rest.begin(Some(ms(7))), ms(7));
        }
        rest.over();
        assert_eq!(rest.begin(Some(ms(7))), ms(50));
        rest.over();
        assert_eq!(rest.begin(None), LOOK_AGAIN);
        rest.over();
        assert_eq!(rest.begin(Some(ms(7))), ms(7));
    }
}
