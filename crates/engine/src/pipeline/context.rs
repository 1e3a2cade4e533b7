//! What a stage's handler is given beside its input.

use super::artifacts::{self, ArtifactStore, Hashing, Reader, Validity, validate};
use super::{Artifact, Beat, ClaimedUnit, Record, RunId, Sealed, UnitKey};
use crate::Result;
use crate::queue::to_json;
use crate::worker::Context;
use serde::Serialize;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use tenure_core::Page;
use tenure_core::pipeline::Unit;
use tokio::io::{AsyncRead, AsyncReadExt};

/// One attempt at one stage or segment, in the hands of its handler. Cheap to clone. Whatever any [`Context`] has, it has:
/// the token, the owner, being told to stop, shared state.
#[derive(Clone)]
pub struct StageContext {
    cx: Context<ClaimedUnit>,
    artifacts: Arc<dyn ArtifactStore>,
    /// What this attempt has recorded so far.
    made: Arc<Mutex<Vec<Artifact>>>,
}

impl Deref for StageContext {
    type Target = Context<ClaimedUnit>;

    fn deref(&self) -> &Context<ClaimedUnit> {
        &self.cx
    }
}

impl StageContext {
    pub(super) fn new(cx: Context<ClaimedUnit>, artifacts: Arc<dyn ArtifactStore>) -> StageContext {
        StageContext { cx, artifacts, made: Arc::default() }
    }

    /// The run.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.unit().run
    }

    /// The stage.
    #[must_use]
    pub fn stage(&self) -> &str {
        &self.unit().stage
    }

    /// The segment, if it is one.
    #[must_use]
    pub fn segment(&self) -> Option<&str> {
        self.unit().segment.as_deref()
    }

    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.unit().attempt
    }

    /// Tells people how far the work is.
    pub async fn progress<T: Serialize + ?Sized>(&self, progress: &T) -> Result<()> {
        let beat = Beat { progress: Some(to_json("progress", progress)?), ..self.beat() };
        self.tenure().stage_worker().heartbeat(beat).await.map(drop)
    }

    /// The segments of this stage with their outputs, a page at a time, from after the number of the last one seen: what
    /// a join works on.
    pub async fn segments(&self, after: Option<i64>, limit: u32) -> Result<Page<Unit>> {
        self.tenure().verbs().segments(self.run(), self.stage(), after, limit).await
    }

    /// The path of an artifact of this unit.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        let ClaimedUnit { run, stage, version, segment, .. } = self.unit();
        artifacts::path(*run, stage, *version, segment.as_deref(), name)
    }

    /// The artifact that an earlier attempt at this unit recorded under `name`, if it is still as it was recorded.
    pub async fn reuse(&self, name: &str) -> Result<Option<Artifact>> {
        let path = self.path(name);
        let recorded = self.unit().record.iter().flat_map(|record| &record.artifacts);
        let Some(artifact) = recorded.into_iter().find(|artifact| artifact.path == path) else { return Ok(None) };
        if validate(&*self.artifacts, artifact).await? != Validity::Valid {
            return Ok(None);
        }
        self.keep(artifact.clone());
        Ok(Some(artifact.clone()))
    }

    /// Writes an artifact (P7): under a temporary name, flushed, recorded under this lease, and only then at its path.
    pub async fn write(&self, name: &str, bytes: impl Into<Vec<u8>>) -> Result<Artifact> {
        self.write_from(name, bytes.into().as_slice()).await
    }

    /// Writes an artifact as [`write`](StageContext::write) does, from a reader, in pieces: it need not fit into memory. An
    /// open file is a reader.
    pub async fn write_from(&self, name: &str, from: impl AsyncRead + Send + Unpin) -> Result<Artifact> {
        let path = self.path(name);
        // Before anything is written: a name that cannot be recorded is refused with its reason.
        let empty = Artifact { path: path.clone(), size: 0, blake3: artifacts::blake3(&[]) };
        Record { token: self.token(), artifacts: vec![empty], sealed: None }.check(&self.key())?;
        // Attempts that overlap, as one that lost its lease may, never share a temporary file.
        let temporary = format!("{path}.tmp-{}", self.token());
        let mut from = Hashing::new(from);
        let written = match self.artifacts.write(&temporary, Box::pin(&mut from)).await {
            Ok(()) => {
                let (size, blake3) = from.fingerprint();
                let artifact = Artifact { path, size, blake3 };
                self.keep(artifact.clone());
                let recorded = self.record(None).await.inspect_err(|_| self.forget(&artifact));
                recorded.map(|()| artifact)
            }
            Err(failed) => Err(failed),
        };
        match written {
            Ok(artifact) => {
                self.artifacts.publish(&temporary, &artifact.path).await?;
                Ok(artifact)
            }
            Err(refused) => {
                // Best effort: nobody takes a temporary file for an artifact.
                let _ = self.artifacts.remove(&temporary).await;
                Err(refused)
            }
        }
    }

    /// Reads an artifact of any unit, and insists that it is what was recorded of it.
    pub async fn read(&self, artifact: &Artifact) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.open(artifact).await?.read_to_end(&mut bytes).await;
        read.map_err(|error| artifacts::failed(&artifact.path, error))?;
        Ok(bytes)
    }

    /// Opens an artifact of any unit, to be read in pieces. Its end is an error unless all of it was what was recorded.
    pub async fn open(&self, artifact: &Artifact) -> Result<Reader<'static>> {
        let found = self.artifacts.open(&artifact.path).await?;
        let found = found.ok_or_else(|| artifacts::failed(&artifact.path, "it is missing"))?;
        Ok(Box::pin(Hashing::new(found).expecting(artifact)))
    }

    /// The artifacts that a prerequisite of this stage recorded.
    pub async fn artifacts_of(&self, stage: &str) -> Result<Vec<Artifact>> {
        let found = self.tenure().verbs().run(self.run()).await?;
        let stages = found.into_iter().flat_map(|(_, stages)| stages);
        let unit = stages.map(|of| of.unit).find(|unit| unit.stage == stage);
        Ok(unit.and_then(|unit| unit.record).map(|record| record.artifacts).unwrap_or_default())
    }

    /// What this attempt has made, instead of an earlier record of the same path.
    fn keep(&self, artifact: Artifact) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|other| other.path != artifact.path);
        made.push(artifact);
    }

    fn forget(&self, artifact: &Artifact) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|other| other != artifact);
    }

    pub(super) fn made(&self, sealed: Option<Sealed>) -> Record {
        let artifacts = self.made.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Record { token: self.token(), artifacts, sealed }
    }

    /// Records what was made so far, by a fenced write.
    pub(super) async fn record(&self, sealed: Option<Sealed>) -> Result<()> {
        let beat = Beat { record: Some(self.made(sealed)), ..self.beat() };
        self.tenure().stage_worker().heartbeat(beat).await.map(drop)
    }

    pub(super) fn artifact_store(&self) -> &dyn ArtifactStore {
        &*self.artifacts
    }

    pub(super) fn key(&self) -> UnitKey {
        self.unit().key()
    }

    fn beat(&self) -> Beat {
        Beat::new(self.key(), self.owner(), self.token())
    }

    /// BLAKE3 of all that this unit is made from: its input, the artifacts of its prerequisites and, for a join, the
    /// outputs and artifacts of its segments. The same fingerprint means that the same outputs still count.
    pub(super) async fn fingerprint(&self) -> Result<String> {
        let mut hasher = blake3::Hasher::new();
        let unit = self.unit();
        let mut add = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        add(&unit.input);
        if unit.segment.is_none() {
            let found = self.tenure().verbs().run(unit.run).await?;
            let stages: Vec<Unit> = found.into_iter().flat_map(|(_, stages)| stages).map(|of| of.unit).collect();
            let needs = stages.iter().find(|of| of.stage == unit.stage).map(|of| of.needs.clone()).unwrap_or_default();
            for of in stages.iter().filter(|of| needs.contains(&of.stage)) {
                of.record.iter().flat_map(|record| &record.artifacts).for_each(|artifact| add(&artifact.blake3));
            }
        }
        let (mut after, mut more) = (None, unit.join);
        while more {
            let page = self.segments(after, tenure_core::bounds::LIST_MAX as u32).await?;
            for segment in &page.items {
                add(segment.segment.as_deref().unwrap_or(""));
                add(segment.output.as_deref().unwrap_or(""));
                segment.record.iter().flat_map(|record| &record.artifacts).for_each(|artifact| add(&artifact.blake3));
            }
            (after, more) = (page.items.last().map(|unit| unit.id), page.more);
        }
        Ok(hasher.finalize().to_hex().to_string())
    }
}

impl fmt::Debug for StageContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StageContext({}, attempt {}, token {})", self.key(), self.attempt(), self.token())
    }
}
