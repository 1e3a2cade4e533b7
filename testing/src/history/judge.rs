//! The judge: which promises a history breaks.

use super::{Act, Answer, Call, End, Found};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A unit whose adding, or whose ending, was acknowledged is not there.
    Lost {
        /// Which.
        unit: String,
    },
    /// A unit is there twice, or nobody ever added it.
    Invented {
        /// Which.
        unit: String,
    },
    /// Endings were accepted under several tokens, or another than the accepted one counts, or one that was refused.
    FinishedTwice {
        /// Which.
        unit: String,
        /// The tokens under which it ended.
        tokens: Vec<i64>,
    },
    /// Two held one unit at once.
    HeldTwice {
        /// Which.
        unit: String,
    },
    /// More units of a limit were held at once than it allows.
    LimitExceeded {
        /// Which limit.
        limit: String,
        /// How many it allows.
        most: usize,
        /// How many were held.
        held: usize,
    },
    /// A unit began before one had ended that comes first in its lane, or that one began again after it.
    OrderBroken {
        /// The lane.
        lane: String,
        /// What comes first.
        first: String,
        /// What did not wait for it.
        second: String,
    },
    /// One token was given out for one unit twice.
    TokenRepeated {
        /// The unit.
        unit: String,
        /// The token.
        token: i64,
    },
    /// A smaller token came after a larger one.
    TokenWentDown {
        /// The unit.
        unit: String,
        /// The token that came first.
        before: i64,
        /// And the one after it.
        after: i64,
    },
    /// A unit that was added has not ended, though all the time was given that it needs.
    Stuck {
        /// Which.
        unit: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Lost { unit } => write!(f, "lost: {unit}"),
            Fault::Invented { unit } => write!(f, "there twice, or added by nobody: {unit}"),
            Fault::FinishedTwice { unit, tokens } => write!(f, "finished twice: {unit}, under {tokens:?}"),
            Fault::HeldTwice { unit } => write!(f, "held by two at once: {unit}"),
            Fault::LimitExceeded { limit, most, held } => {
                write!(f, "{held} held at once of {limit}, which allows {most}")
            }
            Fault::OrderBroken { lane, first, second } => write!(f, "order of {lane} broken: {second} before {first}"),
            Fault::TokenRepeated { unit, token } => write!(f, "token {token} of {unit} was given out twice"),
            Fault::TokenWentDown { unit, before, after } => {
                write!(f, "token of {unit} went down: {before}, then {after}")
            }
            Fault::Stuck { unit } => write!(f, "stuck: {unit}"),
        }
    }
}

/// All that a history and the store after it show to be broken, in an order of its own. `limits` are the most that may be
/// held at once of each.
pub fn judge(calls: &[Call], found: &[Found], limits: &BTreeMap<String, usize>) -> Vec<Fault> {
    let units = Units::of(calls);
    let mut faults = Vec::new();
    kept(&units, found, &mut faults);
    tokens(&units, &mut faults);
    lanes(&units, &mut faults);
    within_limits(&units, limits, &mut faults);
    faults.sort();
    faults.dedup();
    faults
}

/// The calls, unit by unit.
#[derive(Default)]
struct Units<'a>(BTreeMap<&'a str, Unit<'a>>);

#[derive(Default)]
struct Unit<'a> {
    /// When it was first asked for, and when that was acknowledged; endless if never.
    added: Option<(u64, u64)>,
    lane: Option<&'a str>,
    limits: &'a [String],
    holds: Vec<Held>,
    /// Endings for good.
    finishes: Vec<Finished>,
}

struct Held {
    token: i64,
    from: u64,
    /// `None`: nobody knows until when.
    until: Option<u64>,
}

struct Finished {
    token: i64,
    asked: u64,
    answer: Option<Answer>,
}

impl<'a> Units<'a> {
    fn of(calls: &'a [Call]) -> Units<'a> {
        let mut units = Units::default();
        for call in calls {
            let answer = call.answered.map(|(_, answer)| answer);
            match &call.act {
                Act::Add { unit, lane, limits } => {
                    if answer == Some(Answer::Refused) {
                        continue;
                    }
                    let known = units.0.entry(unit).or_default();
                    let done = call.answered.map_or(u64::MAX, |(at, _)| at);
                    let (asked, before) = known.added.unwrap_or((call.asked, u64::MAX));
                    known.added = Some((asked.min(call.asked), before.min(done)));
                    (known.lane, known.limits) = (lane.as_deref(), limits);
                }
                Act::Hold { unit, token } => {
                    let until = call.answered.map(|(at, _)| at);
                    units.0.entry(unit).or_default().holds.push(Held { token: *token, from: call.asked, until });
                }
                Act::Finish { unit, token, last: true } => {
                    let finished = Finished { token: *token, asked: call.asked, answer };
                    units.0.entry(unit).or_default().finishes.push(finished);
                }
                Act::Finish { last: false, .. } => {}
            }
        }
        for unit in units.0.values_mut() {
            unit.holds.sort_by_key(|held| held.from);
        }
        units
    }
}

impl Unit<'_> {
    fn acknowledged(&self) -> bool {
        self.added.is_some_and(|(_, done)| done < u64::MAX)
    }

    /// The tokens under which endings for good were answered so.
    fn ended_under(&self, answer: Answer) -> BTreeSet<i64> {
        self.finishes.iter().filter(|finish| finish.answer == Some(answer)).map(|finish| finish.token).collect()
    }
}

/// Nothing acknowledged is lost, nothing is there that nobody asked for, and each unit ends once.
fn kept(units: &Units<'_>, found: &[Found], faults: &mut Vec<Fault>) {
    let mut there: BTreeMap<&str, &Found> = BTreeMap::new();
    for one in found {
        let added = units.0.get(one.unit.as_str()).is_some_and(|unit| unit.added.is_some());
        if there.insert(&one.unit, one).is_some() || !added {
            faults.push(Fault::Invented { unit: one.unit.clone() });
        }
    }
    for (name, unit) in &units.0 {
        let accepted = unit.ended_under(Answer::Accepted);
        let name = || (*name).to_owned();
        let Some(found) = there.get(name().as_str()) else {
            if unit.acknowledged() || !accepted.is_empty() {
                faults.push(Fault::Lost { unit: name() });
            }
            continue;
        };
        let mut ended: BTreeSet<i64> = accepted.clone();
        let twice = match found.end {
            End::By(by) => {
                ended.insert(by);
                // One that was refused was sent again and accepted, or does not count.
                ended.len() > 1 || unit.ended_under(Answer::Refused).contains(&by) && !accepted.contains(&by)
            }
            End::Otherwise => !accepted.is_empty(),
            End::Untold | End::None => ended.len() > 1,
        };
        if twice {
            faults.push(Fault::FinishedTwice { unit: name(), tokens: ended.into_iter().collect() });
        }
        match found.end {
            End::None if accepted.is_empty() => faults.push(Fault::Stuck { unit: name() }),
            End::None => faults.push(Fault::Lost { unit: name() }),
            End::By(_) | End::Otherwise | End::Untold => {}
        }
    }
}

/// Of one unit: no token twice, none after a larger one, and no two holders at once.
fn tokens(units: &Units<'_>, faults: &mut Vec<Fault>) {
    for (name, unit) in &units.0 {
        let name = || (*name).to_owned();
        let mut seen = BTreeSet::new();
        for (i, held) in unit.holds.iter().enumerate() {
            if !seen.insert(held.token) {
                faults.push(Fault::TokenRepeated { unit: name(), token: held.token });
            }
            for before in &unit.holds[..i] {
                let Some(until) = before.until else { continue };
                if until > held.from {
                    faults.push(Fault::HeldTwice { unit: name() });
                } else if before.token > held.token {
                    let (before, after) = (before.token, held.token);
                    faults.push(Fault::TokenWentDown { unit: name(), before, after });
                }
            }
        }
    }
}

/// A unit of a lane: its name, its calls, when it was asked for and when that was acknowledged.
type Member<'a> = (&'a str, &'a Unit<'a>, (u64, u64));

/// What was added after another was acknowledged waits in their lane until that one has ended.
fn lanes(units: &Units<'_>, faults: &mut Vec<Fault>) {
    let mut lanes: BTreeMap<&str, Vec<Member<'_>>> = BTreeMap::new();
    for (name, unit) in &units.0 {
        if let (Some(lane), Some(added)) = (unit.lane, unit.added) {
            lanes.entry(lane).or_default().push((name, unit, added));
        }
    }
    for (lane, members) in lanes {
        for (first, before, (_, done)) in &members {
            for (second, after, (asked, _)) in &members {
                let Some(begun) = after.holds.first().map(|held| held.from) else { continue };
                if done >= asked {
                    continue;
                }
                let ended =
                    before.finishes.iter().any(|finish| finish.asked < begun && finish.answer != Some(Answer::Refused));
                let again = before.holds.last().is_some_and(|held| held.from > begun);
                if !ended || again {
                    let (first, second) = ((*first).to_owned(), (*second).to_owned());
                    faults.push(Fault::OrderBroken { lane: lane.to_owned(), first, second });
                }
            }
        }
    }
}

/// No more are held at once than each limit allows.
fn within_limits(units: &Units<'_>, limits: &BTreeMap<String, usize>, faults: &mut Vec<Fault>) {
    for (limit, most) in limits {
        let mut steps: Vec<(u64, isize)> = Vec::new();
        for unit in units.0.values().filter(|unit| unit.limits.contains(limit)) {
            for held in &unit.holds {
                // Of one whose end nobody knows it is not known how long it counted.
                let Some(until) = held.until else { continue };
                steps.extend([(held.from, 1), (until, -1)]);
            }
        }
        // At one moment an end comes before a beginning.
        steps.sort_unstable();
        let (mut held, mut worst) = (0isize, 0);
        for (_, step) in steps {
            held += step;
            worst = worst.max(held);
        }
        let worst = usize::try_from(worst).unwrap_or(0);
        if worst > *most {
            faults.push(Fault::LimitExceeded { limit: limit.clone(), most: *most, held: worst });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history, line by line: `add`, `hold` and `stop`, `finish` with what was answered.
    #[derive(Default)]
    struct Told {
        calls: Vec<Call>,
        moment: u64,
        found: Vec<Found>,
    }

    impl Told {
        fn next(&mut self) -> u64 {
            self.moment += 1;
            self.moment
        }

        fn add(mut self, unit: &str) -> Told {
            let act = Act::Add { unit: unit.into(), lane: Some("lane".into()), limits: vec!["w".into()] };
            let (asked, done) = (self.next(), self.next());
            self.calls.push(Call { act, asked, answered: Some((done, Answer::Accepted)) });
            self
        }

        fn hold(mut self, unit: &str, token: i64) -> Told {
            let (act, asked) = (Act::Hold { unit: unit.into(), token }, self.next());
            self.calls.push(Call { act, asked, answered: None });
            self
        }

        fn stop(mut self, of: &str, under: i64) -> Told {
            let moment = self.next();
            let held =
                |call: &&mut Call| call.answered.is_none() && call.act == Act::Hold { unit: of.into(), token: under };
            self.calls.iter_mut().find(held).expect("it is held").answered = Some((moment, Answer::Accepted));
            self
        }

        fn finish(mut self, unit: &str, token: i64, answer: Option<Answer>) -> Told {
            let act = Act::Finish { unit: unit.into(), token, last: true };
            let (asked, done) = (self.next(), self.next());
            self.calls.push(Call { act, asked, answered: answer.map(|answer| (done, answer)) });
            self
        }

        /// Held, stopped and completed.
        fn work(self, unit: &str, token: i64) -> Told {
            self.hold(unit, token).stop(unit, token).finish(unit, token, Some(Answer::Accepted))
        }

        fn found(self, unit: &str, by: Option<i64>) -> Told {
            self.ends(unit, by.map_or(End::None, End::By))
        }

        fn ends(mut self, unit: &str, end: End) -> Told {
            self.found.push(Found { unit: unit.into(), end });
            self
        }

        fn faults(self, most: usize) -> Vec<String> {
            let limits = BTreeMap::from([("w".to_owned(), most)]);
            judge(&self.calls, &self.found, &limits).iter().map(ToString::to_string).collect()
        }
    }

    fn told() -> Told {
        Told::default()
    }

    #[test]
    fn a_good_history_is_found_good() {
        let good = told().add("a").add("b").work("a", 1).work("b", 2).found("a", Some(1)).found("b", Some(2));
        assert!(good.faults(1).is_empty());
        // Taken over, and the stale ending refused.
        let taken = told().add("a").hold("a", 1).stop("a", 1).work("a", 2);
        let taken = taken.finish("a", 1, Some(Answer::Refused)).found("a", Some(2));
        assert!(taken.faults(1).is_empty());
        // Sent again, and answered again (L12).
        let again = told().add("a").work("a", 1).finish("a", 1, Some(Answer::Accepted)).found("a", Some(1));
        assert!(again.faults(1).is_empty());
    }

    #[test]
    fn what_nobody_knows_stays_open() {
        // Added or not, and completed or not.
        let mut open = told().add("a");
        open.calls[0].answered = None;
        assert!(Told { found: Vec::new(), ..open }.faults(1).is_empty());
        let unanswered = || told().add("a").hold("a", 1).stop("a", 1).finish("a", 1, None);
        assert!(unanswered().found("a", Some(1)).faults(1).is_empty());
        assert!(unanswered().work("a", 2).found("a", Some(2)).faults(1).is_empty());
        // A worker that was killed: until when it worked nobody knows.
        assert!(told().add("a").hold("a", 1).work("a", 2).found("a", Some(2)).faults(1).is_empty());
    }

    #[test]
    fn every_planted_fault_is_found_and_nothing_else() {
        let accepted = Some(Answer::Accepted);
        let cases: [(&str, Told); 16] = [
            ("finished twice: a, under [1]", told().add("a").work("a", 1).ends("a", End::Otherwise)),
            ("finished twice: a, under [1, 2]", told().add("a").work("a", 1).work("a", 2).ends("a", End::Untold)),
            ("lost: a", told().add("a")),
            ("lost: a", told().add("a").work("a", 1).found("a", None)),
            ("there twice, or added by nobody: b", told().found("b", Some(1))),
            (
                "there twice, or added by nobody: a",
                told().add("a").work("a", 1).found("a", Some(1)).found("a", Some(1)),
            ),
            ("finished twice: a, under [1, 2]", told().add("a").work("a", 1).work("a", 2).found("a", Some(1))),
            ("finished twice: a, under [1, 2]", told().add("a").work("a", 1).found("a", Some(2))),
            (
                "finished twice: a, under [1]",
                told().add("a").hold("a", 1).stop("a", 1).finish("a", 1, Some(Answer::Refused)).found("a", Some(1)),
            ),
            (
                "held by two at once: a",
                told()
                    .add("a")
                    .hold("a", 1)
                    .hold("a", 2)
                    .stop("a", 2)
                    .stop("a", 1)
                    .finish("a", 2, accepted)
                    .found("a", Some(2)),
            ),
            ("stuck: a", told().add("a").found("a", None)),
            ("stuck: a", told().add("a").hold("a", 1).stop("a", 1).finish("a", 1, None).found("a", None)),
            (
                "token 1 of a was given out twice",
                told().add("a").hold("a", 1).stop("a", 1).work("a", 1).found("a", Some(1)),
            ),
            (
                "token of a went down: 2, then 1",
                told().add("a").hold("a", 2).stop("a", 2).work("a", 1).found("a", Some(1)),
            ),
            (
                "order of lane broken: b before a",
                told().add("a").add("b").work("b", 1).work("a", 2).found("a", Some(2)).found("b", Some(1)),
            ),
            (
                // The first ended without an answer, and was begun again beside the second.
                "order of lane broken: b before a",
                told()
                    .add("a")
                    .add("b")
                    .hold("a", 1)
                    .stop("a", 1)
                    .finish("a", 1, None)
                    .work("b", 2)
                    .work("a", 3)
                    .found("a", Some(3))
                    .found("b", Some(2)),
            ),
        ];
        for (fault, told) in cases {
            assert_eq!(told.faults(2), [fault]);
        }
        let mut beside = told().add("a").add("b").hold("a", 1).hold("b", 2).stop("a", 1).stop("b", 2);
        for call in &mut beside.calls {
            if let Act::Add { lane, .. } = &mut call.act {
                *lane = None;
            }
        }
        let beside = || Told { calls: beside.calls.clone(), moment: beside.moment, found: Vec::new() };
        let ended = |told: Told| told.finish("a", 1, accepted).finish("b", 2, accepted).found("a", Some(1));
        assert_eq!(ended(beside()).found("b", Some(2)).faults(1), ["2 held at once of w, which allows 1"]);
        assert!(ended(beside()).found("b", Some(2)).faults(2).is_empty());
    }
}
