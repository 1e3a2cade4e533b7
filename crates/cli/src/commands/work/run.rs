//! One job: a program from its start to what becomes of the job.

use super::children::Children;
use super::environment::Environment;
use super::program::Program;
use super::{ending, ward::Ward};
use crate::keeper::{Charge, Limits, Order, Word};
use std::sync::Arc;
use std::time::Duration;
use tenure::{Context, Outcome, Outcomes};

/// Parts of a lease after which its keeper is told of a renewal: four times as often as leases are renewed …
const TELL_AFTER: u32 = 12;
/// … and after which it is woken at the latest: its program may have stopped it.
const WAKE_AFTER: Duration = Duration::from_secs(1);

/// What all jobs of a worker are run with.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) program: Program,
    pub(super) environment: Environment,
    pub(super) limits: Limits,
    /// Between SIGTERM and SIGKILL.
    pub(super) kill_after: Duration,
    pub(super) snooze: Duration,
    pub(super) lease: Duration,
}

/// Runs the program for one job. Dropped, it kills the program.
pub(super) async fn run(bench: Arc<Bench>, children: Arc<Children>, cx: Context) -> Outcome<Option<String>> {
    let cannot = |error: std::io::Error| format!("{} was not run: {error}", bench.program);
    let environment = bench.environment.of(&cx, bench.lease.as_millis());
    let (mut ward, mut out, mut err) = Ward::start(&bench.program, environment, children).map_err(cannot)?;
    let mut deadline = cx.safe_until();
    let charge = Charge {
        deadline,
        grace: bench.kill_after,
        limits: bench.limits.clone(),
        payload: cx.job().payload.clone().into_bytes(),
    };
    ward.charge(&charge).await.map_err(cannot)?;
    drop(charge);
    tracing::info!(attempt = cx.attempt(), token = %cx.token(), "started");
    let mut tell = tokio::time::interval((bench.lease / TELL_AFTER).min(WAKE_AFTER));
    let mut stopped = None;
    let ended = loop {
        tokio::select! {
            word = ward.word() => match word {
                Some(Word::Started(_)) => {}
                Some(Word::Ended(ended)) => break ended,
                Some(Word::Failed(why)) => return Outcome::retry(format!("{} {why}", bench.program)),
                None => {
                    tokio::task::block_in_place(|| ward.forsaken());
                    return Outcome::retry("the process that watched the program was killed");
                }
            },
            () = out.more() => {}
            () = err.more() => {}
            why = cx.cancelled(), if stopped.is_none() => {
                stopped = Some(why);
                ward.order(Order::Stop);
            }
            _ = tell.tick() => {
                ward.wake();
                let until = cx.safe_until();
                if until > deadline {
                    deadline = until;
                    ward.order(Order::Renew(until));
                }
            }
        }
    };
    out.rest();
    err.rest();
    tracing::info!(?ended, "ended");
    ending::outcome(&cx, ended, stopped, (&out, &err), bench.snooze)
}
