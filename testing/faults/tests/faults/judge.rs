//! The judgment: the store's record against the record that the handlers kept. What no history may show, the judge of
//! histories finds (`tenure_testing::history`); here is what only the record of attempts tells.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tenure::{AttemptOutcome, Filter, JobId, JobInfo, Reason, Status, Tenure, Token};
use tenure_testing::history::{Act, Answer, Call, End, Found};

/// Recovery is looked at on the store's own clock; later than this it did not work, on any machine.
const RECOVERY_MS_MAX: u64 = 30_000;

/// What the handlers of all workers wrote down.
#[derive(Default)]
pub(crate) struct Record {
    /// Claims whose handler began, each as often as it did.
    pub(crate) starts: BTreeMap<(JobId, Token), u32>,
    ends: BTreeSet<(JobId, Token)>,
    refused: usize,
    refused_completions: usize,
    /// The same as a history. Processes share no clock here that survives a freeze: nothing is known of when.
    calls: Vec<Call>,
}

impl Record {
    /// All that was written in `folder`.
    pub(crate) fn read(folder: &Path) -> Record {
        let mut record = Record::default();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "record") {
                for line in std::fs::read_to_string(&path).unwrap().lines() {
                    record.take(line);
                }
            }
        }
        record
    }

    fn take(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, job, token, verb] = words.as_slice() else { panic!("{line:?} is no line of a record") };
        let (job, token) = (JobId(job.parse().unwrap()), Token(token.parse().unwrap()));
        match (*what, *verb) {
            ("start", _) => {
                *self.starts.entry((job, token)).or_default() += 1;
                self.call(Act::Hold { unit: job.to_string(), token: token.0 }, None);
            }
            ("end", _) => assert!(self.ends.insert((job, token)), "a handler ended twice: {line}"),
            ("accepted", verb) => self.finish(job, token, verb, Answer::Accepted),
            ("refused", verb) => {
                self.refused += 1;
                self.refused_completions += usize::from(verb == "complete");
                self.finish(job, token, verb, Answer::Refused);
            }
            _ => {}
        }
    }

    fn finish(&mut self, job: JobId, token: Token, verb: &str, answer: Answer) {
        let last = verb == "complete";
        self.call(Act::Finish { unit: job.to_string(), token: token.0, last }, Some(answer));
    }

    fn call(&mut self, act: Act, answer: Option<Answer>) {
        self.calls.push(Call { act, asked: 0, answered: answer.map(|answer| (0, answer)) });
    }
}

/// What was found, where nothing was wrong.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) starts: usize,
    pub(crate) expired: usize,
    pub(crate) refused: usize,
    pub(crate) stale_completions: usize,
    pub(crate) worst_recovery_ms: u64,
}

/// Every job on record.
pub(crate) async fn all_jobs(tenure: &Tenure) -> Vec<JobInfo> {
    let mut jobs: Vec<JobInfo> = Vec::new();
    loop {
        let before = jobs.last().map(|job| job.id);
        let page = tenure.verbs().jobs(Filter::default(), before, 500).await.unwrap();
        jobs.extend(page.items);
        if !page.more {
            return jobs;
        }
    }
}

pub(crate) async fn judge(
    tenure: &Tenure,
    folder: &Path,
    expected: usize,
    cancelled: &BTreeSet<JobId>,
    lease_ms: u64,
) -> Verdict {
    let mut record = Record::read(folder);
    let jobs = all_jobs(tenure).await;
    // I7, I8: none lost, none too many.
    assert_eq!(jobs.len(), expected, "jobs on record");
    let mut verdict = Verdict {
        starts: record.starts.len(),
        refused: record.refused,
        stale_completions: record.refused_completions,
        ..Verdict::default()
    };
    let mut found = Vec::new();
    for job in &jobs {
        let completed_by = ending(job, cancelled.contains(&job.id));
        let unit = job.id.to_string();
        record.call(Act::Add { unit: unit.clone(), lane: None, limits: Vec::new() }, Some(Answer::Accepted));
        found.push(Found { unit, end: completed_by.map_or(End::Otherwise, |token| End::By(token.0)) });
        if let Some(token) = completed_by {
            assert!(record.ends.contains(&(job.id, token)), "nobody did the work that {token} completed: {job:?}");
            assert_eq!(job.result.as_deref(), Some(token.to_string().as_str()), "another claim's result: {job:?}");
        }
        recoveries(job, lease_ms, &mut verdict);
    }
    // L2, I3, I5, L3: no claim is handed out twice, at most one completion was ever accepted, it is the one on record, and
    // one that was refused changed nothing. (A worker that died before it heard the answer has written nothing.)
    let faults = tenure_testing::history::judge(&record.calls, &found, &BTreeMap::new());
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(verdict.worst_recovery_ms < RECOVERY_MS_MAX, "{verdict:?}");
    verdict
}

/// How a job ended: once, under its last token. Gives the token that completed it.
fn ending(job: &JobInfo, cancelled: bool) -> Option<Token> {
    assert!(job.lease.is_none(), "held after its end: {job:?}");
    let tokens: Vec<Token> = job.attempts.iter().map(|attempt| attempt.token).collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "tokens only grow: {job:?}");
    let completed: Vec<Token> = job
        .attempts
        .iter()
        .filter(|attempt| attempt.outcome == Some(AttemptOutcome::Completed))
        .map(|attempt| attempt.token)
        .collect();
    match job.status {
        Status::Completed => {
            assert_eq!(completed.as_slice(), &tokens[tokens.len() - 1..], "{job:?}");
            assert_eq!(job.token, completed.last().copied());
        }
        Status::Failed => {
            assert!(cancelled && job.reason == Some(Reason::Cancelled), "failed without a cause: {job:?}");
            assert!(completed.is_empty(), "{job:?}");
        }
        Status::Queued | Status::Running => panic!("not ended: {job:?}"),
    }
    completed.last().copied()
}

/// How long after the end of a lease its job was free again, by the store's own clock.
fn recoveries(job: &JobInfo, lease_ms: u64, verdict: &mut Verdict) {
    for attempt in &job.attempts {
        if attempt.outcome == Some(AttemptOutcome::Expired) {
            let renewed_at = attempt.pulse.last_beat_at.unwrap_or(attempt.claimed_at);
            let expired_at = renewed_at.plus_ms(lease_ms);
            let recovered_at = attempt.ended_at.expect("an attempt that expired has ended");
            assert!(recovered_at >= expired_at, "given away before its lease had run out: {job:?}");
            verdict.expired += 1;
            verdict.worst_recovery_ms = verdict.worst_recovery_ms.max(recovered_at.ms_since(expired_at));
        }
    }
}
