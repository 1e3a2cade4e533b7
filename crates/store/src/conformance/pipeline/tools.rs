//! Verbs short enough to read as sentences.

use crate::Fenced;
use crate::conformance::Harness;
use crate::conformance::queue::tools::World;
use tenure_core::Token;
use tenure_core::pipeline::{
    Act, Advanced, Beat, Beaten, Claim, ClaimedUnit, Definition, Ended, Ending, Event, NewRun, NewSegment, Recovered,
    Refusal, Run, RunAction, RunId, RunRefusal, RunStatus, Stage, StageInfo, Status, Unit, UnitKey, What,
};
use tenure_core::retry::Backoff;
use tenure_core::retry::Retry;

/// What a claimer needs to remember to write.
#[derive(Clone, Debug)]
pub(super) struct Grip {
    pub(super) key: UnitKey,
    pub(super) owner: String,
    pub(super) token: Token,
}

impl Grip {
    pub(super) fn of(unit: &ClaimedUnit, owner: &str) -> Grip {
        let key = UnitKey { run: unit.run, stage: unit.stage.clone(), segment: unit.segment.clone() };
        Grip { key, owner: owner.to_owned(), token: unit.token }
    }

    pub(super) fn beat(&self) -> Beat {
        Beat::new(self.key.clone(), &self.owner, self.token)
    }

    pub(super) fn ending(&self, act: Act) -> Ending {
        Ending { unit: self.key.clone(), owner: self.owner.clone(), token: self.token, act }
    }
}

/// `a → b → c`, without jitter.
pub(super) fn chain() -> Definition {
    let stage = |name: &str| Stage::new(name).backoff(Backoff { jitter: 0.0, ..Backoff::default() });
    Definition::new("p").stage(stage("a")).stage(stage("b").needs(["a"])).stage(stage("c").needs(["b"]))
}

/// `cut → encode (segmented) → out`.
pub(super) fn cut() -> Definition {
    let encode = Stage::new("encode").needs(["fetch"]).segmented().attempts_max(2);
    Definition::new("p").stage(Stage::new("fetch")).stage(encode).stage(Stage::new("out").needs(["encode"]))
}

pub(super) fn done(output: &str) -> Act {
    Act::Complete { output: Some(output.to_owned()), record: None }
}

pub(super) fn fail(retry: Retry) -> Act {
    Act::Fail { error: "it broke".to_owned(), retry }
}

pub(super) fn at_once() -> Act {
    fail(Retry::In { delay_ms: 0 })
}

pub(super) fn split(names: &[&str]) -> Act {
    Act::Split { segments: names.iter().map(|name| NewSegment::new(*name, format!("\"{name}\""))).collect() }
}

pub(super) fn now(status: Status) -> Result<Ended, Refusal> {
    Ok(Ended { status, already: false })
}

impl<H: Harness> World<H> {
    pub(super) async fn apply(&self, definition: Definition) {
        definition.check().expect("scenarios stay within bounds");
        self.store.apply_pipeline(definition).await.expect("apply").expect("the version is free");
    }

    /// A run of the highest version of `p`.
    pub(super) async fn begin(&self) -> RunId {
        self.store.start_run(NewRun::new("p", "1")).await.expect("start").expect("the pipeline is on record")
    }

    /// A run of `definition`, already advanced.
    pub(super) async fn begun(&self, definition: Definition) -> RunId {
        self.apply(definition).await;
        let run = self.begin().await;
        self.advance().await;
        run
    }

    pub(super) async fn advance(&self) -> Advanced {
        let advanced = self.store.advance_runs(100).await.expect("advance");
        Advanced { again_in_ms: None, ..advanced }
    }

    pub(super) async fn grab_all(&self, claim: Claim) -> Vec<ClaimedUnit> {
        claim.check().expect("scenarios stay within bounds");
        self.store.claim_units(claim).await.expect("claim").expect("the stage is on record").units
    }

    /// The next unit of a stage.
    pub(super) async fn grab(&self, stage: &str, owner: &str) -> Grip {
        let units = self.grab_all(Claim::new("p", stage, owner)).await;
        Grip::of(units.first().unwrap_or_else(|| panic!("nothing of {stage} is READY")), owner)
    }

    pub(super) async fn none_of(&self, stage: &str) {
        assert_eq!(self.grab_all(Claim::new("p", stage, "nobody")).await, [], "{stage} was handed out");
    }

    pub(super) async fn end(&self, grip: &Grip, act: Act) -> Result<Ended, Refusal> {
        self.store.finish_unit(grip.ending(act)).await.expect("finish")
    }

    /// Claims and completes a stage, and lets the orchestrator look.
    pub(super) async fn pass(&self, stage: &str) {
        let grip = self.grab(stage, "w").await;
        assert_eq!(self.end(&grip, done(&format!("\"{stage}\""))).await, now(Status::Done));
        self.advance().await;
    }

    pub(super) async fn pulse(&self, beat: Beat) -> Fenced<Beaten> {
        self.store.beat_units(vec![beat]).await.expect("heartbeat").remove(0)
    }

    pub(super) async fn sweep(&self) -> Recovered {
        self.store.recover_units(100).await.expect("recover")
    }

    pub(super) async fn act(&self, run: RunId, action: RunAction) -> Result<RunStatus, RunRefusal> {
        self.store.operate_run(run, action).await.expect("operate")
    }

    pub(super) async fn cancel_run(&self, run: RunId) -> Result<RunStatus, RunRefusal> {
        self.act(run, RunAction::Cancel { reason: Some("not needed".to_owned()) }).await
    }

    pub(super) async fn show(&self, run: RunId) -> (Run, Vec<StageInfo>) {
        self.store.run(run).await.expect("run").expect("the run is on record")
    }

    pub(super) async fn run_status(&self, run: RunId) -> RunStatus {
        self.show(run).await.0.status
    }

    pub(super) async fn stage(&self, run: RunId, stage: &str) -> Unit {
        self.stage_info(run, stage).await.unit
    }

    pub(super) async fn stage_info(&self, run: RunId, stage: &str) -> StageInfo {
        let (_, stages) = self.show(run).await;
        stages.into_iter().find(|of| of.unit.stage == stage).expect("the run has the stage")
    }

    pub(super) async fn segment(&self, run: RunId, stage: &str, segment: &str) -> Unit {
        let page = self.store.segments(run, stage, None, 100).await.expect("segments");
        page.items.into_iter().find(|of| of.segment.as_deref() == Some(segment)).expect("the stage has the segment")
    }

    /// `a:NEW b:READY …`
    pub(super) async fn standing(&self, run: RunId) -> String {
        let (_, stages) = self.show(run).await;
        let stages: Vec<String> = stages.iter().map(|of| format!("{}:{}", of.unit.stage, of.unit.status)).collect();
        stages.join(" ")
    }

    pub(super) async fn told(&self, run: RunId) -> Vec<Event> {
        self.store.run_history(run, 100).await.expect("history").events
    }

    pub(super) async fn told_whats(&self, run: RunId) -> Vec<What> {
        self.told(run).await.into_iter().map(|event| event.what).collect()
    }

    /// A run whose stage `encode` was split into these.
    pub(super) async fn split_into(&self, names: &[&str]) -> RunId {
        let run = self.begun(cut()).await;
        self.pass("fetch").await;
        let grip = self.grab("encode", "splitter").await;
        assert_eq!(self.end(&grip, split(names)).await, now(Status::New));
        self.advance().await;
        run
    }
}
