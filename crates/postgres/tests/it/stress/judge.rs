//! Judges every state that was ever committed, in the order of the commits.
//!
//! Knows of the store only jobs, leases and history, not how it counts or finds them. What a job's lane, tenant and key
//! are it reads in the job's payload, as its caller sent it; what a limit is, in the changer's own log.
//!
//! Judged at each commit: Q8 limits and pauses · Q9 one at a time, in order, stopped where they stop · L2 tokens · L4 no
//! late ending · L6 attempts · L9 what ended stays so · a running job has its lease, and no job is in two places.

use super::ledger::{Books, Ending, Ledger};
use super::plan::{BLOCK, FIXED, KEY_RATE, LIVE, RATE, RATED, WILD};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use tenure_core::queue::{Status, Verb};

/// An ending is judged, then written: so long a machine under load may take from one to the other. What waited for a lock
/// after it was judged takes longer.
const LATE_US: i64 = 500_000;

#[derive(Clone, Debug)]
struct Job {
    queue: String,
    lane: Option<String>,
    tenant: Option<String>,
    key: Option<String>,
    running: bool,
    token: Option<i64>,
    /// When it was put there.
    at: i64,
    /// An operator has put it back at least once.
    again: bool,
}

impl Job {
    fn lane(&self) -> Option<Group> {
        Some((self.queue.clone(), self.lane.clone()?))
    }

    fn tenant(&self) -> Option<Group> {
        Some((self.queue.clone(), self.tenant.clone()?))
    }
}

/// A queue and a key in it.
type Group = (String, String);

#[derive(Clone, Debug)]
struct Lease {
    units: Vec<i64>,
    expires_at: i64,
}

struct Grant {
    id: i64,
    token: i64,
    began: i64,
    at: i64,
}

/// A row of history, as it came.
struct Finished {
    id: i64,
    queue: String,
    token: Option<i64>,
    status: Status,
    reason: Option<String>,
    verb: Option<Verb>,
    finished_at: i64,
    at: i64,
}

/// What the transaction did that is being read.
#[derive(Default)]
struct Change {
    grants: Vec<Grant>,
    put: Vec<i64>,
    gone: HashMap<i64, Job>,
    finished: Vec<Finished>,
    unfinished: Vec<(i64, String)>,
    leases_gone: Vec<i64>,
}

pub(crate) struct Judge {
    ledger: Arc<Ledger>,
    change: Change,
    jobs: HashMap<i64, Job>,
    history: HashMap<i64, Status>,
    leases: HashMap<i64, Lease>,
    tokens: HashSet<i64>,
    last_token: HashMap<i64, i64>,
    granted: HashSet<(i64, i64)>,
    ended: HashMap<(i64, i64), (Option<Verb>, Status)>,
    ever: HashSet<i64>,
    again: HashSet<i64>,
    lanes: HashMap<Group, BTreeSet<i64>>,
    blocked: HashMap<Group, i64>,
    running: BTreeMap<i64, ()>,
    by_queue: HashMap<String, i64>,
    by_tenant: HashMap<Group, i64>,
    by_lane: HashMap<Group, BTreeSet<i64>>,
    by_token: HashMap<i64, BTreeSet<i64>>,
    by_period: HashMap<(Option<String>, i64), u32>,
    pub(crate) commits: u64,
}

impl Judge {
    pub(crate) fn new(ledger: Arc<Ledger>) -> Judge {
        Judge {
            ledger,
            change: Change::default(),
            jobs: HashMap::new(),
            history: HashMap::new(),
            leases: HashMap::new(),
            tokens: HashSet::new(),
            last_token: HashMap::new(),
            granted: HashSet::new(),
            ended: HashMap::new(),
            ever: HashSet::new(),
            again: HashSet::new(),
            lanes: HashMap::new(),
            blocked: HashMap::new(),
            running: BTreeMap::new(),
            by_queue: HashMap::new(),
            by_tenant: HashMap::new(),
            by_lane: HashMap::new(),
            by_token: HashMap::new(),
            by_period: HashMap::new(),
            commits: 0,
        }
    }

    /// Jobs of a queue that have not ended.
    pub(crate) fn open(&self, queue: &str) -> usize {
        self.jobs.values().filter(|job| job.queue == queue).count()
    }

    /// A line of the decoded log.
    pub(crate) fn line(&mut self, data: &str) {
        if data.starts_with("COMMIT") {
            self.commit();
        } else if let Some((_, content)) = data.split_once(" content:") {
            let message: Value = serde_json::from_str(content).expect("the watch writes JSON");
            match word(&message, "what").as_deref() {
                Some("job") => self.job(&message),
                Some("lease") => self.lease(&message),
                _ => self.finished(&message),
            }
        }
    }

    fn fault(&self, kind: &'static str, what: impl Into<String>) {
        self.ledger.fault(kind, what);
    }

    fn job(&mut self, m: &Value) {
        let (id, at) = (number(m, "id"), number(m, "at"));
        match word(m, "op").as_deref() {
            Some("DELETE") => {
                if let Some(job) = self.jobs.remove(&id) {
                    self.step(id, &job, false);
                    if let Some(lane) = job.lane() {
                        self.lanes.entry(lane).or_default().remove(&id);
                    }
                    self.change.gone.insert(id, job);
                }
            }
            Some("INSERT") => {
                let job = read_job(m, at, !self.ever.insert(id));
                let last = self.last_token.get(&id).copied();
                if job.token != last {
                    self.fault("token", format!("job {id} came back with {:?} after {last:?}", job.token));
                }
                if job.again {
                    self.again.insert(id);
                }
                if let Some(lane) = job.lane() {
                    self.lanes.entry(lane).or_default().insert(id);
                }
                self.step(id, &job, job.running);
                self.jobs.insert(id, job);
                self.change.put.push(id);
            }
            _ => self.moved(id, at, m),
        }
        let (attempt, most) = (number(m, "attempt"), number(m, "attempts_max"));
        if attempt > most {
            self.fault("attempts", format!("job {id} is at attempt {attempt} of {most}"));
        }
    }

    fn moved(&mut self, id: i64, at: i64, m: &Value) {
        let Some(old) = self.jobs.get(&id).cloned() else { return };
        let mut job = old.clone();
        job.running = m["running"].as_bool() == Some(true);
        job.token = m["token"].as_i64();
        let granted = job.running && (!old.running || old.token != job.token);
        if job.token < old.token || granted && job.token <= self.last_token.get(&id).copied() {
            self.fault("token", format!("job {id}: the token goes from {:?} to {:?}", old.token, job.token));
        }
        if let Some(token) = job.token {
            self.last_token.insert(id, token);
        }
        if granted {
            if old.running {
                self.fault("lease", format!("job {id} was taken from {:?} while it ran", old.token));
            }
            let token = job.token.unwrap_or_default();
            self.granted.insert((id, token));
            self.change.grants.push(Grant { id, token, began: number(m, "began"), at });
        } else if old.running && !job.running {
            let last = &m["last"];
            let verb = word(last, "verb").and_then(|verb| Verb::parse(&verb));
            let judged_at = last["ended_at"].as_i64().unwrap_or(at);
            self.ends(id, old.token.unwrap_or_default(), verb, Status::Queued, judged_at, at, last.is_object());
        }
        self.step(id, &old, false);
        self.step(id, &job, job.running);
        self.jobs.insert(id, job);
    }

    /// A claim ended: by its holder's `verb`, or without one.
    #[expect(clippy::too_many_arguments, reason = "one ending, told in one line")]
    fn ends(&mut self, id: i64, token: i64, verb: Option<Verb>, status: Status, judged: i64, at: i64, expiry: bool) {
        if let Some(before) = self.ended.insert((id, token), (verb, status)) {
            self.fault("told", format!("job {id} ended twice under {token}: {before:?}, then {verb:?} {status}"));
        }
        let Some(lease) = self.leases.get(&token) else { return };
        let over = lease.expires_at;
        if verb.is_some() && (judged >= over || at > over + LATE_US) {
            let late = (at - over) / 1_000;
            self.fault(
                "late",
                format!("job {id}: {verb:?} under {token} was accepted {late} ms after the lease ran out"),
            );
        }
        if verb.is_none() && expiry && at < over {
            let left = (over - at) / 1_000;
            self.fault("early", format!("job {id} was taken from {token} {left} ms before the lease ran out"));
        }
    }

    fn lease(&mut self, m: &Value) {
        let (token, at) = (number(m, "token"), number(m, "at"));
        let expires_at = number(m, "expires_at");
        match word(m, "op").as_deref() {
            Some("INSERT") => {
                if !self.tokens.insert(token) {
                    self.fault("token", format!("the token {token} was drawn twice"));
                }
                let units = m["units"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
                self.leases.insert(token, Lease { units, expires_at });
            }
            Some("DELETE") => self.change.leases_gone.push(token),
            _ => {
                let beat_at = m["beat_at"].as_i64().unwrap_or(at);
                let Some(lease) = self.leases.get_mut(&token) else { return };
                let old = std::mem::replace(&mut lease.expires_at, expires_at);
                if expires_at > old && (beat_at >= old || at > old + LATE_US) {
                    self.fault("late", format!("the lease {token} was renewed after it ran out"));
                }
            }
        }
    }

    fn finished(&mut self, m: &Value) {
        let (id, queue) = (number(m, "id"), word(m, "queue").unwrap_or_default());
        if word(m, "op").as_deref() == Some("DELETE") {
            self.history.remove(&id);
            self.change.unfinished.push((id, queue));
            return;
        }
        let status = if word(m, "status").as_deref() == Some("completed") { Status::Completed } else { Status::Failed };
        self.history.insert(id, status);
        self.change.finished.push(Finished {
            id,
            queue,
            token: m["token"].as_i64(),
            status,
            reason: word(m, "reason"),
            verb: word(m, "verb").and_then(|verb| Verb::parse(&verb)),
            finished_at: number(m, "finished_at"),
            at: number(m, "at"),
        });
    }

    /// Counts a job as running, or no longer.
    fn step(&mut self, id: i64, job: &Job, runs: bool) {
        let was = self.running.contains_key(&id);
        if was == runs {
            return;
        }
        let by = if runs { 1 } else { -1 };
        if runs {
            self.running.insert(id, ());
        } else {
            self.running.remove(&id);
        }
        *self.by_queue.entry(job.queue.clone()).or_default() += by;
        if let Some(tenant) = job.tenant() {
            *self.by_tenant.entry(tenant).or_default() += by;
        }
        let sets = [
            job.lane().map(|lane| self.by_lane.entry(lane).or_default()),
            job.token.map(|token| self.by_token.entry(token).or_default()),
        ];
        for set in sets.into_iter().flatten() {
            if runs {
                set.insert(id);
            } else {
                set.remove(&id);
            }
        }
    }

    fn commit(&mut self) {
        self.commits += 1;
        let change = std::mem::take(&mut self.change);
        self.finishes(&change);
        for id in &change.put {
            self.was_put(*id, &change);
        }
        for grant in &change.grants {
            self.was_granted(grant);
        }
        for token in &change.leases_gone {
            self.leases.remove(token);
        }
        let bare = |id: &&i64| {
            let token = self.jobs.get(*id).and_then(|job| job.token).unwrap_or_default();
            self.running.contains_key(*id) && !self.leases.contains_key(&token)
        };
        let under_gone = change.leases_gone.iter().filter_map(|token| self.by_token.get(token)).flatten();
        let granted = change.grants.iter().map(|grant| &grant.id);
        for id in under_gone.chain(granted).filter(bare) {
            self.fault("lease", format!("job {id} runs, and there is no lease"));
        }
        for token in &change.leases_gone {
            self.by_token.remove(token);
        }
    }

    fn finishes(&mut self, change: &Change) {
        for done in &change.finished {
            let Finished { id, queue, status, .. } = done;
            let Some(job) = change.gone.get(id) else {
                self.fault("vanished", format!("job {id} is in history and was not taken from the queue"));
                continue;
            };
            if job.running && job.token == done.token {
                let expiry = matches!(done.reason.as_deref(), Some("crash_limit" | "timeout"));
                let token = done.token.unwrap_or_default();
                self.ends(*id, token, done.verb, *status, done.finished_at, done.at, expiry);
            }
            if let Some(lane) = job.lane()
                && queue == BLOCK
                && *status == Status::Failed
                && done.reason.as_deref() != Some("cancelled")
            {
                self.blocked.insert(lane, *id);
            }
        }
        for (id, job) in &change.gone {
            let kept = change.finished.iter().any(|done| done.id == *id) || self.jobs.contains_key(id);
            if !kept && job.queue != WILD {
                self.fault("vanished", format!("job {id} of {} left the queue and is not in history", job.queue));
            }
        }
        for (id, queue) in &change.unfinished {
            if !change.put.contains(id) && !self.history.contains_key(id) && queue != WILD {
                self.fault(
                    "vanished",
                    format!("job {id} of {queue} is no longer in history, which is kept for a week"),
                );
            }
        }
        for id in change.gone.keys().chain(&change.put) {
            if self.jobs.contains_key(id) && self.history.contains_key(id) {
                self.fault("vanished", format!("job {id} is both queued and ended"));
            }
        }
    }

    fn was_put(&mut self, id: i64, change: &Change) {
        let Some(job) = self.jobs.get(&id) else { return };
        let lane = job.lane();
        if job.again {
            let asked = self.ledger.books().retried.contains(&id);
            if !asked || !change.unfinished.iter().any(|(of, _)| *of == id) {
                self.fault("vanished", format!("job {id} had ended and is queued again, which nobody asked for"));
            }
            if let Some(lane) = lane
                && self.blocked.get(&lane) == Some(&id)
            {
                self.blocked.remove(&lane);
            }
        } else if let Some(key) = &job.key {
            // An operator may put an older job of a key beside a newer one.
            let same = |other: &&i64| {
                let of = &self.jobs[*other];
                **other != id && of.queue == job.queue && of.key.as_ref() == Some(key) && !self.again.contains(*other)
            };
            if let Some(other) = self.jobs.keys().find(same) {
                self.fault("dedup", format!("jobs {other} and {id} of {} have the key {key}", job.queue));
            }
        }
    }

    fn was_granted(&mut self, grant: &Grant) {
        let Grant { id, token, began, at } = *grant;
        let Some(job) = self.jobs.get(&id).cloned() else { return };
        if !self.leases.get(&token).is_some_and(|lease| lease.units.contains(&id)) {
            self.fault("lease", format!("job {id} was claimed under {token}, whose lease does not name it"));
        }
        let mut found: Vec<(&'static str, String)> = Vec::new();
        {
            let books = self.ledger.books();
            found.extend(self.beyond(&books, &job, began, at));
            if let Some(lane) = job.lane() {
                let beside = &self.by_lane[&lane];
                if beside.len() > 1 {
                    found.push(("lane", format!("jobs {beside:?} of lane {lane:?} run at once")));
                }
                let ahead = self.lanes[&lane].range(..id);
                let ahead = ahead.filter(|other| books.known_before(**other, self.jobs[other].at, began));
                for other in ahead {
                    found.push(("order", format!("job {id} of lane {lane:?} was claimed before {other}")));
                }
                if let Some(by) = self.blocked.get(&lane)
                    && books.most((BLOCK, "goes on"), began, at) == 0
                {
                    found.push(("blocked", format!("job {id} was claimed in {lane:?}, which stopped for {by}")));
                }
            }
        }
        for (kind, what) in found {
            self.fault(kind, what);
        }
        if job.queue == RATED {
            self.rate(None, at, RATE.period_ms, RATE.max);
            if let Some(tenant) = job.tenant {
                self.rate(Some(tenant), at, KEY_RATE.period_ms, KEY_RATE.max);
            }
        }
    }

    /// The limits of Q8 that a grant has broken.
    fn beyond(&self, books: &Books, job: &Job, began: i64, at: i64) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let queue = match job.queue.as_str() {
            FIXED => FIXED,
            BLOCK => BLOCK,
            LIVE => LIVE,
            _ => "",
        };
        let mut judge = |kind, setting, runs: i64, whose: &str| {
            let most = books.most(setting, began, at);
            if runs > most {
                found.push((kind, format!("{runs} jobs of {whose} run, of at most {most}")));
            }
        };
        judge("engine limit", ("", "max_running"), self.running.len() as i64, "the engine");
        if !queue.is_empty() {
            judge("queue limit", (queue, "max_running"), self.by_queue[queue], queue);
            if let Some(tenant) = job.tenant() {
                judge("tenant limit", (queue, "max_running_per_key"), self.by_tenant[&tenant], &format!("{tenant:?}"));
            }
            if books.most((queue, "open"), began, at) == 0 {
                found.push(("paused", format!("a job of {queue} was claimed while it was paused")));
            }
        }
        found
    }

    /// A claim at the turn of a period may count on either side of it: twice the rate is too much for certain.
    fn rate(&mut self, tenant: Option<String>, at: i64, period_ms: u64, max: u32) {
        let period = at / 1_000 / period_ms as i64;
        let spent = self.by_period.entry((tenant.clone(), period)).or_default();
        *spent += 1;
        if *spent > 2 * max {
            let spent = *spent;
            self.fault("rate", format!("{spent} claims of {tenant:?} in one period, of at most {max}"));
        }
    }

    /// Compares what callers were told, and what the tables hold now, with what was committed.
    pub(crate) fn close(&self, queued: &HashSet<i64>, history: &HashMap<i64, Status>) {
        let mut found = Vec::new();
        {
            let books = self.ledger.books();
            for id in books.puts.keys().filter(|id| !self.ever.contains(id)) {
                found.push(format!("job {id} was accepted and never committed"));
            }
            for id in books.undone.iter().filter(|id| self.ever.contains(id)) {
                found.push(format!("job {id} was rolled back and committed"));
            }
            for (id, token) in books.claims.difference(&self.granted) {
                found.push(format!("job {id} was handed out under {token}, which was never committed"));
            }
            for ((id, token), Ending { verb, status }) in &books.endings {
                let agrees = |(by, to): &(Option<Verb>, Status)| by.is_none_or(|by| by == *verb) && to == status;
                let stored = self.ended.get(&(*id, *token));
                if !stored.is_some_and(agrees) {
                    found.push(format!("job {id} under {token}: told {verb} and {status}, stored {stored:?}"));
                }
            }
        }
        if !self.jobs.keys().all(|id| queued.contains(id)) || queued.len() != self.jobs.len() {
            found.push(format!("{} jobs are queued, {} were committed as such", queued.len(), self.jobs.len()));
        }
        if *history != self.history {
            found.push(format!("{} jobs are in history, {} were committed as such", history.len(), self.history.len()));
        }
        for what in found {
            self.fault("told", what);
        }
    }
}

fn read_job(m: &Value, at: i64, again: bool) -> Job {
    let sent = &m["payload"];
    Job {
        queue: word(m, "queue").unwrap_or_default(),
        lane: word(sent, "lane"),
        tenant: word(sent, "tenant"),
        key: word(sent, "key"),
        running: m["running"].as_bool() == Some(true),
        token: m["token"].as_i64(),
        at,
        again,
    }
}

fn number(m: &Value, field: &str) -> i64 {
    m[field].as_i64().unwrap_or_default()
}

fn word(m: &Value, field: &str) -> Option<String> {
    m[field].as_str().map(str::to_owned)
}
