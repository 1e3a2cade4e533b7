//! One client: a worker, a producer and an operator in turn, by the library's verbs and by plain SQL in transactions of
//! its own, with rollbacks, pauses and forgotten work. What it does follows from its seed.

use super::ledger::{Ending as Told, Ledger, now};
use super::plan::{DRAWN, End, KINDS, Plan, QUEUES, WILD, groups};
use super::trouble::{self, Trouble};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tenure_core::queue::{
    Act, Action, Beat, Change, Claim, ClaimedJob, Ended, Ending, JobId, LaneOnFailure, NewJob, Operation, Rate, Start,
    Status, Verb,
};
use tenure_core::retry::Backoff;
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Time, Token};
use tenure_postgres::PostgresStore;
use tenure_store::conformance::Chance;
use tenure_store::{QueueStore, Upkeep};
use tokio_postgres::{Client as Sql, NoTls};

/// So many leases a client holds at a time.
const HELD_MAX: usize = 5;

/// Into a queue with so many jobs open nobody enqueues more: a backlog hides what happens at its end.
const OPEN_MAX: usize = 30;

/// No statement takes as long: whoever waits longer waits for ever.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// What all clients share.
#[derive(Default)]
pub(crate) struct Common {
    pub(crate) ledger: Arc<Ledger>,
    /// Jobs that have not ended, of each of [`QUEUES`], as the judge last saw them.
    pub(crate) open: [AtomicUsize; QUEUES.len()],
    last_id: AtomicI64,
    /// Claims that another client acts on too, as a second thread of the same worker would.
    twins: Mutex<Vec<Held>>,
}

/// A job in the client's hands.
#[derive(Clone, Debug)]
struct Held {
    id: i64,
    token: i64,
    owner: String,
    /// The lease is good until then, as far as the client was told.
    until: i64,
    shared: bool,
}

pub(crate) struct Client {
    owner: String,
    chance: Chance,
    patient: PostgresStore,
    /// Its statements time out soon.
    hasty: PostgresStore,
    url: String,
    sql: Option<Sql>,
    common: Arc<Common>,
    chaos: bool,
    width: usize,
    held: Vec<Held>,
    /// An ending that was acknowledged, to be sent once more (L12).
    echo: Option<(Ending, Status)>,
}

impl Client {
    pub(crate) async fn open(number: u64, plan: &Plan, url: &str, common: Arc<Common>) -> Client {
        let patient = PostgresStore::open(&format!("{url}?connections_max=3")).await.expect("a store");
        let hasty = format!("{url}?connections_max=3&listen_url=none&options=-c%20statement_timeout%3D15");
        Client {
            owner: format!("w{number}"),
            chance: Chance::of(plan.seed, number + 1),
            patient,
            hasty: open_hasty(&hasty).await,
            url: url.to_owned(),
            sql: None,
            common,
            chaos: plan.chaos,
            width: plan.width,
            held: Vec::new(),
            echo: None,
        }
    }

    pub(crate) async fn run(mut self, end: End) {
        while !end.is_here() {
            let step = tokio::time::timeout(ANSWER_WITHIN, self.step()).await;
            match step {
                Ok(Ok(())) => {}
                Ok(Err(trouble)) => {
                    trouble.note(self.ledger());
                    self.sql = None;
                }
                Err(_) => {
                    self.ledger().fault("error", format!("{} waited for an answer for 20 s", self.owner));
                    self.sql = None;
                }
            }
        }
    }

    fn ledger(&self) -> &Ledger {
        &self.common.ledger
    }

    fn store(&mut self) -> &PostgresStore {
        if self.chaos && self.chance.percent(10) { &self.hasty } else { &self.patient }
    }

    async fn step(&mut self) -> Result<(), Trouble> {
        match self.chance.below(100) {
            0..20 => self.enqueue().await,
            20..80 if !self.held.is_empty() && self.chance.percent(70) => self.end().await,
            80..85 => self.operate().await,
            85..89 => self.operate_many().await,
            89 => self.recover().await,
            90 => self.prune().await,
            91..93 => self.change().await,
            93..95 => self.echo().await,
            95..98 => self.beat().await,
            98..100 => self.act_beside().await,
            _ if self.held.len() < HELD_MAX => self.claim().await,
            _ => self.end().await,
        }
    }

    /// A job, with its lane, tenant and key in the payload, where the judge reads them.
    fn new_job(&mut self) -> NewJob {
        let chance = &mut self.chance;
        let queue = chance.pick(&DRAWN);
        let key = chance.percent(15).then(|| chance.below(12));
        // The same key is the same body, nearly always.
        let (of, n) = match key {
            Some(key) if chance.percent(90) => (key, 0),
            _ => (chance.below(100_000), 1 + chance.below(1_000_000)),
        };
        let ((lane, tenant), kind) = (groups(of, self.width), KINDS[of % 3]);
        let name = key.map(|key| format!("k{key}"));
        let payload = json!({ "n": n, "lane": lane, "tenant": tenant, "key": name }).to_string();
        let backoff = Backoff { initial_ms: chance.pick(&[0, 20]), factor: 2.0, max_ms: 80, jitter: 0.2 };
        let mut job = NewJob::new(queue, kind, payload)
            .priority(chance.pick(&[0, 0, 5]))
            .attempts_max(chance.pick(&[1, 2, 3]))
            .backoff(backoff);
        job.ordering_key = lane;
        job.limit_key = tenant;
        if let Some(name) = name {
            job = job.key(name).key_window_ms(50);
        }
        if chance.percent(5) {
            job = job.timeout_ms(150 + chance.below(300) as u64);
        }
        job
    }

    async fn enqueue(&mut self) -> Result<(), Trouble> {
        let count = self.chance.pick(&[1, 1, 1, 2, 4]);
        let mut jobs: Vec<NewJob> = (0..count).map(|_| self.new_job()).collect();
        let open = |queue: &str| {
            let at = QUEUES.iter().position(|name| *name == queue);
            at.map_or(0, |at| self.common.open[at].load(Ordering::Relaxed))
        };
        jobs.retain(|job| open(&job.queue) < OPEN_MAX);
        if jobs.is_empty() {
            return Ok(());
        }
        if self.chance.percent(30) {
            return self.enqueue_in_transaction(jobs).await;
        }
        for job in &mut jobs {
            if self.chance.percent(15) {
                job.run_at = Some(Time(now()).plus_ms(self.chance.below(300) as u64));
            }
        }
        let sent = now();
        match self.store().enqueue(jobs).await? {
            Ok(enqueued) => {
                for one in enqueued.iter().filter(|one| !one.deduplicated) {
                    self.enqueued(one.id.0, sent);
                }
            }
            Err(_) => self.ledger().count("dedup conflicts", 1),
        }
        Ok(())
    }

    fn enqueued(&self, id: i64, sent: i64) {
        self.ledger().put(id, sent);
        self.ledger().count("enqueued", 1);
        self.common.last_id.fetch_max(id, Ordering::Relaxed);
    }

    async fn enqueue_in_transaction(&mut self, jobs: Vec<NewJob>) -> Result<(), Trouble> {
        let (pause, undo, sent) = (self.chance.below(30) as u64, self.chance.percent(15), now());
        let sql = self.begin().await?;
        let mut ids = Vec::new();
        for job in &jobs {
            let call = "select tenure.enqueue($1, $2, $3::text, $4::jsonb)";
            let row = sql.query_one(call, &[&job.queue, &job.kind, &job.payload, &options(job)]).await;
            match row {
                Ok(row) => ids.push(row.get::<_, i64>(0)),
                Err(met) if trouble::code(&met) == Some("TE003") => {
                    self.ledger().count("dedup conflicts", 1);
                    return self.rollback().await;
                }
                Err(met) => return Err(met.into()),
            }
        }
        tokio::time::sleep(Duration::from_millis(pause)).await;
        if undo {
            self.rollback().await?;
            // Of a job with a key it may be another's id.
            let own = jobs.iter().zip(&ids).filter(|(job, _)| job.key.is_none());
            self.ledger().books().undone.extend(own.map(|(_, id)| *id));
            return Ok(());
        }
        self.sql().await?.batch_execute("commit").await?;
        for (job, id) in jobs.iter().zip(ids) {
            if job.key.is_none() {
                self.enqueued(id, sent);
            }
        }
        Ok(())
    }

    async fn claim(&mut self) -> Result<(), Trouble> {
        let chance = &mut self.chance;
        let mut queues = BTreeSet::new();
        for _ in 0..chance.pick(&[1, 1, 2, 3]) {
            queues.insert(chance.pick(&DRAWN));
        }
        let mut claim = Claim::new("", self.owner.clone())
            .max(chance.pick(&[1, 1, 2, 5]))
            .lease_ms(chance.pick(&[100, 300, 1_000]));
        claim.queues = queues.iter().map(|queue| (*queue).to_owned()).collect();
        if chance.percent(40) {
            claim = claim.kinds([chance.pick(&KINDS)]);
        }
        let shared = chance.percent(40);
        if shared {
            claim = claim.shared(chance.below(3) as u32);
        }
        let asked = claim.clone();
        let claims = self.store().claim(claim).await?;
        if let Some(idle) = claims.idle {
            self.ledger().count(format!("claims answered {idle}"), 1);
        }
        self.check_claim(&asked, &claims.jobs);
        for job in claims.jobs {
            let (id, token) = (job.id.0, job.token.0);
            self.ledger().claimed(id, token);
            self.ledger().count("claimed", 1);
            let held = Held { id, token, owner: self.owner.clone(), until: job.lease_expires_at.0, shared };
            if self.chance.percent(10) {
                self.common.twins.lock().unwrap_or_else(PoisonError::into_inner).push(held.clone());
            }
            self.held.push(held);
        }
        Ok(())
    }

    /// What can be seen of a claim's answer alone (Q2).
    fn check_claim(&self, asked: &Claim, jobs: &[ClaimedJob]) {
        let order = |job: &ClaimedJob| (std::cmp::Reverse(job.priority), job.created_at, job.id);
        let in_order = jobs.is_sorted_by_key(order);
        let asked_for = |job: &ClaimedJob| {
            asked.queues.contains(&job.queue) && asked.kinds.as_ref().is_none_or(|kinds| kinds.contains(&job.kind))
        };
        if !in_order || !jobs.iter().all(asked_for) || jobs.len() > asked.max as usize {
            self.ledger().fault("told", format!("{asked:?} was answered with {jobs:?}"));
        }
    }

    async fn end(&mut self) -> Result<(), Trouble> {
        if self.held.is_empty() {
            return Ok(());
        }
        let at = self.chance.below(self.held.len());
        let held = self.held.swap_remove(at);
        if self.chance.percent(10) {
            self.ledger().count("forgotten by their worker", 1);
            return Ok(());
        }
        if held.shared && self.chance.percent(30) {
            let start =
                Start { owner: held.owner.clone(), token: Token(held.token), count: 1 + self.chance.below(5) as u32 };
            match self.store().start(start).await? {
                Ok(()) => self.ledger().count("started", 1),
                // Of a lease with nothing left under it there is nothing to remember.
                Err(LostReason::Unknown) => {}
                Err(lost) => self.lost(&held, lost, "start"),
            }
        }
        self.end_one(held).await
    }

    async fn end_one(&mut self, held: Held) -> Result<(), Trouble> {
        let chance = &mut self.chance;
        let error = "it did not work".to_owned();
        let act = match chance.below(9) {
            0..4 => Act::Complete { result: None },
            4 => Act::Fail { error, retry: Retry::In { delay_ms: chance.pick(&[0, 10]) } },
            5 => Act::Fail { error, retry: Retry::Policy { chance: 0.0 } },
            6 => Act::Fail { error, retry: Retry::Never },
            7 => Act::Snooze { delay_ms: chance.pick(&[0, 20]) },
            _ => Act::Release,
        };
        if chance.percent(25) && matches!(act, Act::Complete { .. } | Act::Fail { .. }) {
            return self.end_in_transaction(held, act).await;
        }
        let ending = Ending { job: JobId(held.id), owner: held.owner.clone(), token: Token(held.token), act };
        let mut answer = self.store().finish(vec![ending.clone()]).await;
        if answer.is_err() && self.chance.percent(50) {
            // The reply was lost: asked again, it is answered as the first time (L12).
            answer = self.patient.finish(vec![ending.clone()]).await;
        }
        match answer?.remove(0) {
            Ok(Ended { status, already }) => {
                self.ended(&held, ending.act.verb(), status, Some(already));
                if self.chance.percent(20) {
                    self.echo = Some((ending, status));
                }
            }
            Err(lost) => self.lost(&held, lost, ending.act.verb().as_str()),
        }
        Ok(())
    }

    async fn end_in_transaction(&mut self, held: Held, act: Act) -> Result<(), Trouble> {
        let (undo, fence) = (self.chance.percent(20), self.chance.percent(50));
        // Now and then longer than a lease: nobody is to be let in by that, and nothing accepted.
        let (before, after) = match self.chance.below(100) {
            0 => (900, 0),
            1 => (0, 900),
            _ => (self.chance.below(20) as u64, self.chance.below(30) as u64),
        };
        let verb = act.verb();
        let sql = self.begin().await?;
        if fence {
            let call = "select tenure.held($1, $2, $3)";
            if let Err(met) = sql.query(call, &[&held.id, &held.owner, &held.token]).await {
                return self.refused(&held, met).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(before)).await;
        let sql = self.sql().await?;
        let answer = match act {
            Act::Fail { error, retry } => {
                let (again, delay) = match retry {
                    Retry::In { delay_ms } => (true, Some(delay_ms as i64)),
                    Retry::Never => (false, None),
                    _ => (true, None),
                };
                let call = "select tenure.fail($1, $2, $3, $4, $5, $6)";
                sql.query_one(call, &[&held.id, &held.owner, &held.token, &error, &again, &delay]).await
            }
            _ => sql.query_one("select tenure.complete($1, $2, $3)", &[&held.id, &held.owner, &held.token]).await,
        };
        let status = match answer {
            Ok(row) => Status::parse(row.get(0)),
            Err(met) => return self.refused(&held, met).await,
        };
        tokio::time::sleep(Duration::from_millis(after)).await;
        if undo {
            return self.rollback().await;
        }
        self.sql().await?.batch_execute("commit").await?;
        let Some(status) = status else {
            self.ledger().fault("told", format!("job {}: {verb} was answered without a status", held.id));
            return Ok(());
        };
        self.ended(&held, verb, status, None);
        Ok(())
    }

    fn ended(&self, held: &Held, verb: Verb, status: Status, already: Option<bool>) {
        self.ledger().ended(held.id, held.token, Told { verb, status }, already);
        self.ledger().count(format!("told {verb}, {status}"), 1);
    }

    /// A call of plain SQL was refused, or broke.
    async fn refused(&mut self, held: &Held, met: tokio_postgres::Error) -> Result<(), Trouble> {
        let db = met.as_db_error().filter(|db| db.code().code() == "TE020");
        let Some(lost) = db.and_then(|db| db.detail().and_then(LostReason::parse)) else {
            return Err(met.into());
        };
        self.lost(held, lost, "in a transaction");
        self.rollback().await
    }

    /// A lease is not lost before it runs out, unless its holder or an operator ended it.
    fn lost(&self, held: &Held, lost: LostReason, verb: &str) {
        self.ledger().count(format!("refused as {}", lost.as_str()), 1);
        let early = held.until - now();
        if early > 0 && matches!(lost, LostReason::Expired | LostReason::Superseded | LostReason::Unknown) {
            let Held { id, token, .. } = held;
            let (lost, early) = (lost.as_str(), early / 1_000);
            let what =
                format!("job {id} under {token}: {verb} is answered {lost} {early} ms before the lease runs out");
            self.ledger().fault("early", what);
        }
    }

    async fn echo(&mut self) -> Result<(), Trouble> {
        let Some((ending, status)) = self.echo.take() else { return Ok(()) };
        let answer = self.store().finish(vec![ending.clone()]).await?.remove(0);
        self.ledger().count("endings sent again", 1);
        if answer != Ok(Ended { status, already: true }) {
            self.ledger().fault("replay", format!("{ending:?} was {status} before, and is now answered {answer:?}"));
        }
        Ok(())
    }

    async fn beat(&mut self) -> Result<(), Trouble> {
        if self.held.is_empty() {
            return Ok(());
        }
        let at = self.chance.below(self.held.len());
        let held = self.held[at].clone();
        let beat = if held.shared && self.chance.percent(50) {
            Beat::shared(held.owner.clone(), Token(held.token))
        } else {
            Beat::new(JobId(held.id), held.owner.clone(), Token(held.token)).checkpoint("1")
        };
        let whole = beat.job.is_none();
        match self.store().heartbeat(vec![beat]).await?.remove(0) {
            Ok(beaten) => {
                self.held[at].until = beaten.lease_expires_at.0;
                self.ledger().count("heartbeats", 1);
            }
            Err(LostReason::Unknown) if whole => {}
            Err(lost) => self.lost(&held, lost, "heartbeat"),
        }
        Ok(())
    }

    /// As a second thread of another worker.
    async fn act_beside(&mut self) -> Result<(), Trouble> {
        let twin = self.common.twins.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match twin {
            Some(held) => self.end_one(held).await,
            None => Ok(()),
        }
    }

    fn recent(&mut self, among: usize) -> i64 {
        let last = self.common.last_id.load(Ordering::Relaxed);
        (last - self.chance.below(among) as i64).max(1)
    }

    async fn operate(&mut self) -> Result<(), Trouble> {
        let cancel = |force| Action::Cancel { reason: None, force };
        let (id, action) = match self.chance.below(5) {
            0 => (self.recent(60), cancel(false)),
            1 => (self.recent(60), cancel(true)),
            // Refused where it has not ended, and nothing may come of that.
            2 => (self.recent(60), Action::Retry),
            _ => match self.common.ledger.ended_lately(&mut self.chance) {
                Some(id) => (id, Action::Retry),
                None => return Ok(()),
            },
        };
        self.carry_out(vec![Operation { job: JobId(id), action }]).await
    }

    async fn operate_many(&mut self) -> Result<(), Trouble> {
        let action =
            if self.chance.percent(85) { Action::Retry } else { Action::Cancel { reason: None, force: false } };
        let ids: BTreeSet<i64> = (0..25).map(|_| self.recent(200)).collect();
        let operations = ids.into_iter().map(|id| Operation { job: JobId(id), action: action.clone() });
        self.carry_out(operations.collect()).await
    }

    async fn carry_out(&mut self, operations: Vec<Operation>) -> Result<(), Trouble> {
        let retried = operations.iter().filter(|one| one.action == Action::Retry).map(|one| one.job.0);
        self.ledger().books().retried.extend(retried);
        let sent = now();
        let answers = self.store().operate(operations.clone()).await?;
        for (operation, answer) in operations.iter().zip(answers) {
            match (&operation.action, answer) {
                (Action::Retry, Ok(_)) => {
                    self.ledger().put(operation.job.0, sent);
                    self.ledger().count("retried by an operator", 1);
                }
                (_, Ok(_)) => self.ledger().count("cancelled by an operator", 1),
                (_, Err(_)) => self.ledger().count("refused to an operator", 1),
            }
        }
        Ok(())
    }

    async fn recover(&mut self) -> Result<(), Trouble> {
        let leases = self.chance.pick(&[1, 5, 100]);
        let recovered = self.store().recover(leases).await?;
        self.ledger().count("leases recovered", recovered.leases.into());
        Ok(())
    }

    async fn prune(&mut self) -> Result<(), Trouble> {
        let pruned = self.store().prune(50).await?;
        self.ledger().count("jobs pruned", pruned.jobs.into());
        Ok(())
    }

    /// Settings of the queue whose limits nobody judges.
    async fn change(&mut self) -> Result<(), Trouble> {
        let chance = &mut self.chance;
        let none = Change::default();
        let rate = |max| Rate { max, period_ms: 100 };
        let change = match chance.below(7) {
            0 => Change { max_running: Some(chance.pick(&[None, Some(1), Some(3)])), ..none },
            1 => Change { max_running_per_key: Some(chance.pick(&[None, Some(1), Some(2)])), ..none },
            2 => Change { paused: Some(chance.percent(20)), ..none },
            3 => Change { retention_ms: Some(chance.pick(&[None, Some(0)])), ..none },
            4 => Change { rate_limit: Some(chance.pick(&[None, Some(rate(5))])), ..none },
            5 => Change { rate_limit_per_key: Some(chance.pick(&[None, Some(rate(1))])), ..none },
            _ => Change {
                lane_on_failure: Some(chance.pick(&[None, Some(LaneOnFailure::Continue), Some(LaneOnFailure::Block)])),
                ..none
            },
        };
        self.store().change(WILD, change).await?;
        self.ledger().count("settings changed", 1);
        Ok(())
    }

    async fn sql(&mut self) -> Result<&Sql, Trouble> {
        if self.sql.is_none() {
            let mut config: tokio_postgres::Config = self.url.parse()?;
            let (sql, connection) = config.application_name("caller").connect(NoTls).await?;
            tokio::spawn(connection);
            self.sql = Some(sql);
        }
        self.sql.as_ref().ok_or(Trouble::Killed)
    }

    async fn begin(&mut self) -> Result<&Sql, Trouble> {
        let timeout_ms = if self.chaos && self.chance.percent(20) { self.chance.pick(&[5, 20, 60]) } else { 0 };
        let sql = self.sql().await?;
        sql.batch_execute(&format!("set statement_timeout = {timeout_ms}; begin")).await?;
        Ok(sql)
    }

    async fn rollback(&mut self) -> Result<(), Trouble> {
        self.ledger().count("rolled back", 1);
        Ok(self.sql().await?.batch_execute("rollback").await?)
    }
}

/// Opening takes statements too, and one of them may time out.
async fn open_hasty(url: &str) -> PostgresStore {
    for _ in 0..200 {
        if let Ok(store) = PostgresStore::open(url).await {
            return store;
        }
    }
    panic!("no store opens within its timeout")
}

/// A job's options in plain SQL.
fn options(job: &NewJob) -> Value {
    let backoff = job.backoff.map(|backoff| json!({ "initial_ms": backoff.initial_ms, "max_ms": backoff.max_ms }));
    json!({
        "priority": job.priority, "attempts_max": job.attempts_max, "timeout_ms": job.timeout_ms, "backoff": backoff,
        "key": job.key, "key_window_ms": job.key_window_ms, "ordering_key": job.ordering_key,
        "limit_key": job.limit_key,
    })
}

/// The queues of a run, which all claims of the drain look through.
pub(crate) fn everywhere(owner: &str) -> Claim {
    let mut claim = Claim::new("", owner);
    claim.queues = QUEUES.map(str::to_owned).to_vec();
    claim
}
