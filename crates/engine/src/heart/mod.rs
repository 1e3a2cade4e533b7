//! The heart: renews a worker's leases on a thread and a connection of its own, whichever face they belong to.
//!
//! A handler that blocks every thread of the runtime, or takes every pooled connection, does not lose its lease (A9,
//! A10): nothing here waits for either. What is decided, [`Pulse`] decides; here it is only carried out.

mod hold;
mod pulse;

pub use hold::Cancelled;
pub(crate) use hold::Hold;
pub(crate) use pulse::Span;

use crate::clock::Moment;
use crate::outage::Outage;
use crate::surroundings::Surroundings;
use crate::worker::Points;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pulse::{Event, Order, Pulse, safe_until};
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::LostReason;
use tenure_store::{Fenced, Store, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// The longest sleep of the heart. A machine that slept wakes up into one of these, and then reads the clock.
const TICK: Duration = Duration::from_millis(200);

/// What is kept with an attempt whose lease could not be kept, of whichever face.
pub(crate) const NOT_KEPT: &str = "its lease could not be renewed in time: heartbeats went unanswered (is the store \
     away, or does the handler hold a transaction of its own open on the store's SQLite file?)";

/// How a heart gets its store, and whom to tell whether it answers.
pub(crate) type Opening =
    Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = Result<(Arc<dyn Store>, Arc<Outage>), StoreError>> + Send>> + Send>;

/// The leases of a face.
pub trait Leases: 'static {
    /// What names a lease, no two at once alike.
    type Key: Clone + Debug + Ord + Hash + Send + Sync + 'static;
    /// What is worked on under a lease, if it is more than one thing.
    type Part: Clone + Debug + Ord + Hash + Send + Sync + 'static;

    /// Renews leases, each answered on its own: what an operator wants cancelled under it, or why it is lost.
    fn beat(
        store: Arc<dyn Store>,
        owner: String,
        keys: Vec<Self::Key>,
    ) -> impl Future<Output = Result<Vec<Fenced<Vec<Self::Part>>>, StoreError>> + Send;
}

enum Word<L: Leases> {
    Granted { key: L::Key, span: Span, asked_at: Moment, parts: Vec<(L::Part, Arc<Hold>)> },
    Ended { key: L::Key, part: L::Part },
}

/// A beating heart. It stops when this is dropped, and its thread is not waited for: a store that does not answer must
/// not hold up whoever drops this.
pub(crate) struct Heart<L: Leases> {
    words: UnboundedSender<Word<L>>,
    around: Surroundings,
}

impl<L: Leases> Heart<L> {
    /// Starts beating for `owner`, once the store it was given is open.
    pub(crate) async fn start(
        around: Surroundings,
        owner: String,
        opening: Opening,
        points: Option<Arc<Points>>,
    ) -> Result<Heart<L>, StoreError> {
        let (words, heard) = unbounded_channel();
        let (opened, is_open) = oneshot::channel();
        around
            .apart("tenure-heart", Box::pin(live::<L>(around.clone(), owner, opening, points, heard, opened)))
            .map_err(|error| StoreError::unavailable(format!("cannot start a thread for heartbeats: {error}")))?;
        is_open.await.unwrap_or_else(|_| Err(StoreError::broken("the thread for heartbeats ended at once")))?;
        Ok(Heart { words, around })
    }

    /// A lease was granted, asked for at `asked_at`, over these parts.
    pub(crate) fn granted(&self, key: L::Key, span: Span, asked_at: Moment, parts: Vec<(L::Part, Arc<Hold>)>) {
        // It only stops listening when this is dropped.
        let _ = self.words.send(Word::Granted { key, span, asked_at, parts });
    }

    /// A part under a lease has ended.
    pub(crate) fn ended(&self, key: L::Key, part: L::Part) {
        let _ = self.words.send(Word::Ended { key, part });
    }
}

impl<L: Leases<Part = ()>> Heart<L> {
    /// Keeps a lease over one thing, asked for at `asked_at`, until the answer is dropped.
    pub(crate) fn keep(self: &Arc<Self>, key: L::Key, span: Span, asked_at: Moment) -> Kept<L> {
        let hold = hold(asked_at, span, self.around.clone());
        self.granted(key.clone(), span, asked_at, vec![((), hold.clone())]);
        Kept { hold, heart: self.clone(), key }
    }
}

/// A lease that is kept as long as this lives.
pub(crate) struct Kept<L: Leases<Part = ()>> {
    pub(crate) hold: Arc<Hold>,
    heart: Arc<Heart<L>>,
    key: L::Key,
}

impl<L: Leases<Part = ()>> Drop for Kept<L> {
    fn drop(&mut self) {
        self.heart.ended(self.key.clone(), ());
    }
}

/// The right to something under a lease asked for at `asked_at`.
pub(crate) fn hold(asked_at: Moment, span: Span, around: Surroundings) -> Arc<Hold> {
    Arc::new(Hold::new(safe_until(asked_at, span), around))
}

async fn live<L: Leases>(
    around: Surroundings,
    owner: String,
    opening: Opening,
    points: Option<Arc<Points>>,
    mut heard: UnboundedReceiver<Word<L>>,
    opened: oneshot::Sender<Result<(), StoreError>>,
) {
    let (store, outage) = match opening().await {
        Ok(opened) => opened,
        Err(error) => {
            let _ = opened.send(Err(error));
            return;
        }
    };
    let _ = opened.send(Ok(()));
    let mut beating = Beating::<L> { around, owner, store, outage, pulse: Pulse::default(), holds: HashMap::new() };
    beating.run(&mut heard, points.as_deref()).await;
}

struct Beating<L: Leases> {
    around: Surroundings,
    owner: String,
    store: Arc<dyn Store>,
    outage: Arc<Outage>,
    pulse: Pulse<L::Key>,
    holds: HashMap<L::Key, HashMap<L::Part, Arc<Hold>>>,
}

/// The answer to some heartbeats that were sent together.
struct Answer<L: Leases> {
    keys: Vec<L::Key>,
    sent_at: Moment,
    answers: Result<Vec<Fenced<Vec<L::Part>>>, StoreError>,
}

impl<L: Leases> Beating<L> {
    async fn run(&mut self, heard: &mut UnboundedReceiver<Word<L>>, points: Option<&Points>) {
        let mut sent = FuturesUnordered::new();
        loop {
            if let Some(points) = points {
                points.living().await;
            }
            let now = self.around.now();
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
                for order in self.pulse.step(event, self.around.now()) {
                    match order {
                        Order::Beat(keys) => sent.push(self.beat(keys)),
                        Order::Renewed(key, until) => self.each(&key, |hold| hold.renew(until)),
                        Order::Ending(key) => self.each(&key, |hold| hold.tell(Cancelled::LeaseEnding)),
                        Order::Lost(key, reason) => self.lost(&key, reason),
                    }
                }
            }
        }
    }

    fn beat(&self, keys: Vec<L::Key>) -> impl Future<Output = Answer<L>> + Send + use<L> {
        let (sent_at, outage) = (self.around.now(), self.outage.clone());
        let beats = L::beat(self.store.clone(), self.owner.clone(), keys.clone());
        async move { Answer { keys, sent_at, answers: outage.watch("heartbeats", beats).await } }
    }

    fn hear(&mut self, word: Word<L>) -> Vec<Event<L::Key>> {
        match word {
            Word::Granted { key, span, asked_at, parts } => {
                let event = Event::Granted { key: key.clone(), span, asked_at, parts: parts.len() };
                self.holds.insert(key, parts.into_iter().collect());
                vec![event]
            }
            Word::Ended { key, part } => {
                let Some(holds) = self.holds.get_mut(&key) else { return Vec::new() };
                let known = holds.remove(&part).is_some();
                if holds.is_empty() {
                    self.holds.remove(&key);
                }
                if known { vec![Event::Ended { key }] } else { Vec::new() }
            }
        }
    }

    fn answered(&mut self, answer: Answer<L>) -> Vec<Event<L::Key>> {
        let Answer { keys, sent_at, answers } = answer;
        let answers = match answers {
            Ok(answers) => answers,
            Err(_) => return keys.into_iter().map(|key| Event::Unanswered { key }).collect(),
        };
        let judged = keys.into_iter().zip(answers).map(|(key, answer)| match answer {
            Ok(cancelled) => {
                for part in cancelled {
                    self.hold(&key, &part).into_iter().for_each(|hold| hold.tell(Cancelled::Operator));
                }
                Event::Beaten { key, sent_at }
            }
            Err(reason) => Event::Refused { key, reason },
        });
        judged.collect()
    }

    fn hold(&self, key: &L::Key, part: &L::Part) -> Option<&Arc<Hold>> {
        self.holds.get(key)?.get(part)
    }

    fn lost(&mut self, key: &L::Key, reason: LostReason) {
        self.each(key, |hold| hold.tell(Cancelled::LeaseLost(reason)));
        self.holds.remove(key);
    }

    fn each(&self, key: &L::Key, tell: impl Fn(&Hold)) {
        self.holds.get(key).into_iter().flat_map(HashMap::values).for_each(|hold| tell(hold));
    }
}
