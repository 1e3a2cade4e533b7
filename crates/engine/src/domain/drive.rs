//! The driver around a [`Desk`]: offers it what the source has, carries out what it decides, all but the handlers, and keeps
//! the leases.

use super::desk::{Action, Desk, Happened};
use super::source::Source;
use super::worker::{Act, DomainWorker, Ended, Ending, Offset};
use super::{Acquire, Advance, Held};
use crate::clock::Moment;
use crate::heart::{Heart, Hold, Kept, Span};
use crate::signals::told;
use crate::worker::ms;
use crate::{Cancelled, Error, Result, Tenure};
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::domain::{Acquired, Advanced, Answer, Failed, Refused};
use tenure_core::{LostReason, Token, bounds};
use tenure_store::Fenced;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, watch};

/// Events that one turn takes note of before it acts.
const TURN_MAX: usize = 1_024;

pub(super) type Reply = oneshot::Sender<Fenced<Ended>>;

/// What a driver hears from the tasks it started, and from the worker.
pub(super) enum Heard {
    /// Something for the desk; if it is the answer to a call, to one that was sent at this instant.
    Happened(Arc<str>, Happened, Moment),
    /// A try has ended.
    Ended(Ending, Reply),
}

/// A lease that is kept until this is dropped.
struct Keeping {
    token: Token,
    kept: Kept<Offset>,
    /// Who waits for the answer to the end of a try.
    reply: Option<Reply>,
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
    holder: Arc<str>,
    lease_ms: u64,
    /// Bounded by the desk: of each domain one call and one handler are under way.
    tell: UnboundedSender<Heard>,
    /// Where offsets go that are to be worked on.
    ready: UnboundedSender<Offset>,
    /// Keeps the leases.
    heart: Arc<Heart<Offset>>,
    kept: HashMap<Arc<str>, Keeping>,
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
            holder,
            lease_ms: face.lease_ms,
            tell,
            ready,
            heart,
            kept: HashMap::new(),
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
                        vec![Heard::Happened(domain, Happened::Offered(offset), self.tenure.around.now())]
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
            let (domain, happened, asked_at) = match heard {
                Heard::Happened(domain, happened, asked_at) => (domain, happened, asked_at),
                Heard::Ended(((domain, token), act), reply) => match self.ended(&domain, token, act, reply) {
                    Some(happened) => (domain, happened, self.tenure.around.now()),
                    None => continue,
                },
            };
            match &happened {
                Happened::Advanced(Some(answer)) => {
                    self.reply(&domain, answer.map(|_| Ended::Succeeded).map_err(lost));
                }
                Happened::Failed(Some(Ok(Failed::RetryScheduled { .. }))) => self.reply(&domain, Ok(Ended::Retried)),
                Happened::Failed(Some(answer)) => self.reply(&domain, answer.map(|_| Ended::GaveUp).map_err(lost)),
                _ => {}
            }
            let granted_at = granted(&happened).then_some(asked_at);
            let told = self.desk.step(&domain, happened);
            self.keep(&domain, granted_at);
            actions.extend(told.into_iter().map(|action| (domain.clone(), action)));
        }
        self.carry_out(actions);
    }

    /// What the end of a try is to the desk; nothing, if it is the end of one whose lease was lost before.
    fn ended(&mut self, domain: &str, token: Token, act: Act, reply: Reply) -> Option<Happened> {
        let Some(keeping) = self.kept.get_mut(domain).filter(|keeping| keeping.token == token) else {
            // An error means that nobody waits for it any more.
            let _ = reply.send(Err(LostReason::Superseded));
            return None;
        };
        if let Act::Leave = act {
            let _ = reply.send(match keeping.kept.hold.told() {
                Some(Cancelled::LeaseLost(reason)) => Err(reason),
                Some(Cancelled::LeaseEnding) => Err(LostReason::Expired),
                _ => Ok(Ended::Left),
            });
            return Some(Happened::Lost(token));
        }
        if let Act::Fail { error } = &act {
            tracing::debug!(domain, error, "a try failed");
        }
        keeping.reply = Some(reply);
        Some(Happened::Worked(token, act == Act::Succeed))
    }

    fn reply(&mut self, domain: &str, answer: Fenced<Ended>) {
        if let Some(reply) = self.kept.get_mut(domain).and_then(|keeping| keeping.reply.take()) {
            let _ = reply.send(answer);
        }
    }

    fn carry_out(&mut self, actions: Vec<(Arc<str>, Action)>) {
        let (mut asks, mut advances, mut succeeds, mut fails) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (us, lease_ms) = (Some(self.holder.clone()), Some(self.lease_ms));
        for (domain, action) in actions {
            match action {
                Action::Ask(offset) => asks.push(Acquire { domain, offset, holder: us.clone(), lease_ms }),
                Action::Advance(token, next) => {
                    advances.push(Advance { domain, token, next, holder: us.clone(), lease_ms });
                }
                Action::Succeed(token) => succeeds.push(Held { domain, token }),
                Action::Fail(token) => fails.push(Held { domain, token }),
                Action::Work(offset, token) => {
                    // What was lost within the same turn is not begun.
                    let Some(hold) = self.hold(&domain, token) else { continue };
                    if let Err(unheard) = self.ready.send(Offset { domain, offset, token, hold }) {
                        // The worker has left, and nobody will begin it.
                        self.later(unheard.0.domain, async move { Happened::Lost(token) });
                    }
                }
                Action::Look => self.look(domain),
                Action::Rest(token, ms) => {
                    let Some(hold) = self.hold(&domain, token) else { continue };
                    self.later(domain, async move {
                        tokio::select! {
                            () = tokio::time::sleep(Duration::from_millis(ms)) => Happened::Rested(token),
                            _ = hold.over() => Happened::Lost(token),
                        }
                    });
                }
                Action::Wait(ms) => self.later(domain, async move {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    Happened::Due
                }),
            }
        }
        self.call(
            asks,
            async |tenure, asks| tenure.verbs().domain_acquire_all(asks).await,
            |Acquire { domain, offset, .. }, answer| (domain, Happened::Asked(offset, answer)),
        );
        self.call(
            advances,
            async |tenure, advances| tenure.verbs().domain_advance_all(advances).await,
            |Advance { domain, .. }, answer| (domain, Happened::Advanced(answer)),
        );
        self.call(
            succeeds,
            async |tenure, writes| tenure.verbs().domain_succeed_all(writes).await,
            |Held { domain, .. }, answer| {
                let advanced = answer.map(|answer| answer.map(|succeeded| Advanced { succeeded, next: None }));
                (domain, Happened::Advanced(advanced))
            },
        );
        self.call(
            fails,
            async |tenure, writes| tenure.verbs().domain_fail_all(writes).await,
            |Held { domain, .. }, answer| (domain, Happened::Failed(answer)),
        );
    }

    /// Sends what is due in many domains as one call, and tells of each answer, or that there was none.
    fn call<A, T, F>(
        &self,
        items: Vec<A>,
        send: impl FnOnce(Tenure, Vec<A>) -> F,
        happened: impl Fn(A, Option<Answer<T>>) -> (Arc<str>, Happened) + Send + 'static,
    ) where
        A: Clone + Send + 'static,
        T: Send + 'static,
        F: Future<Output = Result<Vec<Answer<T>>>> + Send + 'static,
    {
        if items.is_empty() {
            return;
        }
        let (sent, sent_at) = (send(self.tenure.clone(), items.clone()), self.tenure.around.now());
        let (tenure, tell) = (self.tenure.clone(), self.tell.clone());
        tokio::spawn(async move {
            let answers = tenure.outage.watch("domains", sent).await;
            let mut answers = answers.unwrap_or_default().into_iter();
            for item in items {
                let (domain, happened) = happened(item, answers.next());
                // An error means that the worker has ended.
                let _ = tell.send(Heard::Happened(domain, happened, sent_at));
            }
        });
    }

    /// Has the heart keep what is held in a domain now, and nothing else of it.
    fn keep(&mut self, domain: &Arc<str>, granted_at: Option<Moment>) {
        let Some(token) = self.desk.held(domain) else {
            self.kept.remove(domain);
            return;
        };
        if self.hold(domain, token).is_none() {
            let span = Span::of(Duration::from_millis(self.lease_ms));
            // A lease that was already ours has run for some time: it is renewed at once.
            let asked_at = granted_at.unwrap_or_else(|| span.due(self.tenure.around.now()));
            let kept = self.heart.keep((domain.clone(), token), span, asked_at);
            self.kept.insert(domain.clone(), Keeping { token, kept, reply: None });
        }
    }

    /// The right to what is kept in a domain under this token.
    fn hold(&self, domain: &str, token: Token) -> Option<Arc<Hold>> {
        let keeping = self.kept.get(domain).filter(|keeping| keeping.token == token)?;
        Some(keeping.kept.hold.clone())
    }

    fn look(&self, domain: Arc<str>) {
        let (tenure, of) = (self.tenure.clone(), domain.clone());
        self.later(domain, async move {
            let seen = async { Ok::<_, Error>((tenure.verbs().domain(&of).await?, tenure.now().await?)) };
            Happened::Looked(tenure.outage.watch("looks at domains", seen).await.ok())
        });
    }

    /// Tells the desk what comes of something.
    fn later(&self, domain: Arc<str>, happens: impl Future<Output = Happened> + Send + 'static) {
        let (tell, now) = (self.tell.clone(), self.tenure.around.now());
        tokio::spawn(async move { tell.send(Heard::Happened(domain, happens.await, now)) });
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    /// Offers one offset, and then has the worker told to stop.
    struct Last(Option<u64>, watch::Sender<bool>);

    impl Source for Last {
        async fn next(&mut self) -> Option<(Arc<str>, u64)> {
            match self.0.take() {
                Some(offset) => Some(("a".into(), offset)),
                None => {
                    self.1.send_replace(true);
                    std::future::pending().await
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_offset_that_is_acquired_when_the_worker_has_left_is_left_to_others() {
        let tenure = Tenure::open("memory:").await.unwrap();
        let mut worker = tenure.domain_worker().name("w");
        worker.prepare().unwrap();
        let heart = worker.heart().await.unwrap();
        let ((tell, heard), (ready, readied)) = (unbounded_channel(), unbounded_channel());
        drop(readied);
        let (stop, stopping) = watch::channel(false);
        let driver = Driver::new(&worker, heart, tell, ready).run(Last(Some(1), stop), 64, heard, stopping);
        tokio::time::timeout(Duration::from_secs(60), driver).await.expect("it ends").unwrap();
        assert!(tenure.domain("a").info().await.unwrap().lease.is_some(), "until its lease runs out");
    }
}
