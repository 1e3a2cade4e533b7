//! A crew: somebody who adds jobs, workers of jobs and of domains, and what all of them were answered.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tenure::domain::{Acquired, Work, offsets};
use tenure::{Act, Change, Context, Ended, Filter, Hooks, JobInfo, LostReason, NewJob, Outcome, Outcomes};
use tenure::{Report, Result, Status, Tenure};
use tenure_testing::PostgresServer;
use tenure_testing::history::{self, Answer, Asked, End, Fault, Found, History, judge};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Jobs, in this many lanes, of this many tenants.
const JOBS: usize = 240;
const LANES: usize = 12;
const TENANTS: usize = 3;
/// The most that run at once: of the queue, and of each tenant.
const W: usize = 6;
const W_TENANT: usize = 3;
/// Offsets of each domain.
const DOMAINS: usize = 4;
const OFFSETS: u64 = 40;
const LEASE: Duration = Duration::from_secs(3);
/// Two of each.
const WORKERS: usize = 2;
/// Something is stuck if it takes longer than this, on any machine.
const PATIENCE: Duration = Duration::from_secs(90);
const QUEUE: &str = "q";

/// Runs what blocks beside the runtime.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("no panic")
}

/// Runs a statement as the administrator, and gives what it answered.
pub(crate) fn psql(server: &PostgresServer, database: &str, sql: &str) -> String {
    let mut psql = Command::new(server.programs().join("psql"));
    let output =
        psql.args(["-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql, &server.url(database)]).output().expect("psql");
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// What everybody writes into.
#[derive(Default)]
struct Books {
    history: History,
    outages: AtomicUsize,
}

/// Held from now until this is dropped, which a handler's future is however it ends.
struct Holding(Arc<Books>, Asked);

impl Books {
    fn hold(self: &Arc<Books>, unit: &str, token: i64) -> Holding {
        Holding(self.clone(), self.history.ask(history::Act::Hold { unit: unit.to_owned(), token }))
    }

    fn finish(&self, unit: &str, token: i64, last: bool, answer: Option<Answer>) {
        let asked = self.history.ask(history::Act::Finish { unit: unit.to_owned(), token, last });
        if let Some(answer) = answer {
            self.history.answer(asked, answer);
        }
    }

    fn finished(&self) -> usize {
        self.history.accepted(|act| matches!(act, history::Act::Finish { last: true, .. }))
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.history.answer(self.1, Answer::Accepted);
    }
}

/// The name of a job: its payload.
fn unit_of(payload: &str) -> String {
    format!("job {payload}")
}

fn is_last(act: &Act) -> bool {
    matches!(act, Act::Complete { .. })
}

struct Told(Arc<Books>);

impl Hooks for Told {
    fn ended(&self, cx: &Context, act: &Act, _: Ended, _: Duration) {
        self.0.finish(&unit_of(&cx.job().payload), cx.token().0, is_last(act), Some(Answer::Accepted));
    }

    fn refused(&self, cx: &Context, act: &Act, reason: LostReason) {
        // A lease that ran out while the ending went unanswered: the store may have taken it before.
        let answer = (reason != LostReason::Expired).then_some(Answer::Refused);
        self.0.finish(&unit_of(&cx.job().payload), cx.token().0, is_last(act), answer);
    }

    fn store_away(&self, _: &tenure::Error) {
        self.0.outages.fetch_add(1, Ordering::SeqCst);
    }
}

/// Adds all jobs, one after the other, each until it was taken.
async fn add_all(tenure: Tenure, books: Arc<Books>) {
    for n in 0..JOBS {
        let (lane, tenant) = (format!("lane {}", n % LANES), format!("tenant {}", n % TENANTS));
        let unit = unit_of(&n.to_string());
        let limits = vec![QUEUE.to_owned(), tenant.clone()];
        let asked = books.history.ask(history::Act::Add { unit, lane: Some(lane.clone()), limits });
        // Its key makes it one job, however often it is sent.
        let job = NewJob::new(QUEUE, "k", n.to_string()).key(n.to_string()).ordering_key(lane).limit_key(tenant);
        let job = job.attempts_max(1_000);
        while let Err(error) = tenure.enqueue(job.clone()).await {
            assert!(matches!(error, tenure::Error::Unavailable { .. }), "{error}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        books.history.answer(asked, Answer::Accepted);
        // There is something to add as long as things happen.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn work(tenure: Tenure, books: Arc<Books>, mut leave: watch::Receiver<bool>) -> Result<Report> {
    let at_work = books.clone();
    let handler = move |cx: Context| {
        let books = at_work.clone();
        async move {
            let unit = unit_of(&cx.job().payload);
            let holding = books.hold(&unit, cx.token().0);
            // Some outlive a heartbeat.
            let ms = if cx.id().0 % 40 == 0 { 1_200 } else { 10 + cx.id().0 as u64 % 20 };
            tokio::time::sleep(Duration::from_millis(ms)).await;
            // Written down as asked before it is: who comes next in its lane may be quicker than the answer.
            books.finish(&unit, cx.token().0, true, None);
            drop(holding);
            Outcome::<Option<String>>::done(None)
        }
    };
    let worker = tenure.worker().queue(QUEUE).concurrency(4).lease(LEASE).cancel_grace(Duration::from_millis(200));
    let worker = worker.grace(Duration::from_secs(5)).hooks(Told(books)).handle_any(handler);
    worker.run_until(async move { drop(leave.wait_for(|leave| *leave).await) }).await
}

fn domain(n: usize) -> String {
    format!("domain {n}")
}

fn unit_at(domain: &str, offset: u64) -> String {
    format!("{domain} at {offset}")
}

/// Every offset of every domain, which two workers are offered alike.
fn all_offsets() -> impl Iterator<Item = (String, u64)> + Send + 'static {
    (1..=OFFSETS).flat_map(|offset| (0..DOMAINS).map(move |n| (domain(n), offset)))
}

async fn work_domains(tenure: Tenure, books: Arc<Books>) -> Result<()> {
    let handler = move |work: Work| {
        let books = books.clone();
        async move {
            let unit = unit_at(&work.domain, work.offset);
            let holding = books.hold(&unit, work.token.0);
            tokio::time::sleep(Duration::from_millis(20)).await;
            // What became of it the worker does not tell: it stays open.
            books.finish(&unit, work.token.0, true, None);
            drop(holding);
            Ok::<(), String>(())
        }
    };
    let worker = tenure.domain_worker().lease(LEASE).look_every(Duration::from_millis(200));
    worker.run(offsets(all_offsets()), handler).await.map(drop)
}

/// A crew at work.
pub(crate) struct Crew {
    url: String,
    books: Arc<Books>,
    leave: watch::Sender<bool>,
    adding: Option<JoinHandle<()>>,
    workers: Vec<JoinHandle<Result<Report>>>,
    domain_workers: Vec<JoinHandle<Result<()>>>,
}

/// What came of it.
pub(crate) struct Done {
    pub(crate) faults: Vec<Fault>,
    pub(crate) outages: usize,
    /// Everybody had come home before the time was over.
    pub(crate) in_time: bool,
    pub(crate) summary: String,
}

impl Done {
    /// No promise was broken.
    pub(crate) fn is_well(&self) {
        let faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        assert!(faults.is_empty() && self.in_time, "{}: {faults:#?}", self.summary);
        println!("{}", self.summary);
    }
}

impl Crew {
    /// Sets the limits, and everybody to work.
    pub(crate) async fn begin(url: &str) -> Crew {
        let mut crew = Crew::made(url, url).await;
        let tenure = Tenure::open(url).await.unwrap();
        crew.adding = Some(tokio::spawn(add_all(tenure, crew.books.clone())));
        crew.work().await
    }

    /// All jobs are added at `url`; worked on they will be at `later`, where it is not open yet.
    pub(crate) async fn filled(url: &str, later: &str) -> Crew {
        let crew = Crew::made(url, later).await;
        add_all(Tenure::open(url).await.unwrap(), crew.books.clone()).await;
        crew
    }

    async fn made(url: &str, later: &str) -> Crew {
        let tenure = Tenure::open(url).await.unwrap();
        let (max_running, per_key) = (Some(Some(W as u32)), Some(Some(W_TENANT as u32)));
        let change = Change { max_running, max_running_per_key: per_key, ..Change::default() };
        tenure.verbs().change_queue(QUEUE, change).await.unwrap();
        let books = Arc::new(Books::default());
        for (domain, offset) in all_offsets() {
            let (unit, lane) = (unit_at(&domain, offset), Some(domain));
            let asked = books.history.ask(history::Act::Add { unit, lane, limits: Vec::new() });
            books.history.answer(asked, Answer::Accepted);
        }
        let leave = watch::Sender::new(false);
        let (workers, domain_workers) = (Vec::new(), Vec::new());
        Crew { url: later.to_owned(), books, leave, adding: None, workers, domain_workers }
    }

    pub(crate) async fn work(mut self) -> Crew {
        for _ in 0..WORKERS {
            let (tenure, beside) = (Tenure::open(&self.url).await.unwrap(), Tenure::open(&self.url).await.unwrap());
            self.workers.push(tokio::spawn(work(tenure, self.books.clone(), self.leave.subscribe())));
            self.domain_workers.push(tokio::spawn(work_domains(beside, self.books.clone())));
        }
        self
    }

    /// Returns when a good part is done, and most is not.
    pub(crate) async fn at_work(&self) {
        let look = async {
            while self.books.finished() < JOBS / 6 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, look).await.expect("somebody works");
        assert!(self.books.finished() < JOBS, "all is done before anything happens");
    }

    /// Waits until everything has ended, sends everybody home, and judges.
    pub(crate) async fn end(self) -> Done {
        let began = Instant::now();
        let Crew { url, books, leave, adding, workers, domain_workers } = self;
        let all_ended = async {
            if let Some(adding) = adding {
                adding.await.expect("no panic");
            }
            for worker in domain_workers {
                worker.await.expect("no panic").expect("a worker of domains goes on");
            }
            loop {
                let open = Tenure::open(&url).await;
                if let Ok(tenure) = open
                    && let Ok(Some(queue)) = tenure.verbs().queue(QUEUE).await
                    && queue.counts.queued + queue.counts.running == 0
                {
                    return tenure;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        // What is stuck is for the judge.
        let ended = tokio::time::timeout(PATIENCE, all_ended).await;
        let in_time = ended.is_ok();
        let tenure = match ended {
            Ok(tenure) => tenure,
            Err(_) => Tenure::open(&url).await.expect("the store is there in the end"),
        };
        leave.send_replace(true);
        for worker in workers {
            worker.await.expect("no panic").expect("a worker goes on");
        }
        let found = found(&tenure).await;
        let mut limits = BTreeMap::from([(QUEUE.to_owned(), W)]);
        limits.extend((0..TENANTS).map(|n| (format!("tenant {n}"), W_TENANT)));
        let calls = books.history.calls();
        let holds = calls.iter().filter(|call| matches!(call.act, history::Act::Hold { .. })).count();
        let faults = judge(&calls, &found, &limits);
        let outages = books.outages.load(Ordering::SeqCst);
        let summary = format!(
            "{} units, {holds} times held, {outages} outages noticed, {:.1} s until the end; {} promises broken",
            found.len(),
            began.elapsed().as_secs_f64(),
            faults.len(),
        );
        Done { faults, outages, in_time, summary }
    }
}

async fn found(tenure: &Tenure) -> Vec<Found> {
    let mut jobs: Vec<JobInfo> = Vec::new();
    loop {
        let filter = Filter { queue: Some(QUEUE.to_owned()), ..Filter::default() };
        let page = tenure.verbs().jobs(filter, jobs.last().map(|job| job.id), 500).await.unwrap();
        jobs.extend(page.items);
        if !page.more {
            break;
        }
    }
    let mut found: Vec<Found> = Vec::new();
    for job in jobs {
        let end = match (job.status, job.token) {
            (Status::Completed, Some(token)) => End::By(token.0),
            (Status::Completed | Status::Failed, _) => End::Otherwise,
            (Status::Queued | Status::Running, _) => End::None,
        };
        found.push(Found { unit: unit_of(&job.payload), end });
    }
    for (name, offset) in all_offsets() {
        let ended =
            tenure.domain(&name).try_acquire(offset).await.is_ok_and(|asked| asked == Acquired::AlreadyProcessed);
        let end = if ended { End::Untold } else { End::None };
        found.push(Found { unit: unit_at(&name, offset), end });
    }
    found
}
