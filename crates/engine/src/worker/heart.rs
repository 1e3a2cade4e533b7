//! The heart: renews a worker's leases on a thread and a connection of its own.
//!
//! A handler that blocks every thread of the runtime, or takes every pooled connection, does not lose its lease (A9,
//! A10): nothing here waits for either. What is decided, [`Pulse`] decides; here it is only carried out.

use super::hold::{Cancelled, Hold};
use super::points::Points;
use super::pulse::{Event, Order, Pulse, safe_until};
use crate::clock::Moment;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tenure_core::queue::{Beat, Beaten, JobId};
use tenure_core::{LostReason, Token};
use tenure_store::{Fenced, Store, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// The longest sleep of the heart. A machine that slept wakes up into one of these, and then reads the clock.
const TICK: Duration = Duration::from_millis(200);

/// How a heart gets its store.
pub(crate) type Opening =
    Box<dyn FnOnce() -> std::pin::Pin<Box<dyn Future<Output = Result<Arc<dyn Store>, StoreError>>>> + Send>;

enum Word {
    Granted { token: Token, lease: Duration, asked_at: Moment, jobs: Vec<(JobId, Arc<Hold>)> },
    Ended { token: Token, job: JobId },
}

/// A beating heart. It stops when this is dropped.
#[derive(Debug)]
pub(crate) struct Heart {
    words: Option<UnboundedSender<Word>>,
    thread: Option<JoinHandle<()>>,
}

impl Heart {
    /// Starts beating for `owner`, once the store it was given is open.
    pub(crate) async fn start(
        owner: String,
        opening: Opening,
        points: Option<Arc<Points>>,
    ) -> Result<Heart, StoreError> {
        let (words, heard) = unbounded_channel();
        let (opened, is_open) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("tenure-heart".to_owned())
            .spawn(move || live(owner, opening, points, heard, opened))
            .map_err(|error| StoreError::unavailable(format!("cannot start a thread for heartbeats: {error}")))?;
        is_open.await.unwrap_or_else(|_| Err(StoreError::broken("the thread for heartbeats ended at once")))?;
        Ok(Heart { words: Some(words), thread: Some(thread) })
    }

    /// A lease was granted, asked for at `asked_at`, over these jobs.
    pub(crate) fn granted(&self, token: Token, lease: Duration, asked_at: Moment, jobs: Vec<(JobId, Arc<Hold>)>) {
        self.say(Word::Granted { token, lease, asked_at, jobs });
    }

    /// A job under a lease has ended.
    pub(crate) fn ended(&self, token: Token, job: JobId) {
        self.say(Word::Ended { token, job });
    }

    fn say(&self, word: Word) {
        // It only stops listening when it is dropped.
        let _ = self.words.as_ref().map(|words| words.send(word));
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.words = None;
        // Not joined: a store that does not answer must not hold up whoever drops this.
        self.thread = None;
    }
}

fn live(
    owner: String,
    opening: Opening,
    points: Option<Arc<Points>>,
    mut heard: UnboundedReceiver<Word>,
    opened: oneshot::Sender<Result<(), StoreError>>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = opened.send(Err(StoreError::unavailable(format!("cannot start a runtime: {error}"))));
            return;
        }
    };
    runtime.block_on(async move {
        let store = match opening().await {
            Ok(store) => store,
            Err(error) => {
                let _ = opened.send(Err(error));
                return;
            }
        };
        let _ = opened.send(Ok(()));
        let mut beating = Beating { owner, store, pulse: Pulse::default(), holds: HashMap::new(), silent: true };
        beating.run(&mut heard, points.as_deref()).await;
    });
}

struct Beating {
    owner: String,
    store: Arc<dyn Store>,
    pulse: Pulse,
    holds: HashMap<Token, HashMap<JobId, Arc<Hold>>>,
    /// Nothing was said yet about a store that does not answer.
    silent: bool,
}

/// The answer to some heartbeats that were sent together.
struct Answer {
    tokens: Vec<Token>,
    sent_at: Moment,
    answers: Result<Vec<Fenced<Beaten>>, StoreError>,
}

impl Beating {
    async fn run(&mut self, heard: &mut UnboundedReceiver<Word>, points: Option<&Points>) {
        let mut sent = FuturesUnordered::new();
        loop {
            if let Some(points) = points {
                points.living().await;
            }
            let now = Moment::now();
            let rest = self.pulse.next().map_or(TICK, |next| now.until(next)).min(TICK);
            let events = tokio::select! {
                word = heard.recv() => match word {
                    Some(word) => self.hear(word),
                    None => return,
                },
                Some(answer) = sent.next() => self.answered(answer),
                () = tokio::time::sleep(rest) => vec![Event::Tick],
            };
            for event in events {
                for order in self.pulse.step(event, Moment::now()) {
                    if let Order::Beat(tokens) = order {
                        sent.push(beat(self.store.clone(), self.owner.clone(), tokens));
                    } else {
                        self.carry_out(&order);
                    }
                }
            }
        }
    }

    fn hear(&mut self, word: Word) -> Vec<Event> {
        match word {
            Word::Granted { token, lease, asked_at, jobs } => {
                let event = Event::Granted { token, lease, asked_at, jobs: jobs.len() };
                self.holds.insert(token, jobs.into_iter().collect());
                vec![event]
            }
            Word::Ended { token, job } => {
                let Some(holds) = self.holds.get_mut(&token) else { return Vec::new() };
                let known = holds.remove(&job).is_some();
                if holds.is_empty() {
                    self.holds.remove(&token);
                }
                if known { vec![Event::Ended { token }] } else { Vec::new() }
            }
        }
    }

    fn answered(&mut self, answer: Answer) -> Vec<Event> {
        let Answer { tokens, sent_at, answers } = answer;
        let answers = match answers {
            Ok(answers) => {
                self.silent = true;
                answers
            }
            Err(error) => {
                // One line per outage, not one per try.
                if std::mem::take(&mut self.silent) {
                    tracing::warn!(%error, "heartbeats go unanswered");
                }
                return tokens.into_iter().map(|token| Event::Unanswered { token }).collect();
            }
        };
        let judged = tokens.into_iter().zip(answers).map(|(token, answer)| match answer {
            Ok(beaten) => {
                for job in beaten.cancel_requested {
                    self.hold(token, job).into_iter().for_each(|hold| hold.tell(Cancelled::Operator));
                }
                Event::Beaten { token, sent_at }
            }
            Err(reason) => Event::Refused { token, reason },
        });
        judged.collect()
    }

    fn hold(&self, token: Token, job: JobId) -> Option<&Arc<Hold>> {
        self.holds.get(&token)?.get(&job)
    }

    fn carry_out(&mut self, order: &Order) {
        match order {
            Order::Beat(_) => {}
            Order::Renewed(token, until) => self.each(*token, |hold| hold.renew(*until)),
            Order::Ending(token) => self.each(*token, |hold| hold.tell(Cancelled::LeaseEnding)),
            Order::Lost(token, reason) => self.lost(*token, *reason),
        }
    }

    fn lost(&mut self, token: Token, reason: LostReason) {
        self.each(token, |hold| hold.tell(Cancelled::LeaseLost(reason)));
        self.holds.remove(&token);
    }

    fn each(&self, token: Token, tell: impl Fn(&Hold)) {
        self.holds.get(&token).into_iter().flat_map(HashMap::values).for_each(|hold| tell(hold));
    }
}

async fn beat(store: Arc<dyn Store>, owner: String, tokens: Vec<Token>) -> Answer {
    let sent_at = Moment::now();
    let beats = tokens.iter().map(|token| Beat::shared(owner.clone(), *token)).collect();
    let answers = store.heartbeat(beats).await;
    Answer { tokens, sent_at, answers }
}

/// The right to a job under a lease asked for at `asked_at`.
pub(crate) fn hold(asked_at: Moment, lease: Duration) -> Arc<Hold> {
    Arc::new(Hold::new(safe_until(asked_at, lease)))
}
