//! What can be asked of pipelines, and what is answered.
//!
//! Requests are plain data. `check` refuses what is out of bounds; the library calls it before a backend sees them.

use super::unit::{Artifact, Attempt, ClaimedUnit, Reason, Record, Run, RunId, RunStatus, Status, Verb};
use super::{ARTIFACTS_MAX, Event, SEGMENTS_MAX, STAGES_MAX, VERSION_MAX};
use crate::bounds::{self, Code, Invalid};
use crate::json;
use crate::lease::{LostReason, Token};
use crate::retry::Retry;
use crate::time::Time;
use crate::words::words;
use std::collections::BTreeSet;
use std::fmt;

/// Whether applying a definition made a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It did.
    Created,
    /// This version was on record, with the same graph.
    Same,
}

/// The version is on record with another graph. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken;

/// A run to start.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    /// Of which pipeline.
    pub pipeline: String,
    /// Under which version; `None` is the highest.
    pub version: Option<u32>,
    /// What its first stages work on, as JSON.
    pub input: String,
    /// The same key and input is the same run of this pipeline, as long as it is kept; another input is refused.
    pub key: Option<String>,
}

impl NewRun {
    /// A run of the highest version.
    pub fn new(pipeline: impl Into<String>, input: impl Into<String>) -> NewRun {
        NewRun { pipeline: pipeline.into(), version: None, input: input.into(), key: None }
    }

    /// Started once under this key, however often it is sent.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> NewRun {
        self.key = Some(key.into());
        self
    }

    /// Whether `run`, which holds its key, is what was asked for: the same input as a JSON value (Q7), and the version if
    /// one was named.
    #[must_use]
    pub fn is(&self, run: &Run) -> bool {
        let same = |text: &str| json::canonical("input", text).unwrap_or_else(|_| text.to_owned());
        self.version.is_none_or(|version| version == run.version) && same(&self.input) == same(&run.input)
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::name("pipeline", &self.pipeline)?;
        self.version.map_or(Ok(()), |version| bounds::within("version", version.into(), 1, VERSION_MAX))?;
        self.key.as_deref().map_or(Ok(()), |key| bounds::key("key", key))?;
        json::check("input", &self.input)
    }
}

/// Why a run was not started. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartRefusal {
    /// The pipeline, or that version of it, is not on record.
    Absent,
    /// The key belongs to this run, which was started otherwise.
    KeyTaken(RunId),
}

/// Names a unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitKey {
    /// The run.
    pub run: RunId,
    /// The stage.
    pub stage: String,
    /// The segment; `None` is the stage itself.
    pub segment: Option<String>,
}

impl UnitKey {
    /// A stage of a run.
    pub fn stage(run: RunId, stage: impl Into<String>) -> UnitKey {
        UnitKey { run, stage: stage.into(), segment: None }
    }

    /// A segment of a stage.
    pub fn segment(run: RunId, stage: impl Into<String>, segment: impl Into<String>) -> UnitKey {
        UnitKey { run, stage: stage.into(), segment: Some(segment.into()) }
    }

    fn check(&self) -> Result<(), Invalid> {
        bounds::name("stage", &self.stage)?;
        self.segment.as_deref().map_or(Ok(()), |segment| bounds::name("segment", segment))
    }
}

impl fmt::Display for UnitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.run, self.stage)?;
        self.segment.as_deref().map_or(Ok(()), |segment| write!(f, "/{segment}"))
    }
}

/// Take units that are `READY`.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Of which pipeline, in all its versions.
    pub pipeline: String,
    /// Of which stages.
    pub stages: Vec<String>,
    /// Who claims.
    pub owner: String,
    /// How many at most.
    pub max: u32,
    /// For how long; `None` is the stage's own `lease_ms`.
    pub lease_ms: Option<u64>,
}

impl Claim {
    /// One unit of a stage.
    pub fn new(pipeline: impl Into<String>, stage: impl Into<String>, owner: impl Into<String>) -> Claim {
        Claim { pipeline: pipeline.into(), stages: vec![stage.into()], owner: owner.into(), max: 1, lease_ms: None }
    }

    /// How many units at most.
    #[must_use]
    pub fn max(mut self, max: u32) -> Claim {
        self.max = max;
        self
    }

    /// For how long.
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> Claim {
        self.lease_ms = Some(lease_ms);
        self
    }

    /// Of this stage too.
    #[must_use]
    pub fn also(mut self, stage: impl Into<String>) -> Claim {
        self.stages.push(stage.into());
        self
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::name("pipeline", &self.pipeline)?;
        bounds::within("stages", self.stages.len() as u64, 1, STAGES_MAX)?;
        self.stages.iter().try_for_each(|stage| bounds::name("stage", stage))?;
        bounds::name("worker", &self.owner)?;
        bounds::within("max", self.max.into(), 1, bounds::CLAIM_MAX)?;
        self.lease_ms.map_or(Ok(()), |ms| bounds::within("lease_ms", ms, bounds::LEASE_MS.0, bounds::LEASE_MS.1))
    }
}

/// The answer to a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// The units, by priority and age.
    pub units: Vec<ClaimedUnit>,
}

/// Renews the lease of a unit, and records its outputs (P7).
#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    /// Which unit.
    pub unit: UnitKey,
    /// Who holds it.
    pub owner: String,
    /// Under which token.
    pub token: Token,
    /// Progress to show to people, as JSON.
    pub progress: Option<String>,
    /// The outputs so far, instead of what was recorded before.
    pub record: Option<Record>,
}

impl Beat {
    /// A heartbeat that only renews.
    pub fn new(unit: UnitKey, owner: impl Into<String>, token: Token) -> Beat {
        Beat { unit, owner: owner.into(), token, progress: None, record: None }
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        self.unit.check()?;
        bounds::name("worker", &self.owner)?;
        self.progress.as_deref().map_or(Ok(()), |progress| json::check("progress", progress))?;
        self.record.as_ref().map_or(Ok(()), |record| record.check(&self.unit))
    }
}

/// The answer to an accepted heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beaten {
    /// When the lease runs out now.
    pub lease_expires_at: Time,
}

/// A segment to be made by a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSegment {
    /// Its name, unlike any other of the stage.
    pub name: String,
    /// What it works on, as JSON; `None` is null.
    pub input: Option<String>,
}

impl NewSegment {
    /// A segment with an input.
    pub fn new(name: impl Into<String>, input: impl Into<String>) -> NewSegment {
        NewSegment { name: name.into(), input: Some(input.into()) }
    }
}

/// How a holder ends its claim of a unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Done.
    Complete {
        /// What the handler returned, as JSON.
        output: Option<String>,
        /// Its outputs; `None` keeps those that were recorded under this very claim.
        record: Option<Record>,
    },
    /// Went wrong.
    Fail {
        /// What went wrong.
        error: String,
        /// Whether and when to try again.
        retry: Retry,
    },
    /// Not by this worker.
    Release,
    /// Cut into segments (P6).
    Split {
        /// In this order.
        segments: Vec<NewSegment>,
    },
}

impl Act {
    /// The verb of this act, which a receipt remembers (L12).
    #[must_use]
    pub fn verb(&self) -> Verb {
        match self {
            Act::Complete { .. } => Verb::Complete,
            Act::Fail { .. } => Verb::Fail,
            Act::Release => Verb::Release,
            Act::Split { .. } => Verb::Split,
        }
    }
}

/// An ending write: accepted only from the holder of the current lease (P3).
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Which unit.
    pub unit: UnitKey,
    /// Who holds it.
    pub owner: String,
    /// Under which token.
    pub token: Token,
    /// How it ends.
    pub act: Act,
}

impl Ending {
    /// Refuses what is out of bounds, and cuts an error text to what is kept of it.
    pub fn check(&mut self) -> Result<(), Invalid> {
        self.unit.check()?;
        bounds::name("worker", &self.owner)?;
        match &mut self.act {
            Act::Complete { output, record } => {
                output.as_deref().map_or(Ok(()), |output| json::check("output", output))?;
                record.as_ref().map_or(Ok(()), |record| record.check(&self.unit))
            }
            Act::Fail { error, retry } => {
                *error = bounds::clipped(error);
                match retry {
                    Retry::In { delay_ms } => bounds::within("retry_in_ms", *delay_ms, 0, bounds::SPAN_MS_MAX),
                    Retry::Policy { chance } | Retry::TimedOut { chance } => {
                        bounds::within_f64("chance", *chance, -1.0, 1.0)
                    }
                    Retry::Never | Retry::Cancel => Ok(()),
                }
            }
            Act::Release => Ok(()),
            Act::Split { segments } => check_segments(segments),
        }
    }
}

fn check_segments(segments: &[NewSegment]) -> Result<(), Invalid> {
    bounds::within("segments", segments.len() as u64, 1, SEGMENTS_MAX)?;
    let bytes: usize = segments.iter().map(|one| one.name.len() + one.input.as_deref().map_or(0, str::len)).sum();
    if bytes > bounds::BULK_BYTES_MAX {
        let limit = format!("at most {} bytes in one split", bounds::BULK_BYTES_MAX);
        return Err(Invalid::new(Code::TooLarge, "segments", limit, format!("{bytes} bytes")));
    }
    let mut names = BTreeSet::new();
    for (i, segment) in segments.iter().enumerate() {
        let field = format!("segments[{i}].name");
        bounds::name(&field, &segment.name)?;
        let input = segment.input.as_deref();
        input.map_or(Ok(()), |input| json::check(&format!("segments[{i}].input"), input))?;
        if !names.insert(segment.name.as_str()) {
            return Err(Invalid::new(Code::OutOfBounds, field, "each segment once", &segment.name));
        }
    }
    Ok(())
}

impl Record {
    /// Refuses what is out of bounds, and paths that are another unit's (P7).
    pub fn check(&self, of: &UnitKey) -> Result<(), Invalid> {
        bounds::within("artifacts", self.artifacts.len() as u64, 0, ARTIFACTS_MAX)?;
        let mut paths = BTreeSet::new();
        for (i, artifact) in self.artifacts.iter().enumerate() {
            artifact.check(of).map_err(|refused| refused.within(&format!("artifacts[{i}]")))?;
            if !paths.insert(artifact.path.as_str()) {
                let field = format!("artifacts[{i}].path");
                return Err(Invalid::new(Code::OutOfBounds, field, "each path once", &artifact.path));
            }
        }
        let Some(sealed) = &self.sealed else { return Ok(()) };
        check_hash("sealed.input", &sealed.input)?;
        sealed.output.as_deref().map_or(Ok(()), |output| json::check("sealed.output", output))
    }
}

impl Artifact {
    fn check(&self, of: &UnitKey) -> Result<(), Invalid> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-' | '/' | '=' | '@' | '+');
        let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        let path = &self.path;
        if path.len() > 1_024 || !path.chars().all(allowed) || !path.split('/').all(plain) {
            let limit = "1 to 1,024 of A-Z a-z 0-9 . _ : - = @ + and /, relative, without . and ..";
            return Err(Invalid::new(Code::InvalidName, "path", limit, path));
        }
        bounds::within("size", self.size, 0, 1 << 53)?;
        check_hash("blake3", &self.blake3)?;
        if self.belongs_to(of) {
            return Ok(());
        }
        let segment = of.segment.as_deref().unwrap_or("_");
        let limit = format!("below {}/{}/vVERSION/{segment}/, where this unit's artifacts are", of.run, of.stage);
        Err(Invalid::new(Code::OutOfBounds, "path", limit, path))
    }

    /// Whether its path begins as those of this unit do. Under which version it runs, its key does not tell.
    fn belongs_to(&self, of: &UnitKey) -> bool {
        let mut parts = self.path.splitn(5, '/');
        let mut part = || parts.next().unwrap_or_default();
        let (run, stage, version, segment, name) = (part(), part(), part(), part(), part());
        let version = version.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok());
        run == of.run.to_string()
            && stage == of.stage
            && version
            && segment == of.segment.as_deref().unwrap_or("_")
            && !name.is_empty()
    }
}

fn check_hash(field: &str, hash: &str) -> Result<(), Invalid> {
    if hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Ok(());
    }
    Err(Invalid::new(Code::OutOfBounds, field, "64 lower-case hexadecimal digits of BLAKE3", hash))
}

/// The answer to an accepted ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = UnitEnded))]
pub struct Ended {
    /// Where the unit stood after it: `DONE`, `ERROR`, `READY` (released) or `NEW` (split).
    pub status: Status,
    /// Whether this very write had been accepted before (L12).
    pub already: bool,
}

/// Why an ending was not accepted. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The lease is not held (L3).
    Lost(LostReason),
    /// Only a stage that is declared `segmented` can be split, and no segment.
    NotSegmented,
    /// The stage was split already: this is its join.
    AlreadySplit,
}

/// What one bounded step of the orchestrator did (P5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advanced {
    /// Runs that were looked at.
    pub runs: u32,
    /// Stages that became `READY`.
    pub readied: u32,
    /// Units released to be tried again.
    pub retried: u32,
    /// Runs that ended.
    pub settled: u32,
    /// How long until a unit is due to be tried again. A hint.
    pub again_in_ms: Option<u64>,
}

/// What one bounded step of recovery did (L7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Units that are `READY` again.
    pub returned: u32,
    /// Units that are finally `ERROR`.
    pub failed: u32,
}

/// What an operator may do to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunAction {
    /// Ends it now; holders are told `lease_lost(cancelled)` (S6).
    Cancel {
        /// Why; kept with the event.
        reason: Option<String>,
    },
    /// Tries again what is finally `ERROR`, with its attempts anew.
    Retry,
    /// Does a stage again from the beginning, and what follows from it.
    RetryFrom {
        /// Which stage.
        stage: String,
    },
    /// Does again exactly the units whose artifacts are gone or damaged (P7).
    Repair {
        /// Stages, and segments of them.
        units: Vec<(String, Option<String>)>,
    },
    /// Hands out none of its units.
    Pause,
    /// Hands them out again.
    Resume,
}

impl RunAction {
    /// Refuses what is out of bounds, and cuts the reason to what is kept of it.
    pub fn check(&mut self) -> Result<(), Invalid> {
        match self {
            RunAction::Cancel { reason } => {
                *reason = reason.as_deref().map(bounds::clipped);
                Ok(())
            }
            RunAction::RetryFrom { stage } => bounds::name("stage", stage),
            RunAction::Repair { units } => {
                bounds::within("units", units.len() as u64, 1, bounds::BULK_MAX)?;
                units.iter().try_for_each(|(stage, segment)| {
                    bounds::name("stage", stage)?;
                    segment.as_deref().map_or(Ok(()), |segment| bounds::name("segment", segment))
                })
            }
            RunAction::Retry | RunAction::Pause | RunAction::Resume => Ok(()),
        }
    }
}

words! {
    /// Why an operator's action on a run was refused. Nothing was changed.
    RunRefusal {
        /// The run is not on record.
        Absent = "not_found",
        /// It has ended.
        Terminal = "terminal",
        /// It has not ended yet.
        NotTerminal = "not_terminal",
        /// Nothing of it is finally `ERROR`.
        NothingToRetry = "nothing_to_retry",
        /// It has no such stage or segment.
        NoSuchUnit = "no_such_unit",
        /// A prerequisite of the stage is not `DONE`.
        PrerequisiteMissing = "prerequisite_missing",
        /// Only a unit that is `DONE` has outputs to repair.
        NotDone = "not_done",
    }
}

impl RunRefusal {
    /// What is the matter, for the person who asked.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            RunRefusal::Absent => "the run is not on record; it may have been removed after its retention",
            RunRefusal::Terminal => "the run has already ended; nothing was changed",
            RunRefusal::NotTerminal => "the run has not ended yet; nothing was changed",
            RunRefusal::NothingToRetry => "every stage of the run is DONE: name the stage to begin again from",
            RunRefusal::NoSuchUnit => "the run has no such stage or segment; nothing was changed",
            RunRefusal::PrerequisiteMissing => "a prerequisite of that stage is not DONE: begin with that one",
            RunRefusal::NotDone => "only what is DONE can be repaired; nothing was changed",
        }
    }
}

/// Which runs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only of this pipeline.
    pub pipeline: Option<String>,
    /// Only in this state.
    pub status: Option<RunStatus>,
}

/// What is remembered of a run's past.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Ended claims, oldest first.
    pub attempts: Vec<Attempt>,
    /// What was written down as it happened, in the order in which each was first written.
    pub events: Vec<Event>,
}

impl Reason {
    /// What happened, for the person who meets it.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Reason::Failed => "its handler said that trying again is useless",
            Reason::AttemptsSpent => "its last attempt failed",
            Reason::CrashLimit => "its last attempt took its worker down, or outlived its lease",
            Reason::Cancelled => "the run was cancelled",
            Reason::SegmentFailed => "one of its segments failed for good",
        }
    }
}
