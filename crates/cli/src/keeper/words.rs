//! What a worker and a keeper say to each other: lines of text over a socket.
//!
//! First the worker's charge: a line `charge DEADLINE GRACE_MS PAYLOAD_BYTES LIMIT…` and the payload. Then its orders,
//! and the keeper's words, one line each.

use super::limit::Limits;
use std::io;
use std::time::Duration;
use tenure::Moment;

/// What a keeper is charged with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    /// The program must be gone by then.
    pub(crate) deadline: Moment,
    /// Between SIGTERM and SIGKILL, when the worker is gone.
    pub(crate) grace: Duration,
    pub(crate) limits: Limits,
    pub(crate) payload: Vec<u8>,
}

impl Charge {
    /// As it is sent.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let Charge { deadline, grace, limits, payload } = self;
        let mut bytes =
            format!("charge {} {} {}{limits}\n", nanos(*deadline), grace.as_millis(), payload.len()).into_bytes();
        bytes.extend_from_slice(payload);
        bytes
    }

    /// Reads a charge; `None` while it has not all come.
    pub(super) fn parse(said: &[u8]) -> io::Result<Option<Charge>> {
        let Some(end) = said.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let line = std::str::from_utf8(&said[..end]).map_err(|_| wrong())?;
        let mut words = line.strip_prefix("charge ").ok_or_else(wrong)?.split(' ');
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).ok_or_else(wrong);
        let (deadline, grace, length) = (number()?, number()?, number()?);
        let payload = &said[end + 1..];
        if payload.len() as u64 != length {
            return if (payload.len() as u64) < length { Ok(None) } else { Err(wrong()) };
        }
        Ok(Some(Charge {
            deadline: moment(deadline),
            grace: Duration::from_millis(grace),
            limits: Limits::parse(words).ok_or_else(wrong)?,
            payload: payload.to_vec(),
        }))
    }
}

/// What a worker orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The lease was renewed: the program must be gone by then, not before.
    Renew(Moment),
    /// SIGTERM now, SIGKILL after the grace.
    Stop,
    /// SIGKILL now.
    Kill,
}

impl Order {
    /// As it is sent.
    pub(crate) fn line(self) -> String {
        match self {
            Order::Renew(until) => format!("renew {}\n", nanos(until)),
            Order::Stop => "stop\n".to_owned(),
            Order::Kill => "kill\n".to_owned(),
        }
    }

    pub(super) fn parse(line: &str) -> Option<Order> {
        match line.split_once(' ') {
            None if line == "stop" => Some(Order::Stop),
            None if line == "kill" => Some(Order::Kill),
            Some(("renew", until)) => until.parse().ok().map(moment).map(Order::Renew),
            _ => None,
        }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// By the keeper, because its lease was not renewed in time.
    Overdue,
}

/// What a keeper says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// The program runs, as the leader of this group.
    Started(i32),
    /// The program has ended, and nothing of it is left.
    Ended(Ended),
    /// The program could not be run.
    Failed(String),
}

impl Word {
    pub(super) fn line(&self) -> String {
        match self {
            Word::Started(group) => format!("started {group}\n"),
            Word::Ended(Ended::Exited(code)) => format!("exited {code}\n"),
            Word::Ended(Ended::Signalled(signal)) => format!("signalled {signal}\n"),
            Word::Ended(Ended::Overdue) => "overdue\n".to_owned(),
            Word::Failed(why) => format!("failed {}\n", why.replace('\n', " ")),
        }
    }

    /// Reads a line; `None` for what no keeper says.
    pub(crate) fn parse(line: &str) -> Option<Word> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "started" => rest.parse().ok().map(Word::Started),
            "exited" => rest.parse().ok().map(Ended::Exited).map(Word::Ended),
            "signalled" => rest.parse().ok().map(Ended::Signalled).map(Word::Ended),
            "overdue" => Some(Word::Ended(Ended::Overdue)),
            "failed" => Some(Word::Failed(rest.to_owned())),
            _ => None,
        }
    }
}

fn nanos(moment: Moment) -> u64 {
    u64::try_from(moment.0.as_nanos()).unwrap_or(u64::MAX)
}

fn moment(nanos: u64) -> Moment {
    Moment(Duration::from_nanos(nanos))
}

fn wrong() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "this is no charge for a keeper")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keeper::Limit;

    #[test]
    fn a_charge_is_read_as_it_was_sent_and_not_before_it_has_come() {
        let charge = Charge {
            deadline: moment(123_456_789),
            grace: Duration::from_secs(5),
            limits: Limits::from([(Limit::Cpu, 10), (Limit::Files, 64)]),
            payload: b"{\"a\":\n1}".to_vec(),
        };
        let bytes = charge.bytes();
        for end in 0..bytes.len() {
            assert_eq!(Charge::parse(&bytes[..end]).unwrap(), None, "{end}");
        }
        assert_eq!(Charge::parse(&bytes).unwrap(), Some(charge));
        for wrong in [&b"hello\n"[..], b"charge 1\n", b"charge 1 2 0 bananas=3\n", b"charge 1 2 0\nmore"] {
            assert!(Charge::parse(wrong).is_err());
        }
    }

    #[test]
    fn orders_and_words_are_read_as_they_were_said() {
        for order in [Order::Renew(moment(7)), Order::Stop, Order::Kill] {
            assert_eq!(Order::parse(order.line().trim_end()), Some(order));
        }
        let ended = [Ended::Exited(3), Ended::Signalled(9), Ended::Overdue].map(Word::Ended);
        for word in [Word::Started(12), Word::Failed("no such thing".to_owned())].into_iter().chain(ended) {
            assert_eq!(Word::parse(word.line().trim_end()), Some(word));
        }
        assert_eq!((Order::parse("dance"), Word::parse("dance")), (None, None));
    }
}
