//! What a worker does next, decided without a clock, a store or a thread: `step(what happened) -> what to do`.
//!
//! Always true:
//! - of one domain at most one call is under way, and at most one handler at work;
//! - hints come first: what the store says waits is asked for before anything the source offers later;
//! - an offset the source offered is asked for until the store has it: acquired, waiting, ended, or in other hands;
//! - a domain in which offsets wait behind someone else is looked at again, so that a dead holder does not stop it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tenure_core::domain::{Acquired, Advanced, Answer, DomainInfo, Failed, Refused};
use tenure_core::retry::Backoff;
use tenure_core::{Time, Token};

/// What happened in a domain.
#[derive(Clone, Debug)]
pub(super) enum Happened {
    /// The source has this offset.
    Offered(u64),
    /// An acquire of this offset was answered; `None` if the store did not answer.
    Asked(u64, Option<Answer<Acquired>>),
    /// The handler under this token ended; whether well.
    Worked(Token, bool),
    /// An advance was answered; `None` if the store did not answer.
    Advanced(Option<Answer<Advanced>>),
    /// A fail was answered; `None` if the store did not answer.
    Failed(Option<Answer<Failed>>),
    /// It was looked at, at this instant of the store's clock; `None` if the store did not answer.
    Looked(Option<(Option<DomainInfo>, Time)>),
    /// The rest under this token before the next try is over.
    Rested(Token),
    /// Its wait is over.
    Due,
    /// What was held under this token is no longer ours: a heartbeat was refused, or it was given up.
    Lost(Token),
}

/// What to do in a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Ask for an offset.
    Ask(u64),
    /// Run the handler.
    Work(u64, Token),
    /// Succeed, and go on with what comes next.
    Advance(Token, Option<u64>),
    /// Succeed, and stop there.
    Succeed(Token),
    /// Say that a try failed.
    Fail(Token),
    /// Look how it stands.
    Look,
    /// Rest so many milliseconds before the next try.
    Rest(Token, u64),
    /// Wait so many milliseconds, for the store or for another holder.
    Wait(u64),
}

/// The domains a worker has its hands on.
#[derive(Debug)]
pub(super) struct Desk {
    all: HashMap<Arc<str>, One>,
    /// Under whose name everything is acquired.
    holder: Arc<str>,
    backoff: Backoff,
    look_every_ms: u64,
    /// Nothing more is begun.
    stopping: bool,
}

/// One of them.
#[derive(Debug, Default)]
struct One {
    /// Offsets to ask for, in this order.
    wanted: VecDeque<u64>,
    /// Whether a call is under way.
    calling: bool,
    held: Option<Heldness>,
    /// The offset that was let go while the store may still name us as its holder.
    left: Option<u64>,
    /// Offsets wait here behind someone else.
    watching: bool,
    waiting: bool,
}

/// The offset that is ours.
#[derive(Clone, Copy, Debug)]
struct Heldness {
    offset: u64,
    token: Token,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Working,
    /// The handler ended; this is still to be told.
    Ended {
        well: bool,
    },
    /// A try failed; how long to wait is to be looked up.
    Retrying {
        retry_count: u32,
    },
    /// Waits for its next try.
    Resting,
}

/// Wait for a store that does not answer.
const STORE_AWAY_MS: u64 = 1_000;

impl Desk {
    /// An empty desk.
    pub(super) fn new(holder: Arc<str>, backoff: Backoff, look_every_ms: u64) -> Desk {
        Desk { all: HashMap::new(), holder, backoff, look_every_ms, stopping: false }
    }

    /// From now on nothing more is begun: what is in hand is ended, and nothing is asked for.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
    }

    /// Whether nothing is left to do.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether there is room for one more offset: fewer than `max` domains, and fewer than four times as many offsets
    /// still to be asked for.
    pub(super) fn has_room(&self, max: usize) -> bool {
        self.all.len() < max && self.all.values().map(|one| one.wanted.len()).sum::<usize>() < 4 * max
    }

    /// Whether nothing of ours is under way: no call, no handler. What rests or waits is not.
    pub(super) fn at_rest(&self) -> bool {
        let busy = |one: &One| one.calling || one.held.is_some_and(|held| held.stage == Stage::Working);
        !self.all.values().any(busy)
    }

    /// The token of what is held in a domain.
    pub(super) fn held(&self, domain: &str) -> Option<Token> {
        Some(self.all.get(domain)?.held?.token)
    }

    /// Takes note of what happened in a domain, and says what to do about it.
    pub(super) fn step(&mut self, domain: &Arc<str>, happened: Happened) -> Vec<Action> {
        if let Happened::Offered(_) = happened {
            self.all.entry(domain.clone()).or_default();
        }
        let Some(one) = self.all.get_mut(domain) else { return Vec::new() };
        one.calling &= !happened.is_answer();
        let action = match happened {
            Happened::Looked(Some((info, now))) if one.held.is_some() => one.rest(info.as_ref(), now, self.backoff),
            Happened::Looked(Some((info, _))) => one.looked(info.as_ref(), &self.holder, self.look_every_ms),
            happened => one.note(happened),
        };
        let actions = action.into_iter().chain(one.next_call(self.stopping)).collect();
        if one.idle() {
            self.all.remove(domain);
        }
        actions
    }
}

impl Happened {
    /// Whether a call has come back.
    fn is_answer(&self) -> bool {
        matches!(self, Happened::Asked(..) | Happened::Advanced(_) | Happened::Failed(_) | Happened::Looked(_))
    }
}

impl One {
    /// Takes note of what concerns this domain alone.
    fn note(&mut self, happened: Happened) -> Option<Action> {
        match happened {
            Happened::Offered(offset) => self.wanted.push_back(offset),
            Happened::Asked(offset, None) => {
                self.wanted.push_front(offset);
                return Some(self.wait(STORE_AWAY_MS));
            }
            Happened::Asked(offset, Some(answer)) => return self.asked(offset, answer),
            Happened::Advanced(None) | Happened::Failed(None) | Happened::Looked(_) => {
                return Some(self.wait(STORE_AWAY_MS));
            }
            Happened::Advanced(Some(Ok(advanced))) => {
                self.held = None;
                if let Some((offset, answer)) = advanced.next {
                    if advanced.succeeded.hint().is_none() && self.wanted.front() == Some(&offset) {
                        self.wanted.pop_front();
                    }
                    return self.asked(offset, answer);
                }
            }
            Happened::Failed(Some(Ok(Failed::RetryScheduled { retry_count }))) => {
                if let Some(held) = &mut self.held {
                    held.stage = Stage::Retrying { retry_count };
                }
            }
            Happened::Failed(Some(Ok(failed))) => {
                self.held = None;
                failed.hint().into_iter().for_each(|hint| self.want_first(hint));
            }
            // Whoever took it over goes on from there.
            Happened::Advanced(Some(Err(_))) | Happened::Failed(Some(Err(_))) => {
                (self.held, self.watching) = (None, true);
            }
            Happened::Worked(token, well) => {
                // A handler that was stopped may still end.
                if let Some(held) = self.held_under(token) {
                    held.stage = Stage::Ended { well };
                }
            }
            Happened::Rested(token) => {
                let held = self.held_under(token).filter(|held| held.stage == Stage::Resting)?;
                held.stage = Stage::Working;
                return Some(Action::Work(held.offset, token));
            }
            Happened::Due => self.waiting = false,
            Happened::Lost(token) => {
                let offset = self.held_under(token)?.offset;
                (self.held, self.left, self.watching) = (None, Some(offset), true);
            }
        }
        None
    }

    fn held_under(&mut self, token: Token) -> Option<&mut Heldness> {
        self.held.as_mut().filter(|held| held.token == token)
    }

    fn want_first(&mut self, offset: u64) {
        if self.wanted.front() != Some(&offset) {
            self.wanted.push_front(offset);
        }
    }

    fn wait(&mut self, ms: u64) -> Action {
        self.waiting = true;
        Action::Wait(ms)
    }

    fn asked(&mut self, offset: u64, answer: Answer<Acquired>) -> Option<Action> {
        match answer {
            Ok(Acquired::Acquired { token } | Acquired::AlreadyAcquired { token }) => {
                // Told again what is held already: an offset that the source offered twice.
                if self.held.is_none_or(|held| held.token != token) {
                    self.held = Some(Heldness { offset, token, stage: Stage::Working });
                    (self.left, self.watching) = (None, false);
                    return Some(Action::Work(offset, token));
                }
            }
            Ok(Acquired::Enqueued { expired_offset }) => {
                expired_offset.into_iter().for_each(|expired| self.want_first(expired));
                self.watching |= self.held.is_none();
            }
            // Another holder's, or done: nothing is left to do about it here.
            Ok(Acquired::HeldByOther) => self.watching |= self.held.is_none(),
            Ok(Acquired::AlreadyProcessed | Acquired::AlreadyFailed) => {}
            Err(Refused::BacklogOrdering { expected, got }) => {
                self.want_first(got);
                self.want_first(expected);
            }
            Err(Refused::TokenMismatch | Refused::LeaseNotFound | Refused::LeaseLost(_)) => {}
        }
        None
    }

    /// How long what is held waits for its next try. The age of the offset is the store's: whoever retries it, here or
    /// elsewhere, waits until the same instant.
    fn rest(&mut self, info: Option<&DomainInfo>, now: Time, backoff: Backoff) -> Option<Action> {
        let held = self.held.as_mut()?;
        let Stage::Retrying { retry_count } = held.stage else { return None };
        held.stage = Stage::Resting;
        let acquired_at = info.and_then(|info| info.lease.as_ref()).map_or(now, |lease| lease.acquired_at);
        Some(Action::Rest(held.token, due_in_ms(backoff, acquired_at, retry_count, now)))
    }

    /// What to do about a domain in which nothing is ours. One that was on record and no more, after a failover that lost
    /// it or a restore: nothing waits there.
    fn looked(&mut self, info: Option<&DomainInfo>, us: &Arc<str>, look_every_ms: u64) -> Option<Action> {
        match info.and_then(|info| info.lease.as_ref()) {
            Some(lease) if lease.expired => self.want_first(lease.offset),
            // Acquired by a call of ours whose answer was lost: it is told again.
            Some(lease) if lease.holder.as_ref() == Some(us) && self.left != Some(lease.offset) => {
                self.want_first(lease.offset);
            }
            Some(_) if info.is_some_and(|info| info.backlog_len > 0) => return Some(self.wait(look_every_ms)),
            // What is in flight ends without us, and nothing waits behind it.
            Some(_) => self.watching = false,
            None => match info.and_then(|info| info.backlog_head) {
                Some(head) => self.want_first(head),
                None => self.watching = false,
            },
        }
        None
    }

    /// The next call to the store, if one may be made.
    fn next_call(&mut self, stopping: bool) -> Option<Action> {
        if self.calling || self.waiting {
            return None;
        }
        let action = match self.held.map(|held| (held.stage, held.token)) {
            Some((Stage::Ended { well: true }, token)) if stopping => Action::Succeed(token),
            Some((Stage::Ended { well: true }, token)) => Action::Advance(token, self.wanted.front().copied()),
            Some((Stage::Ended { well: false }, token)) => Action::Fail(token),
            // A try that failed is told; whoever has the offset next waits for its next one.
            _ if stopping => return None,
            Some((Stage::Retrying { .. }, _)) => Action::Look,
            Some((Stage::Working | Stage::Resting, _)) | None => match self.wanted.pop_front() {
                Some(offset) => Action::Ask(offset),
                None if self.held.is_none() && self.watching => Action::Look,
                None => return None,
            },
        };
        self.calling = true;
        Some(action)
    }

    fn idle(&self) -> bool {
        self.wanted.is_empty() && !self.calling && self.held.is_none() && !self.watching && !self.waiting
    }
}

/// How long until the next try of an offset that was first acquired at `acquired_at` and failed `retry_count` times:
/// the waits of `backoff`, one after the other, from its first acquisition, and at least the first of them from now.
/// Computed from what the store keeps, so that it is the same for whoever retries it.
fn due_in_ms(backoff: Backoff, acquired_at: Time, retry_count: u32, now: Time) -> u64 {
    let waits: u64 = (1..=retry_count).map(|n| backoff.delay_ms(n, 0.0)).fold(0, u64::saturating_add);
    acquired_at.plus_ms(waits).ms_since(now).max(backoff.delay_ms(1, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::domain::{LeaseInfo, Settings, Succeeded};

    fn desk() -> Desk {
        Desk::new("us".into(), Backoff::default(), 500)
    }

    fn a() -> Arc<str> {
        "a".into()
    }

    fn step(desk: &mut Desk, happened: Happened) -> Vec<Action> {
        desk.step(&a(), happened)
    }

    fn offered(offset: u64) -> Happened {
        Happened::Offered(offset)
    }

    fn asked(offset: u64, answer: Answer<Acquired>) -> Happened {
        Happened::Asked(offset, Some(answer))
    }

    const T1: Token = Token(1);
    const ACQUIRED: Answer<Acquired> = Ok(Acquired::Acquired { token: T1 });
    const WAITS: Answer<Acquired> = Ok(Acquired::Enqueued { expired_offset: None });

    fn info(lease: Option<LeaseInfo>, head: Option<u64>) -> Option<DomainInfo> {
        Some(DomainInfo {
            name: a(),
            created_at: Time(0),
            settings: Settings::default(),
            lease,
            backlog_len: u64::from(head.is_some()),
            backlog_head: head,
            backlog_oldest_at: None,
        })
    }

    fn lease(offset: u64, expired: bool) -> LeaseInfo {
        LeaseInfo {
            offset,
            holder: None,
            acquired_at: Time(0),
            retry_count: 1,
            takeovers: 0,
            lease_ms: None,
            lease_expires_at: None,
            expired,
        }
    }

    #[test]
    fn an_offset_is_asked_for_worked_on_and_told() {
        let mut desk = desk();
        assert_eq!(step(&mut desk, offered(1)), [Action::Ask(1)]);
        assert_eq!(step(&mut desk, asked(1, ACQUIRED)), [Action::Work(1, T1)]);
        let done = Happened::Worked(T1, true);
        assert_eq!(step(&mut desk, done), [Action::Advance(T1, None)]);
        let advanced = Advanced { succeeded: Succeeded::NoBacklog, next: None };
        assert_eq!(step(&mut desk, Happened::Advanced(Some(Ok(advanced)))), []);
        assert!(desk.is_empty());
    }

    #[test]
    fn one_call_at_a_time_and_later_offers_wait_in_the_store() {
        let mut desk = desk();
        step(&mut desk, offered(1));
        assert_eq!(step(&mut desk, offered(2)), [], "a call is under way");
        assert_eq!(step(&mut desk, asked(1, ACQUIRED)), [Action::Work(1, T1), Action::Ask(2)]);
        assert_eq!(step(&mut desk, asked(2, WAITS)), [], "it waits behind our own");
        assert_eq!(desk.held(&a()), Some(T1));
    }

    #[test]
    fn a_hint_goes_before_what_is_offered() {
        let mut desk = desk();
        step(&mut desk, offered(1));
        step(&mut desk, asked(1, ACQUIRED));
        step(&mut desk, Happened::Worked(T1, false));
        step(&mut desk, offered(9));
        let gave_up = Happened::Failed(Some(Ok(Failed::GiveUpNextHint { offset: 2 })));
        assert_eq!(step(&mut desk, gave_up), [Action::Ask(2)]);
        assert_eq!(step(&mut desk, asked(2, ACQUIRED)), [Action::Work(2, T1), Action::Ask(9)]);
    }

    #[test]
    fn out_of_order_is_mended_by_asking_for_the_head_first() {
        let mut desk = desk();
        step(&mut desk, offered(3));
        let refused = Err(Refused::BacklogOrdering { expected: 2, got: 3 });
        assert_eq!(step(&mut desk, asked(3, refused)), [Action::Ask(2)]);
        assert_eq!(step(&mut desk, asked(2, ACQUIRED)), [Action::Work(2, T1), Action::Ask(3)]);
    }

    #[test]
    fn d4_an_expired_offset_is_taken_over() {
        let mut desk = desk();
        step(&mut desk, offered(5));
        let behind = Ok(Acquired::Enqueued { expired_offset: Some(4) });
        assert_eq!(step(&mut desk, asked(5, behind)), [Action::Ask(4)]);
        assert_eq!(step(&mut desk, asked(4, ACQUIRED)), [Action::Work(4, T1)]);
    }

    #[test]
    fn a_failed_try_rests_from_the_age_the_store_knows() {
        let mut desk = desk();
        step(&mut desk, offered(1));
        step(&mut desk, asked(1, ACQUIRED));
        let failed = Happened::Worked(T1, false);
        assert_eq!(step(&mut desk, failed), [Action::Fail(T1)]);
        let retry = Happened::Failed(Some(Ok(Failed::RetryScheduled { retry_count: 2 })));
        assert_eq!(step(&mut desk, retry), [Action::Look]);
        let seen = Some((info(Some(lease(1, false)), None), Time(500_000)));
        // 1 s and 2 s from the first acquisition, half a second of which has passed.
        assert_eq!(step(&mut desk, Happened::Looked(seen)), [Action::Rest(T1, 2_500)]);
        assert_eq!(step(&mut desk, offered(2)), [Action::Ask(2)], "others are still put into the backlog");
        assert_eq!(step(&mut desk, asked(2, WAITS)), []);
        assert_eq!(step(&mut desk, Happened::Rested(T1)), [Action::Work(1, T1)]);
    }

    #[test]
    fn v7_a_domain_behind_someone_else_is_looked_at_until_it_moves() {
        let mut desk = desk();
        step(&mut desk, offered(2));
        assert_eq!(step(&mut desk, asked(2, WAITS)), [Action::Look]);
        let busy = Some((info(Some(lease(1, false)), Some(2)), Time(0)));
        assert_eq!(step(&mut desk, Happened::Looked(busy)), [Action::Wait(500)]);
        assert_eq!(step(&mut desk, Happened::Due), [Action::Look]);
        let expired = Some((info(Some(lease(1, true)), Some(2)), Time(0)));
        assert_eq!(step(&mut desk, Happened::Looked(expired)), [Action::Ask(1)]);
        step(&mut desk, asked(1, Ok(Acquired::HeldByOther)));
        let hinted = Some((info(None, Some(2)), Time(0)));
        assert_eq!(step(&mut desk, Happened::Looked(hinted)), [Action::Ask(2)]);
        step(&mut desk, asked(2, Ok(Acquired::AlreadyProcessed)));
        step(&mut desk, Happened::Looked(Some((info(None, None), Time(0)))));
        assert!(desk.is_empty());
    }

    #[test]
    fn once_a_lease_is_lost_the_end_of_its_handler_means_nothing() {
        let mut desk = desk();
        step(&mut desk, offered(1));
        step(&mut desk, asked(1, ACQUIRED));
        assert_eq!(step(&mut desk, Happened::Lost(T1)), [Action::Look]);
        assert_eq!(step(&mut desk, Happened::Worked(T1, true)), []);
    }

    #[test]
    fn a_store_that_does_not_answer_is_asked_again() {
        let mut desk = desk();
        step(&mut desk, offered(1));
        let away = Happened::Asked(1, None);
        assert_eq!(step(&mut desk, away), [Action::Wait(STORE_AWAY_MS)]);
        assert_eq!(step(&mut desk, Happened::Due), [Action::Ask(1)]);
        // What was told before the answer was lost is told again, and found to be ours.
        let already = Ok(Acquired::AlreadyAcquired { token: T1 });
        assert_eq!(step(&mut desk, asked(1, already)), [Action::Work(1, T1)]);
    }

    #[test]
    fn d3_what_an_advance_acquired_whose_answer_was_lost_is_found_again() {
        let mut desk = desk();
        step(&mut desk, offered(1));
        step(&mut desk, asked(1, ACQUIRED));
        step(&mut desk, Happened::Worked(T1, true));
        assert_eq!(step(&mut desk, Happened::Advanced(None)), [Action::Wait(STORE_AWAY_MS)]);
        assert_eq!(step(&mut desk, Happened::Due), [Action::Advance(T1, None)]);
        // The first call succeeded 1 and acquired 2, behind which nothing waits.
        let refused = Happened::Advanced(Some(Err(Refused::TokenMismatch)));
        assert_eq!(step(&mut desk, refused), [Action::Look]);
        let ours = LeaseInfo { holder: Some("us".into()), ..lease(2, false) };
        let seen = Some((info(Some(ours), None), Time(0)));
        assert_eq!(step(&mut desk, Happened::Looked(seen)), [Action::Ask(2)]);
        let already = Ok(Acquired::AlreadyAcquired { token: Token(2) });
        assert_eq!(step(&mut desk, asked(2, already)), [Action::Work(2, Token(2))]);
    }

    #[test]
    fn a_lease_that_was_let_go_is_not_taken_up_again_before_it_ran_out() {
        let mut desk = desk();
        step(&mut desk, offered(1));
        step(&mut desk, asked(1, ACQUIRED));
        assert_eq!(step(&mut desk, Happened::Lost(T1)), [Action::Look]);
        let ours = |expired| LeaseInfo { holder: Some("us".into()), ..lease(1, expired) };
        let held = Some((info(Some(ours(false)), Some(2)), Time(0)));
        assert_eq!(step(&mut desk, Happened::Looked(held)), [Action::Wait(500)], "its handler may still run");
        assert_eq!(step(&mut desk, Happened::Due), [Action::Look]);
        let expired = Some((info(Some(ours(true)), Some(2)), Time(0)));
        assert_eq!(step(&mut desk, Happened::Looked(expired)), [Action::Ask(1)]);
    }

    #[test]
    fn a_desk_that_stops_ends_what_it_has_and_asks_for_nothing() {
        let mut desk = desk();
        step(&mut desk, offered(1));
        step(&mut desk, asked(1, ACQUIRED));
        desk.stop();
        assert_eq!(step(&mut desk, offered(2)), []);
        assert!(!desk.at_rest());
        let done = Happened::Worked(T1, true);
        assert_eq!(step(&mut desk, done), [Action::Succeed(T1)]);
        let advanced = Advanced { succeeded: Succeeded::NextHint { offset: 5 }, next: None };
        assert_eq!(step(&mut desk, Happened::Advanced(Some(Ok(advanced)))), []);
        assert!(desk.at_rest());
    }

    #[test]
    fn d2_the_next_try_is_never_sooner_than_the_first_wait() {
        assert_eq!(due_in_ms(Backoff::default(), Time(0), 1, Time(3_600_000_000)), 1_000);
        assert_eq!(due_in_ms(Backoff::default(), Time(0), 3, Time(0)), 7_000);
    }
}
