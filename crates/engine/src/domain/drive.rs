//! The driver around a [`Desk`]: offers it what the source has, carries out what it decides, all but the handlers, and keeps
//! the leases.

use super::desk::{Action, Desk, Happened};
use super::source::Source;
use super::worker::{Act, DomainWorker, Ended, Ending, Offset};
use super::{Acquire, Advance, Held};
use crate::clock::Moment;
use crate::heart::{Heart, Kept, Span};
use crate::signals::told;
use crate::worker::ms;
use crate::{Cancelled, Error, Result, Tenure};
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::domain::{Acquired, Advanced, Answer, DomainInfo, Failed, Refused, Settings};
use tenure_core::{LostReason, Token, bounds};
use tenure_store::Fenced;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

/// Events that one turn takes note of before it acts.
const TURN_MAX: usize = 1_024;

pub(super) type Reply = oneshot::Sender<Fenced<Ended>>;

/// What a driver hears from the tasks it started, and from the worker.
pub(super) enum Heard {
    /// Something for the desk.
    Happened(Arc<str>, Happened),
    /// The same, for a call that was sent at this instant and may have granted a lease.
    Granted(Arc<str>, Happened, Moment),
    /// A try has ended.
    Ended(Ending, Reply),
    /// The lease on this domain under this token is lost, or could not be renewed in time.
    Over(Arc<str>, Token, Cancelled),
}

/// A lease that is kept, and who waits for its loss.
struct Keeping {
    token: Token,
    /// Ends the keeping when it is dropped.
    kept: Kept<Offset>,
    watch: AbortHandle,
}

impl Drop for Keeping {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

async fn turn(heard: &mut UnboundedReceiver<Heard>) -> Vec<Heard> {
    let mut turn = Vec::new();
    heard.recv_many(&mut turn, TURN_MAX).await;
    turn
}

/// Carries out what the desk decides, all but the handlers.
pub(super) struct Driver {
    desk: Desk,
    tenure: Tenure,
    holder: Option<Arc<str>>,
    lease_ms: u64,
    /// Bounded by the desk: of each domain one call and one handler are under way.
    tell: UnboundedSender<Heard>,
    /// Where offsets go that are to be worked on.
    ready: UnboundedSender<Offset>,
    /// Keeps the leases.
    heart: Arc<Heart<Offset>>,
    /// When what was granted was asked for, by our own clock, from before the store was asked (L5).
    asked_at: HashMap<Arc<str>, Moment>,
    kept: HashMap<Arc<str>, Keeping>,
    /// Who waits for the answer to the end of a try.
    replies: HashMap<Arc<str>, Reply>,
}

impl Driver {
    pub(super) fn new(
        worker: &DomainWorker,
        heart: Arc<Heart<Offset>>,
        tell: UnboundedSender<Heard>,
        ready: UnboundedSender<Offset>,
    ) -> Driver {
        let (face, terms) = (&worker.face, &worker.terms);
        let holder: Arc<str> = terms.owner.as_str().into();
        Driver {
            desk: Desk::new(holder.clone(), face.backoff, ms(face.look_every).max(1)),
            tenure: terms.tenure.clone(),
            holder: Some(holder),
            lease_ms: face.lease_ms,
            tell,
            ready,
            heart,
            asked_at: HashMap::new(),
            kept: HashMap::new(),
            replies: HashMap::new(),
        }
    }

    /// Goes on until nothing is left to do.
    pub(super) async fn run<S: Source>(
        mut self,
        mut source: S,
        domains_max: usize,
        mut heard: UnboundedReceiver<Heard>,
        stopping: watch::Receiver<bool>,
    ) -> Result<()> {
        let (mut ended, mut stopped) = (false, false);
        let mut stopping = std::pin::pin!(told(stopping));
        loop {
            let room = !ended && self.desk.has_room(domains_max);
            let heard = tokio::select! {
                biased;
                () = &mut stopping, if !stopped => {
                    (ended, stopped) = (true, true);
                    self.desk.stop();
                    Vec::new()
                }
                turn = turn(&mut heard) => turn,
                offered = source.next(), if room => match offered {
                    Some((domain, offset)) => {
                        bounds::key("domain", &domain)?;
                        vec![Heard::Happened(domain, Happened::Offered(offset))]
                    }
                    None => {
                        ended = true;
                        Vec::new()
                    }
                },
            };
            self.turn(heard);
            if ended && self.desk.is_empty() || stopped && self.desk.at_rest() {
                return Ok(());
            }
        }
    }

    fn turn(&mut self, heard: Vec<Heard>) {
        let mut actions = Vec::new();
        for heard in heard {
            let (domain, happened) = match heard {
                Heard::Happened(domain, happened) => (domain, happened),
                Heard::Granted(domain, happened, asked_at) => {
                    if granted(&happened) {
                        self.asked_at.insert(domain.clone(), asked_at);
                    }
                    (domain, happened)
                }
                Heard::Ended(((domain, token), act), reply) => {
                    let Some(keeping) = self.kept.get(&domain).filter(|keeping| keeping.token == token) else {
                        // An error means that nobody waits for it any more.
                        let _ = reply.send(Err(LostReason::Superseded));
                        continue;
                    };
                    let happened = match act {
                        Act::Succeed => Happened::Worked(token, true),
                        Act::Fail { error } => {
                            tracing::debug!(%domain, error, "a try failed");
                            Happened::Worked(token, false)
                        }
                        Act::Leave => {
                            let left = match keeping.kept.hold.told() {
                                Some(Cancelled::LeaseLost(reason)) => Err(reason),
                                Some(Cancelled::LeaseEnding) => Err(LostReason::Expired),
                                _ => Ok(Ended::Left),
                            };
                            let _ = reply.send(left);
                            actions.extend(self.step(domain, Happened::Lost));
                            continue;
                        }
                    };
                    self.replies.insert(domain.clone(), reply);
                    (domain, happened)
                }
                Heard::Over(domain, token, why) => {
                    if self.desk.held(&domain) != Some(token) {
                        continue;
                    }
                    let reason = if let Cancelled::LeaseLost(reason) = why { reason } else { LostReason::Expired };
                    self.reply(&domain, Err(reason));
                    (domain, Happened::Lost)
                }
            };
            match &happened {
                Happened::Advanced(Some(answer)) => {
                    self.reply(&domain, answer.map(|_| Ended::Succeeded).map_err(lost));
                }
                Happened::Failed(Some(Ok(Failed::RetryScheduled { .. }))) => self.reply(&domain, Ok(Ended::Retried)),
                Happened::Failed(Some(answer)) => self.reply(&domain, answer.map(|_| Ended::GaveUp).map_err(lost)),
                _ => {}
            }
            actions.extend(self.step(domain, happened));
        }
        self.carry_out(actions);
    }

    fn step(&mut self, domain: Arc<str>, happened: Happened) -> Vec<Action> {
        let actions = self.desk.step(&domain, happened);
        self.keep(domain);
        actions
    }

    fn reply(&mut self, domain: &str, answer: Fenced<Ended>) {
        if let Some(reply) = self.replies.remove(domain) {
            let _ = reply.send(answer);
        }
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        let (mut asks, mut advances, mut succeeds, mut fails) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (holder, lease_ms) = (self.holder.clone(), Some(self.lease_ms));
        for action in actions {
            match action {
                Action::Ask(domain, offset) => asks.push(Acquire { domain, offset, holder: holder.clone(), lease_ms }),
                Action::Advance(domain, token, next) => {
                    advances.push(Advance { domain, token, next, holder: holder.clone(), lease_ms });
                }
                Action::Succeed(domain, token) => succeeds.push(Held { domain, token }),
                Action::Fail(domain, token) => fails.push(Held { domain, token }),
                Action::Work(domain, offset, token) => {
                    // What was lost within the same turn is not begun.
                    if let Some(keeping) = self.kept.get(&domain).filter(|keeping| keeping.token == token) {
                        let hold = keeping.kept.hold.clone();
                        let _ = self.ready.send(Offset { domain, offset, token, hold });
                    }
                }
                Action::Look(domain) => self.look(domain),
                Action::Rest(domain, token, ms) => self.later(ms, domain, Happened::Rested(token)),
                Action::Wait(domain, ms) => self.later(ms, domain, Happened::Due),
            }
        }
        let asked_at = self.tenure.around.now();
        self.call(
            asks,
            async |tenure, asks| tenure.domain_acquire_all(asks).await,
            move |Acquire { domain, offset, .. }, answer| {
                Heard::Granted(domain, Happened::Asked(offset, answer), asked_at)
            },
        );
        self.call(
            advances,
            async |tenure, advances| tenure.domain_advance_all(advances).await,
            move |Advance { domain, .. }, answer| Heard::Granted(domain, Happened::Advanced(answer), asked_at),
        );
        self.call(
            succeeds,
            async |tenure, writes| tenure.domain_succeed_all(writes).await,
            |Held { domain, .. }, answer| {
                let advanced = answer.map(|answer| answer.map(|succeeded| Advanced { succeeded, next: None }));
                Heard::Happened(domain, Happened::Advanced(advanced))
            },
        );
        self.call(
            fails,
            async |tenure, writes| tenure.domain_fail_all(writes).await,
            |Held { domain, .. }, answer| Heard::Happened(domain, Happened::Failed(answer)),
        );
    }

    /// Sends what is due in many domains as one call, and tells of each answer, or that there was none.
    fn call<A, T, F>(
        &self,
        items: Vec<A>,
        send: impl FnOnce(Tenure, Vec<A>) -> F,
        tell: impl Fn(A, Option<Answer<T>>) -> Heard + Send + 'static,
    ) where
        A: Clone + Send + 'static,
        T: Send + 'static,
        F: Future<Output = Result<Vec<Answer<T>>>> + Send + 'static,
    {
        if items.is_empty() {
            return;
        }
        let sent = send(self.tenure.clone(), items.clone());
        let (tenure, heard) = (self.tenure.clone(), self.tell.clone());
        tokio::spawn(async move {
            let answers = tenure.outage.watch("domains", sent).await;
            let mut answers = answers.unwrap_or_default().into_iter();
            for item in items {
                // An error means that the worker has ended.
                let _ = heard.send(tell(item, answers.next()));
            }
        });
    }

    /// Has the heart keep what is held in a domain now, and nothing else of it.
    fn keep(&mut self, domain: Arc<str>) {
        let Some(token) = self.desk.held(&domain) else {
            self.kept.remove(&domain);
            self.asked_at.remove(&domain);
            return;
        };
        if self.kept.get(&domain).is_some_and(|keeping| keeping.token == token) {
            return;
        }
        let span = Span::of(Duration::from_millis(self.lease_ms));
        // A lease that was already ours has run for some time: it is renewed at once.
        let asked_at = self.asked_at.remove(&domain).unwrap_or_else(|| span.due(self.tenure.around.now()));
        let kept = self.heart.keep((domain.clone(), token), span, asked_at);
        let (hold, tell, of) = (kept.hold.clone(), self.tell.clone(), domain.clone());
        let watch = tokio::spawn(async move {
            let why = hold.over().await;
            let _ = tell.send(Heard::Over(of, token, why));
        });
        self.kept.insert(domain, Keeping { token, kept, watch: watch.abort_handle() });
    }

    fn look(&self, domain: Arc<str>) {
        let (tenure, tell) = (self.tenure.clone(), self.tell.clone());
        tokio::spawn(async move {
            let seen = async {
                let (info, now) = (tenure.domain(&domain).show().await?, tenure.now().await?);
                // One that was on record and no more, after a failover that lost it or a restore: nothing waits there.
                let gone = || DomainInfo {
                    name: domain.clone(),
                    created_at: now,
                    settings: Settings::default(),
                    lease: None,
                    backlog_len: 0,
                    backlog_head: None,
                    backlog_oldest_at: None,
                };
                Ok::<_, Error>(Some((info.unwrap_or_else(gone), now)))
            };
            let seen = tenure.outage.watch("looks at domains", seen).await.unwrap_or(None);
            let _ = tell.send(Heard::Happened(domain, Happened::Looked(seen)));
        });
    }

    fn later(&self, ms: u64, domain: Arc<str>, happened: Happened) {
        let tell = self.tell.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            let _ = tell.send(Heard::Happened(domain, happened));
        });
    }
}

/// Whether something was newly acquired.
fn granted(happened: &Happened) -> bool {
    let answer = match happened {
        Happened::Asked(_, answer) => *answer,
        Happened::Advanced(Some(Ok(advanced))) => advanced.next.map(|(_, answer)| answer),
        _ => None,
    };
    matches!(answer, Some(Ok(Acquired::Acquired { .. })))
}

/// Why a lease is lost, in the words of the other faces.
pub(super) fn lost(refused: Refused) -> LostReason {
    match refused {
        Refused::LeaseLost(reason) => reason,
        Refused::TokenMismatch => LostReason::Superseded,
        Refused::LeaseNotFound | Refused::BacklogOrdering { .. } => LostReason::Finished,
    }
}
