//! The public data types serialise themselves: here is the text of one value of each, so that a field that is renamed,
//! moved or added in the core cannot change what HTTP and `--json` show without anybody noticing.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use tenure::{Backoff, JobId, Time, Token};

const NOON: Time = Time(1_767_268_800_000_000);

fn shown(value: impl Serialize, json: &str) {
    assert_eq!(serde_json::to_string(&value).unwrap(), json);
}

/// Shown as `json`, and the same when it is read back.
fn both_ways<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T, json: &str) {
    shown(&value, json);
    assert_eq!(serde_json::from_str::<T>(json).unwrap(), value);
}

fn backoff() -> Backoff {
    Backoff { initial_ms: 1, factor: 2.0, max_ms: 3, jitter: 0.5 }
}

const BACKOFF: &str = r#"{"initial_ms":1,"factor":2.0,"max_ms":3,"jitter":0.5}"#;

#[test]
fn instants_and_ids_are_text_tokens_are_numbers() {
    both_ways(NOON, r#""2026-01-01T12:00:00Z""#);
    both_ways((JobId(7), tenure::sync::SyncId(8), tenure::pipeline::RunId(9)), r#"["7","8","9"]"#);
    both_ways(Token(1 << 40), "1099511627776");
    both_ways(tenure::Status::Queued, r#""queued""#);
    for wrong in [r#""007""#, "7", r#""""#] {
        assert!(serde_json::from_str::<JobId>(wrong).is_err(), "{wrong}");
    }
    assert!(serde_json::from_str::<Time>(r#""noon""#).unwrap_err().to_string().contains("noon"));
    assert!(serde_json::from_str::<tenure::Status>(r#""QUEUED""#).is_err());
}

#[test]
fn jobs_have_the_form_of_the_wire() {
    use tenure::{Attempt, AttemptOutcome, ClaimedJob, Claims, Ended, Enqueued, Idle, Status};
    both_ways(
        Enqueued { id: JobId(7), status: Status::Queued, deduplicated: true },
        r#"{"id":"7","status":"queued","deduplicated":true}"#,
    );
    let job = ClaimedJob {
        id: JobId(7),
        queue: "q".to_owned(),
        kind: "k".to_owned(),
        payload: r#"{ "a" : 1.0}"#.to_owned(),
        priority: -1,
        attempt: 2,
        attempts_max: 5,
        token: Token(4),
        lease_expires_at: NOON,
        created_at: NOON,
        run_at: NOON,
        timeout_ms: Some(9),
        checkpoint: Some("[2]".to_owned()),
        ordering_key: None,
        limit_key: Some("l".to_owned()),
    };
    both_ways(
        Claims { jobs: vec![job.clone()], idle: None, again_in_ms: None },
        concat!(
            r#"{"jobs":[{"id":"7","queue":"q","kind":"k","payload":{ "a" : 1.0},"priority":-1,"attempt":2,"#,
            r#""attempts_max":5,"token":4,"lease_expires_at":"2026-01-01T12:00:00Z","checkpoint":[2],"#,
            r#""created_at":"2026-01-01T12:00:00Z","run_at":"2026-01-01T12:00:00Z","timeout_ms":9,"#,
            r#""ordering_key":null,"limit_key":"l"}],"reason":null}"#
        ),
    );
    let none = Claims { jobs: vec![], idle: Some(Idle::Empty), again_in_ms: Some(5) };
    shown(none, r#"{"jobs":[],"reason":"empty"}"#);
    let damaged = serde_json::to_value(ClaimedJob { payload: "{".to_owned(), checkpoint: None, ..job }).unwrap();
    assert_eq!((&damaged["payload"], &damaged["checkpoint"]), (&"(not JSON)".into(), &serde_json::Value::Null));
    both_ways(Ended { status: Status::Completed, already: false }, r#"{"status":"completed","already":false}"#);
    let attempt = Attempt {
        token: Token(4),
        owner: "w".to_owned(),
        claimed_at: NOON,
        ended_at: None,
        outcome: Some(AttemptOutcome::Expired),
        verb: None,
        error: None,
        pulse: Default::default(),
    };
    both_ways(
        attempt,
        concat!(
            r#"{"token":4,"worker":"w","claimed_at":"2026-01-01T12:00:00Z","ended_at":null,"outcome":"expired","#,
            r#""error":null,"beats":0,"last_beat_at":null,"longest_gap_ms":0}"#
        ),
    );
    shown(tenure::Bulk { done: 1, passed_over: 2 }, r#"{"done":1,"passed_over":2}"#);
    shown(
        tenure::Report {
            completed: 1,
            skipped: 7,
            split: 8,
            failed: 2,
            retried: 3,
            snoozed: 4,
            released: 5,
            refused: 6,
        },
        r#"{"completed":1,"skipped":7,"split":8,"failed":2,"retried":3,"snoozed":4,"released":5,"refused":6}"#,
    );
}

#[test]
fn queues_workers_and_reasons_have_the_form_of_the_wire() {
    use tenure::{Counts, Explanation, Rate, Settings, Sighting, Why, WorkerInfo};
    both_ways(
        Settings { rate_limit: Some(Rate { max: 2, period_ms: 3 }), retention_ms: 4, ..Settings::default() },
        concat!(
            r#"{"paused":false,"max_running":null,"max_running_per_key":null,"lane_on_failure":"continue","#,
            r#""retention_ms":4,"rate_limit":{"max":2,"period_ms":3},"rate_limit_per_key":null}"#
        ),
    );
    both_ways(
        Counts { queued: 1, running: 2, completed: 3, failed: 4 },
        r#"{"queued":1,"running":2,"completed":3,"failed":4}"#,
    );
    let sighting = Sighting {
        owner: "w".to_owned(),
        queue: "q".to_owned(),
        kinds: None,
        kinds_capped: false,
        first_seen_at: NOON,
        seen_at: NOON,
    };
    let worker = WorkerInfo {
        name: "w".to_owned(),
        first_seen_at: NOON,
        last_seen_at: NOON,
        running: 1,
        running_capped: false,
        sightings: vec![sighting],
        sightings_capped: true,
    };
    shown(
        worker,
        concat!(
            r#"{"name":"w","running":1,"running_capped":false,"first_seen_at":"2026-01-01T12:00:00Z","#,
            r#""last_seen_at":"2026-01-01T12:00:00Z","queues":[{"queue":"q","kinds":null,"kinds_capped":false,"#,
            r#""last_seen_at":"2026-01-01T12:00:00Z"}],"queues_capped":true}"#
        ),
    );
    let why = Why { code: "held", message: "m".to_owned() };
    shown(
        Explanation { summary: "s".to_owned(), reasons: vec![why] },
        r#"{"summary":"s","reasons":[{"code":"held","message":"m"}]}"#,
    );
}

#[test]
fn schedules_have_the_form_of_the_wire() {
    use tenure::schedule::{CatchUp, Definition, Firing, Schedule, Slot};
    let job = tenure::NewJob::new("q", "k", "[1, 2]").backoff(backoff());
    let definition = Definition {
        cron: "@daily".to_owned(),
        zone: "UTC".to_owned(),
        catch_up: CatchUp::Latest,
        paused: false,
        job: job.clone(),
    };
    let schedule = Schedule {
        name: "s".to_owned(),
        definition,
        revision: 3,
        created_at: NOON,
        updated_at: NOON,
        next_at: None,
        last: Some(Firing { slot: NOON, fired_at: NOON, job: JobId(7) }),
        fired: 1,
        missed: 2,
        missed_at: Some(NOON),
    };
    let of_job = format!(
        r#"{{"queue":"q","kind":"k","payload":[1, 2],"priority":0,"attempts_max":5,"timeout_ms":null,"backoff":{BACKOFF},"ordering_key":null,"limit_key":null}}"#
    );
    both_ways(job, &of_job);
    let last = r#"{"slot":"2026-01-01T12:00:00Z","fired_at":"2026-01-01T12:00:00Z","job":"7"}"#;
    let standing = r#""fired":1,"missed":2,"missed_at":"2026-01-01T12:00:00Z","created_at":"2026-01-01T12:00:00Z""#;
    shown(
        schedule,
        &format!(
            r#"{{"name":"s","cron":"@daily","zone":"UTC","catch_up":"latest","paused":false,"job":{of_job},"next_at":null,"last":{last},{standing},"updated_at":"2026-01-01T12:00:00Z"}}"#
        ),
    );
    shown(Slot { at: NOON, local: "l".to_owned() }, r#"{"at":"2026-01-01T12:00:00Z","local":"l"}"#);
}

#[test]
fn runs_have_the_form_of_the_wire() {
    use tenure::pipeline::{Artifact, ClaimedUnit, Ended, Run, RunId, RunStatus, SegmentCounts, Stage, Status};
    let stage = Stage { lease_ms: 6, backoff: Some(backoff()), ..Stage::new("s") };
    let json = format!(
        r#"{{"name":"s","needs":[],"lease_ms":6,"attempts_max":5,"backoff":{BACKOFF},"priority":0,"segmented":false}}"#
    );
    both_ways(stage, &json);
    both_ways(
        SegmentCounts { all: 1, ready: 2, running: 3, done: 4, error: 5 },
        r#"{"all":1,"ready":2,"running":3,"done":4,"error":5}"#,
    );
    both_ways(
        Artifact { path: "p".to_owned(), size: 1, blake3: "b".to_owned() },
        r#"{"path":"p","size":1,"blake3":"b"}"#,
    );
    both_ways(Ended { status: Status::Done, already: true }, r#"{"status":"DONE","already":true}"#);
    let run = Run {
        id: RunId(9),
        pipeline: "p".to_owned(),
        version: 2,
        input: "1".to_owned(),
        status: RunStatus::Running,
        paused: false,
        created_at: NOON,
        finished_at: None,
        key: Some("k".to_owned()),
    };
    let brief = concat!(
        r#"{"id":"9","pipeline":"p","version":2,"status":"RUNNING","paused":false,"#,
        r#""created_at":"2026-01-01T12:00:00Z","finished_at":null,"key":"k""#
    );
    shown(&run, &format!("{brief}}}"));
    let whole = tenure_wire::pipeline::reply::Run::whole((run, Vec::new()));
    shown(whole, &format!(r#"{brief},"input":1,"stages":[]}}"#));
    let unit = ClaimedUnit {
        run: RunId(9),
        pipeline: "p".to_owned(),
        version: 2,
        stage: "s".to_owned(),
        segment: None,
        join: false,
        segmented: true,
        input: "[ ]".to_owned(),
        attempt: 1,
        attempts_max: 5,
        token: Token(4),
        lease_expires_at: NOON,
        lease_ms: 1,
        record: None,
    };
    let claimed = concat!(
        r#"{"run":"9","pipeline":"p","version":2,"stage":"s","segment":null,"join":false,"segmented":true,"#,
        r#""input":[ ],"attempt":1,"attempts_max":5,"token":4,"lease_expires_at":"2026-01-01T12:00:00Z""#
    );
    shown(&unit, &format!("{claimed}}}"));
    let claims = tenure::pipeline::Claims { units: vec![unit] };
    let claims = tenure_wire::pipeline::reply::ClaimedUnits::from(claims);
    shown(claims, &format!(r#"{{"units":[{claimed},"artifacts":[]}}]}}"#));
}

#[test]
fn syncs_have_the_form_of_the_wire() {
    use tenure::sync::{ClaimedChunk, ClaimedSync, Ended, Planned, Progress, State, SyncId};
    both_ways(
        Planned { id: SyncId(8), planned: 3, added: 2, skipped: 1 },
        r#"{"id":"8","planned":3,"added":2,"skipped":1}"#,
    );
    let (id, token, lease_expires_at) = (SyncId(8), Token(4), NOON);
    both_ways(
        ClaimedSync {
            id,
            matrix_id: "m".to_owned(),
            priority: 1,
            created_at: NOON,
            planned: 3,
            token,
            lease_expires_at,
        },
        concat!(
            r#"{"id":"8","matrix_id":"m","priority":1,"planned":3,"created_at":"2026-01-01T12:00:00Z","token":4,"#,
            r#""lease_expires_at":"2026-01-01T12:00:00Z"}"#
        ),
    );
    let chunk = ClaimedChunk {
        sync: id,
        matrix_id: "m".to_owned(),
        chunk_hash: "h".to_owned(),
        payload: "null".to_owned(),
        attempt: 1,
        attempts_max: 5,
        token,
        lease_expires_at,
        last_synced_at: None,
        row_count: Some(2),
        cursor: Some(r#"{"a":1}"#.to_owned()),
    };
    both_ways(
        chunk,
        concat!(
            r#"{"sync":"8","matrix_id":"m","chunk_hash":"h","payload":null,"attempt":1,"attempts_max":5,"token":4,"#,
            r#""lease_expires_at":"2026-01-01T12:00:00Z","last_synced_at":null,"row_count":2,"cursor":{"a":1}}"#
        ),
    );
    both_ways(Ended { state: State::Completed, already: false }, r#"{"state":"COMPLETED","already":false}"#);
    shown(
        Progress { available: 1, running: 2, rows: 3, began_at: Some(NOON), ..Progress::default() },
        r#"{"available":1,"running":2,"expired":0,"completed":0,"failed":0,"skipped":0,"rows":3}"#,
    );
}

#[test]
fn domains_have_the_form_of_the_wire() {
    use tenure::domain::{Beaten, DomainInfo, LeaseInfo, Settings};
    let lease = LeaseInfo {
        offset: 1,
        holder: Some("h".into()),
        acquired_at: NOON,
        retry_count: 2,
        takeovers: 3,
        lease_ms: Some(4),
        lease_expires_at: Some(NOON),
        expired: false,
    };
    let info = DomainInfo {
        name: "d".into(),
        created_at: NOON,
        settings: Settings { max_retries: 5, takeovers_max: None },
        lease: Some(lease),
        backlog_len: 6,
        backlog_head: Some(7),
        backlog_oldest_at: Some(NOON),
    };
    shown(
        info,
        concat!(
            r#"{"domain":"d","lease":{"offset":1,"holder":"h","acquired_at":"2026-01-01T12:00:00Z","retry_count":2,"#,
            r#""takeovers":3,"lease_ms":4,"lease_expires_at":"2026-01-01T12:00:00Z","expired":false},"backlog_len":6,"#,
            r#""backlog_head":7,"backlog_oldest_at":"2026-01-01T12:00:00Z","max_retries":5,"takeovers_max":null,"#,
            r#""created_at":"2026-01-01T12:00:00Z"}"#
        ),
    );
    both_ways(Beaten { lease_expires_at: None }, r#"{"lease_expires_at":null}"#);
}

#[test]
fn events_have_the_form_of_the_wire_and_say_what_happened() {
    use tenure::{domain, pipeline, sync};
    use tenure_wire::reply::Timeline;
    let at = r#"{"events":[{"at":"2026-01-01T12:00:00Z","first_at":null,"#;
    let event = tenure::Event::new(NOON, JobId(7), tenure::What::Claimed).by("w", Token(4));
    shown(
        Timeline::new(vec![event], tenure::Event::message),
        &format!(
            r#"{at}"what":"claimed","token":4,"owner":"w","by":null,"count":1,"message":"w claimed it under token 4"}}]}}"#
        ),
    );
    let event = sync::SyncEvent::new(NOON, &sync::Unit::chunk(sync::SyncId(8), "h"), sync::What::Planned);
    shown(
        Timeline::new(vec![event], sync::SyncEvent::message),
        &format!(
            r#"{at}"what":"planned","chunk_hash":"h","token":null,"owner":null,"by":null,"count":1,"message":"chunk h was planned"}}]}}"#
        ),
    );
    let event = domain::Event {
        token: Some(Token(1 << 40)),
        holder: Some("h".into()),
        ..domain::Event::of(NOON, domain::What::Expired, 5)
    };
    shown(
        Timeline::new(vec![event], domain::Event::message),
        &format!(
            r#"{at}"what":"expired","offset":5,"token":"1099511627776","owner":"h","by":null,"count":1,"message":"the lease of h on offset 5 (token 1099511627776) ran out"}}]}}"#
        ),
    );
    let event = pipeline::Event::of_unit(NOON, pipeline::RunId(9), "s", None, pipeline::What::Split).by("w", Token(4));
    let message = event.message();
    shown(
        Timeline::new(vec![event], pipeline::Event::message),
        &format!(
            r#"{at}"what":"split","stage":"s","segment":null,"token":4,"owner":"w","by":null,"count":1,"message":"{message}"}}]}}"#
        ),
    );
}
