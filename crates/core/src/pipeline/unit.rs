//! Units: the stages of a run, and the segments of those that were split.

use super::UnitKey;
use super::graph::Definition;
use crate::id::id;
use crate::lease::Lease;
use crate::lease::{Pulse, Token};
use crate::retry::Backoff;
use crate::time::Time;
use crate::words::words;

id! {
    /// A run's number, drawn by the store from a growing counter. Callers see it as an opaque string.
    RunId
}

words! {
    /// Where a stage or a segment stands (P1).
    Status {
        /// Waits for its prerequisites, or for its segments.
        New = "NEW",
        /// Can be claimed.
        Ready = "READY",
        /// Held under a lease.
        Running = "RUNNING",
        /// Finished well.
        Done = "DONE",
        /// Went wrong; for good if it has a [`Reason`], otherwise it is tried again.
        Error = "ERROR",
    }
}

impl Status {
    /// Whether anybody may move a unit from here to `next` (P2). The triggers of the databases hold the same list.
    #[must_use]
    pub fn may_become(self, next: Status) -> bool {
        use Status::{Done, Error, New, Ready, Running};
        match self {
            New => matches!(next, Ready | Error),
            Ready => matches!(next, Running | Error),
            Running => matches!(next, Done | Error | Ready | New),
            Error => matches!(next, Ready | New),
            Done => matches!(next, Ready | New),
        }
    }
}

words! {
    /// Where a run stands (P1).
    RunStatus {
        /// Something can still move.
        Running = "RUNNING",
        /// All its stages are `DONE`.
        Done = "DONE",
        /// A stage is finally `ERROR` and nothing else can move.
        Error = "ERROR",
    }
}

impl RunStatus {
    /// Whether nothing but an operator moves the run again (L9).
    #[must_use]
    pub fn terminal(self) -> bool {
        self != RunStatus::Running
    }
}

words! {
    /// Why a unit is finally `ERROR`.
    Reason {
        /// Its handler said that retrying is useless.
        Failed = "failed",
        /// Its last attempt failed.
        AttemptsSpent = "attempts_spent",
        /// Its last attempt took its worker down, or outlived its lease.
        CrashLimit = "crash_limit",
        /// An operator cancelled the run, or the handler found it no longer wanted.
        Cancelled = "cancelled",
        /// One of its segments is finally `ERROR`.
        SegmentFailed = "segment_failed",
    }
}

words! {
    /// The verbs that end a claim of a unit.
    Verb {
        /// Done.
        Complete = "complete",
        /// Went wrong.
        Fail = "fail",
        /// Back, without counting the attempt.
        Release = "release",
        /// Cut into segments, which others work on.
        Split = "split",
    }
}

words! {
    /// How an attempt at a unit ended.
    Outcome {
        /// The holder completed it.
        Completed = "completed",
        /// The holder failed it, for good.
        Failed = "failed",
        /// The holder failed it; it is tried again.
        Retried = "retried",
        /// The holder gave it back, without counting the attempt.
        Released = "released",
        /// The holder split it.
        Split = "split",
        /// Its lease ran out.
        Expired = "expired",
        /// An operator cancelled the run.
        Cancelled = "cancelled",
    }
}

/// A file that a unit made (P7).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Artifact {
    /// Where it is, below the root of the artifact store.
    pub path: String,
    /// Its bytes.
    pub size: u64,
    /// Its BLAKE3 hash, in 64 hexadecimal digits.
    pub blake3: String,
}

/// What a unit's holder recorded of its outputs, by a fenced write (P7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The claim under which it was recorded.
    pub token: Token,
    /// The files.
    pub artifacts: Vec<Artifact>,
    /// Set once all outputs are there: only the commit action, if there is one, and the completion are still to come.
    pub sealed: Option<Sealed>,
}

/// The outputs of a unit, complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// BLAKE3 of the input they were made from: with another input they are not the outputs of this unit.
    pub input: String,
    /// What the handler returned, as JSON.
    pub output: Option<String>,
}

impl Record {
    /// One text, as the databases keep it.
    #[must_use]
    pub fn encode(&self) -> String {
        let sealed = self.sealed.as_ref().map_or("-", |sealed| sealed.input.as_str());
        let mut text = format!("1 {} {} {sealed}\n", self.token, self.artifacts.len());
        for Artifact { path, size, blake3 } in &self.artifacts {
            text.push_str(&format!("{size} {blake3} {path}\n"));
        }
        if let Some(output) = self.sealed.as_ref().and_then(|sealed| sealed.output.as_deref()) {
            text.push_str(output);
        }
        text
    }

    /// Reads what [`encode`](Record::encode) wrote.
    #[must_use]
    pub fn decode(text: &str) -> Option<Record> {
        let (head, mut rest) = text.split_once('\n')?;
        let [_, token, count, sealed] = head.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let mut artifacts = Vec::new();
        for _ in 0..count.parse::<usize>().ok()? {
            let (line, after) = rest.split_once('\n')?;
            rest = after;
            let [size, blake3, path] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().ok()?;
            artifacts.push(Artifact { path: path.to_owned(), size: size.parse().ok()?, blake3: blake3.to_owned() });
        }
        let output = Some(rest).filter(|rest| !rest.is_empty()).map(str::to_owned);
        let sealed =
            Some(sealed).filter(|sealed| *sealed != "-").map(|input| Sealed { input: input.to_owned(), output });
        Some(Record { token: Token(token.parse().ok()?), artifacts, sealed })
    }
}

/// A stage of a run, or one of its segments, as its store knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Its number: units are created in the order of their stages, and segments in the order of the split.
    pub id: i64,
    /// The run it belongs to.
    pub run: RunId,
    /// The pipeline of the run.
    pub pipeline: String,
    /// The stage.
    pub stage: String,
    /// The segment; `None` is the stage itself.
    pub segment: Option<String>,
    /// The stages that must be `DONE` before it; none for a segment.
    pub needs: Vec<String>,
    /// Higher is claimed first.
    pub priority: i32,
    /// How long a claim lasts unless it names another span.
    pub lease_ms: u64,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// Its own backoff.
    pub backoff: Option<Backoff>,
    /// Whether its holder may split it.
    pub segmented: bool,
    /// Whether it was split: what is claimed now is its join.
    pub split: bool,
    /// Where it stands.
    pub status: Status,
    /// Why it is finally `ERROR`.
    pub reason: Option<Reason>,
    /// When it is tried again, if it is `ERROR` but not finally.
    pub retry_at: Option<Time>,
    /// Attempts counted so far, the running one included (L6).
    pub attempt: u32,
    /// A segment's own input, as JSON.
    pub input: Option<String>,
    /// What its handler returned, as JSON.
    pub output: Option<String>,
    /// What went wrong last.
    pub error: Option<String>,
    /// What its holder last said about its progress, as JSON.
    pub progress: Option<String>,
    /// What its holder recorded of its outputs.
    pub record: Option<Record>,
    /// The token of its last claim; never taken back (L2).
    pub token: Option<Token>,
    /// The lease it runs under, while it runs.
    pub lease: Option<Lease>,
    /// When it last changed its status.
    pub changed_at: Time,
}

impl Unit {
    /// Whether nothing but an operator moves it out of `ERROR` (P4).
    #[must_use]
    pub fn failed_for_good(&self) -> bool {
        self.status == Status::Error && self.reason.is_some()
    }
}

/// One claim of a unit that has ended: its history, and the receipt that L12 answers from.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The run.
    pub run: RunId,
    /// The stage.
    pub stage: String,
    /// The segment.
    pub segment: Option<String>,
    /// The claim's fencing token.
    pub token: Token,
    /// Who claimed it.
    pub owner: String,
    /// When it was claimed.
    pub claimed_at: Time,
    /// When it ended.
    pub ended_at: Time,
    /// How it ended.
    pub outcome: Outcome,
    /// The holder's own verb, if the holder ended it.
    pub verb: Option<Verb>,
    /// Where it left the unit.
    pub status: Status,
    /// What went wrong.
    pub error: Option<String>,
    /// How its lease was kept.
    pub pulse: Pulse,
}

/// A unit in the hands of its claimer.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClaimedUnit {
    /// The run.
    pub run: RunId,
    /// The pipeline of the run.
    pub pipeline: String,
    /// Under which version it runs; also the version in the paths of its artifacts.
    pub version: u32,
    /// The stage.
    pub stage: String,
    /// The segment; none is the stage itself.
    pub segment: Option<String>,
    /// Whether all segments are `DONE` and their outputs are to be joined.
    pub join: bool,
    /// Whether it may be split.
    pub segmented: bool,
    /// What it works on: the run's input, the output of its only prerequisite, an object of the outputs of several, or
    /// the segment's own.
    #[cfg_attr(feature = "serde", serde(with = "crate::serial::raw"))]
    #[cfg_attr(feature = "schema", schema(value_type = crate::serial::Json))]
    pub input: String,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// The fencing token of this claim.
    pub token: Token,
    /// When the lease runs out, unless renewed.
    pub lease_expires_at: Time,
    /// The span of the lease.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub lease_ms: u64,
    /// What an earlier holder recorded of its outputs.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub record: Option<Record>,
}

impl ClaimedUnit {
    /// What names it.
    #[must_use]
    pub fn key(&self) -> UnitKey {
        UnitKey { run: self.run, stage: self.stage.clone(), segment: self.segment.clone() }
    }
}

/// How many segments of a stage stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Segments))]
pub struct SegmentCounts {
    /// All of them.
    pub all: u64,
    /// Waiting to be claimed.
    pub ready: u64,
    /// Held.
    pub running: u64,
    /// Finished well.
    pub done: u64,
    /// Went wrong, finally or not.
    pub error: u64,
}

impl SegmentCounts {
    /// One more in this state.
    pub fn add(&mut self, status: Status, count: u64) {
        self.all += count;
        match status {
            // A segment is never NEW: it is made READY by the split.
            Status::New | Status::Ready => self.ready += count,
            Status::Running => self.running += count,
            Status::Done => self.done += count,
            Status::Error => self.error += count,
        }
    }
}

/// A stage as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct StageInfo {
    /// The stage itself.
    pub unit: Unit,
    /// Its segments.
    pub segments: SegmentCounts,
}

/// A run of a pipeline.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Run {
    /// Its id; opaque.
    pub id: RunId,
    /// The pipeline.
    pub pipeline: String,
    /// Under which version it runs.
    pub version: u32,
    /// Where it stands: `RUNNING`, `DONE` or `ERROR`.
    pub status: RunStatus,
    /// Whether none of its stages is handed out.
    pub paused: bool,
    /// When it was started.
    pub created_at: Time,
    /// When it was settled.
    pub finished_at: Option<Time>,
    /// The key under which it was started.
    pub key: Option<String>,
    /// What it was started with, as JSON; a list does not show it.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub input: String,
}

/// A version of a pipeline on record.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineInfo {
    /// What it is.
    pub definition: Definition,
    /// When it was first applied.
    pub created_at: Time,
}

/// What a stage works on: the run's input if it has no prerequisites, the output of its only prerequisite, or an object
/// with the output of each by name.
#[must_use]
pub fn compose_input(run_input: &str, needs: &[(String, Option<String>)]) -> String {
    let output = |output: &Option<String>| output.clone().unwrap_or_else(|| "null".to_owned());
    match needs {
        [] => run_input.to_owned(),
        [(_, only)] => output(only),
        many => {
            // Names have no character that JSON would escape.
            let fields: Vec<String> = many.iter().map(|(name, of)| format!("\"{name}\":{}", output(of))).collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p2_the_list_of_transitions_is_complete() {
        let allowed: Vec<String> = Status::ALL
            .iter()
            .flat_map(|from| {
                Status::ALL.iter().filter(|to| from.may_become(**to)).map(move |to| format!("{from}→{to}"))
            })
            .collect();
        let listed = "NEW→READY NEW→ERROR READY→RUNNING READY→ERROR RUNNING→NEW RUNNING→READY RUNNING→DONE \
                      RUNNING→ERROR DONE→NEW DONE→READY ERROR→NEW ERROR→READY";
        assert_eq!(allowed.join(" "), listed);
    }

    #[test]
    fn p7_a_record_is_read_as_it_was_written() {
        let artifact = |path: &str| Artifact { path: path.to_owned(), size: 7, blake3: "ab".repeat(32) };
        let sealed = Sealed { input: "cd".repeat(32), output: Some("{\"a\":\n1}".to_owned()) };
        for sealed in [None, Some(sealed.clone()), Some(Sealed { output: None, ..sealed })] {
            for artifacts in [vec![], vec![artifact("1/a/v1/x"), artifact("1/a/v1/y z")]] {
                let record = Record { token: Token(5), artifacts, sealed: sealed.clone() };
                assert_eq!(Record::decode(&record.encode()), Some(record));
            }
        }
        assert_eq!(Record::decode("1 2 3"), None);
    }

    #[test]
    fn an_input_is_the_runs_the_only_prerequisites_or_an_object() {
        let of = |name: &str, output: Option<&str>| (name.to_owned(), output.map(str::to_owned));
        assert_eq!(compose_input("1", &[]), "1");
        assert_eq!(compose_input("1", &[of("a", Some("[2]"))]), "[2]");
        assert_eq!(compose_input("1", &[of("a", Some("2")), of("b", None)]), r#"{"a":2,"b":null}"#);
    }
}
