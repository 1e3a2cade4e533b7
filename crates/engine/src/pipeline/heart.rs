//! Keeps the leases of stages, on a thread and a connection of its own (A9, A10), as the queue's heart does for jobs:
//! [`Pulse`] decides when to renew and when to stop, here it is only carried out.

use super::{Beat, UnitKey};
use crate::clock::Moment;
use crate::worker::Opening;
use crate::worker::hold::{Cancelled, Hold};
use crate::worker::pulse::{Event, Order, Pulse};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::Token;
use tenure_store::{Store, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// The longest sleep of the heart. A machine that slept wakes up into one of these, and then reads the clock.
const TICK: Duration = Duration::from_millis(200);

enum Word {
    Granted { token: Token, unit: UnitKey, lease: Duration, asked_at: Moment, hold: Arc<Hold> },
    Ended { token: Token },
}

/// A beating heart. It stops when this is dropped.
#[derive(Debug)]
pub(super) struct Heart {
    words: UnboundedSender<Word>,
}

impl Heart {
    /// Starts beating for `owner`, once the store it was given is open.
    pub(super) async fn start(owner: String, opening: Opening) -> Result<Heart, StoreError> {
        let (words, heard) = unbounded_channel();
        let (opened, is_open) = oneshot::channel();
        std::thread::Builder::new()
            .name("tenure-stages".to_owned())
            .spawn(move || live(owner, opening, heard, opened))
            .map_err(|error| StoreError::unavailable(format!("cannot start a thread for heartbeats: {error}")))?;
        is_open.await.unwrap_or_else(|_| Err(StoreError::broken("the thread for heartbeats ended at once")))?;
        Ok(Heart { words })
    }

    pub(super) fn granted(&self, token: Token, unit: UnitKey, lease: Duration, asked_at: Moment, hold: Arc<Hold>) {
        // It only stops listening when this is dropped.
        let _ = self.words.send(Word::Granted { token, unit, lease, asked_at, hold });
    }

    pub(super) fn ended(&self, token: Token) {
        let _ = self.words.send(Word::Ended { token });
    }
}

fn live(
    owner: String,
    opening: Opening,
    heard: UnboundedReceiver<Word>,
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
        match opening().await {
            Ok(store) => {
                let _ = opened.send(Ok(()));
                beat_on(&owner, &*store, heard).await;
            }
            Err(error) => drop(opened.send(Err(error))),
        }
    });
}

async fn beat_on(owner: &str, store: &dyn Store, mut heard: UnboundedReceiver<Word>) {
    let mut pulse = Pulse::default();
    let mut holds: HashMap<Token, (UnitKey, Arc<Hold>)> = HashMap::new();
    let mut silent = true;
    loop {
        let rest = pulse.next().map_or(TICK, |next| Moment::now().until(next)).min(TICK);
        let mut events = tokio::select! {
            word = heard.recv() => match word {
                None => return,
                Some(Word::Granted { token, unit, lease, asked_at, hold }) => {
                    holds.insert(token, (unit, hold));
                    vec![Event::Granted { token, lease, asked_at, jobs: 1 }]
                }
                Some(Word::Ended { token }) => {
                    if holds.remove(&token).is_some() { vec![Event::Ended { token }] } else { Vec::new() }
                }
            },
            () = tokio::time::sleep(rest) => vec![Event::Tick],
        };
        while let Some(event) = events.pop() {
            for order in pulse.step(event, Moment::now()) {
                match order {
                    Order::Beat(tokens) => events.extend(beat(owner, store, &holds, tokens, &mut silent).await),
                    Order::Renewed(token, until) => tell(&holds, token, |hold| hold.renew(until)),
                    Order::Ending(token) => tell(&holds, token, |hold| hold.tell(Cancelled::LeaseEnding)),
                    Order::Lost(token, reason) => {
                        tell(&holds, token, |hold| hold.tell(Cancelled::LeaseLost(reason)));
                        holds.remove(&token);
                    }
                }
            }
        }
    }
}

fn tell(holds: &HashMap<Token, (UnitKey, Arc<Hold>)>, token: Token, tell: impl Fn(&Hold)) {
    holds.get(&token).into_iter().for_each(|(_, hold)| tell(hold));
}

async fn beat(
    owner: &str,
    store: &dyn Store,
    holds: &HashMap<Token, (UnitKey, Arc<Hold>)>,
    tokens: Vec<Token>,
    silent: &mut bool,
) -> Vec<Event> {
    let sent_at = Moment::now();
    let known: Vec<(Token, &UnitKey)> =
        tokens.into_iter().filter_map(|token| holds.get(&token).map(|(unit, _)| (token, unit))).collect();
    let beats = known.iter().map(|(token, unit)| Beat::new((*unit).clone(), owner, *token)).collect();
    match store.beat_units(beats).await {
        Ok(answers) => {
            *silent = true;
            let judged = known.iter().zip(answers).map(|((token, _), answer)| match answer {
                Ok(_) => Event::Beaten { token: *token, sent_at },
                Err(reason) => Event::Refused { token: *token, reason },
            });
            judged.collect()
        }
        Err(error) => {
            // One line per outage, not one per try.
            if std::mem::take(silent) {
                tracing::warn!(%error, "heartbeats of stages go unanswered");
            }
            known.iter().map(|(token, _)| Event::Unanswered { token: *token }).collect()
        }
    }
}
