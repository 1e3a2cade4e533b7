//! From how a program ended to what becomes of its job. The table is fixed:
//!
//! | the program | the job |
//! | --- | --- |
//! | exit code 0 | completed; its standard output is the result |
//! | exit code 65 (`EX_DATAERR`) | failed for good |
//! | exit code 75 (`EX_TEMPFAIL`) | put off for `--snooze`; the attempt is not counted |
//! | any other exit code, or a signal | tried again by the job's backoff while it has attempts |

use super::capture::Capture;
use crate::keeper::Ended;
use rustix::process::Signal;
use serde_json::json;
use std::time::Duration;
use tenure::{Act, Cancelled, Context, Ending, Outcome, Outcomes, Report};

const FAILED_FOR_GOOD: i32 = 65;
const LATER: i32 = 75;

/// Characters of standard error that are kept with a failed attempt; a store keeps 8 KiB of an error.
const ERROR_CHARS: usize = 2_000;

/// What becomes of the job.
pub(super) fn outcome(
    cx: &Context,
    ended: Ended,
    stopped: Option<Cancelled>,
    (out, err): (&Capture, &Capture),
    snooze: Duration,
) -> Outcome<Option<String>> {
    match (ended, stopped) {
        // Done is done, whoever asked it to stop meanwhile.
        (Ended::Exited(0), _) => Ok(result(cx, out)),
        // An attempt whose lease could not be kept counts (L6).
        (Ended::Overdue, _) => Outcome::retry(error(&how(ended), err)),
        (ended, Some(Cancelled::Operator)) => Outcome::cancel(error(&how(ended), err)),
        (ended, Some(Cancelled::TimedOut)) => Outcome::retry(error(&how(ended), err)),
        // Not its fault: somebody else goes on.
        (_, Some(_)) => Outcome::release(),
        (Ended::Exited(FAILED_FOR_GOOD), None) => Outcome::fail(error(&how(ended), err)),
        (Ended::Exited(LATER), None) => Outcome::snooze(snooze),
        (ended, None) => Outcome::retry(error(&how(ended), err)),
    }
}

/// Standard output as JSON: as it is, if it is JSON that a store takes; else under `stdout`.
fn result(cx: &Context, out: &Capture) -> Option<String> {
    if out.bytes() == 0 {
        return None;
    }
    let text = out.text();
    let taken = |json: &str| {
        let act = Act::Complete { result: Some(json.to_owned()) };
        Ending { job: cx.id(), owner: cx.owner().to_owned(), token: cx.token(), act }.check().is_ok()
    };
    if out.whole() && taken(text.trim()) {
        return Some(text.trim().to_owned());
    }
    let kept = if out.whole() { json!({"stdout": text}) } else { json!({"stdout": text, "bytes": out.bytes()}) };
    Some(kept.to_string())
}

fn how(ended: Ended) -> String {
    match ended {
        Ended::Exited(code) => format!("exit code {code}"),
        Ended::Signalled(number) => match Signal::from_named_raw(number).and_then(name) {
            Some(name) => format!("killed by {name}"),
            None => format!("killed by signal {number}"),
        },
        Ended::Overdue => "killed because its lease was not renewed".to_owned(),
    }
}

fn name(signal: Signal) -> Option<&'static str> {
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU (processor time used up)"),
        (Signal::XFSZ, "SIGXFSZ (file too large)"),
        (Signal::SYS, "SIGSYS"),
    ];
    names.into_iter().find(|(known, _)| *known == signal).map(|(_, name)| name)
}

/// How it ended, the last line of standard error, which tells most, and then the end of it all.
fn error(how: &str, err: &Capture) -> String {
    let text = err.text();
    let text = text.trim();
    let start = text.char_indices().rev().nth(ERROR_CHARS - 1).map_or(0, |(at, _)| at);
    let tail = &text[start..];
    match tail.rsplit_once('\n') {
        None if tail.is_empty() => how.to_owned(),
        None => format!("{how}: {tail}"),
        Some((_, last)) => format!("{how}: {last}\n\n{}{tail}", if start > 0 { "… " } else { "" }),
    }
}

/// What a worker did, in words.
pub(super) fn summary(report: &Report) -> String {
    let Report { completed, skipped, split, failed, retried, snoozed, released, refused } = *report;
    let mut said = format!("{completed} completed, {failed} failed");
    let rest = [
        (skipped, "of them done before"),
        (split, "split"),
        (retried, "to be tried again"),
        (snoozed, "put off"),
        (released, "given back"),
        (refused, "refused because the lease was lost"),
    ];
    for (count, what) in rest.into_iter().filter(|(count, _)| *count > 0) {
        said.push_str(&format!(", {count} {what}"));
    }
    said
}
