//! Every statement, one file each. Nothing here is ever put together from strings.

macro_rules! statements {
    ($($name:ident = $file:literal,)+) => {
        $(pub(crate) const $name: &str = include_str!(concat!("../queries/", $file));)+

        /// Each statement's file and text.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] = &[$(($file, $name),)+];
    };
}

statements! {
    SCHEDULE_CHANGE = "schedule/change.sql",
    SCHEDULE_CREATE = "schedule/create.sql",
    SCHEDULE_DRAW_REVISION = "schedule/draw_revision.sql",
    SCHEDULE_DUE = "schedule/due.sql",
    SCHEDULE_FIRE = "schedule/fire.sql",
    SCHEDULE_FIRING = "schedule/firing.sql",
    SCHEDULE_FIRINGS = "schedule/firings.sql",
    SCHEDULE_FORGET_FIRINGS = "schedule/forget_firings.sql",
    SCHEDULE_NEXT = "schedule/next.sql",
    SCHEDULE_REMOVE = "schedule/remove.sql",
    SCHEDULE = "schedule/schedule.sql",
    SCHEDULES = "schedule/schedules.sql",
    SCHEDULE_TRIM = "schedule/trim.sql",
    ANY_STUCK = "store/any_stuck.sql",
    EPOCH = "store/epoch.sql",
    NEW_EPOCH = "store/new_epoch.sql",
    SCHEMA = "store/schema.sql",
    SCHEMA_CREATE = "store/schema_create.sql",
    SCHEMA_EXISTS = "store/schema_exists.sql",
    SCHEMA_RECORD = "store/schema_record.sql",
    UNSTICK = "store/unstick.sql",
    DOMAIN_ENDED_BELOW = "domain/ended_below.sql",
    DOMAIN_ENDED_PUT = "domain/ended_put.sql",
    DOMAIN_ENDED_TAKE = "domain/ended_take.sql",
    DOMAIN_EVENT = "domain/event.sql",
    DOMAIN_EVENTS = "domain/events.sql",
    DOMAIN_EXPIRED = "domain/expired.sql",
    DOMAIN_FAILED_BELOW = "domain/failed_below.sql",
    DOMAIN_FAILED_PUT = "domain/failed_put.sql",
    DOMAIN_FAILED_TAKE = "domain/failed_take.sql",
    DOMAIN_FIND = "domain/find.sql",
    DOMAIN_FORGET_EVENTS = "domain/forget_events.sql",
    DOMAIN_HEAD = "domain/head.sql",
    DOMAIN_LEAVE = "domain/leave.sql",
    DOMAIN_LIST = "domain/list.sql",
    DOMAIN_LIST_BLOCKED = "domain/list_blocked.sql",
    DOMAIN_LIST_EXPIRED = "domain/list_expired.sql",
    DOMAIN_MAKE = "domain/make.sql",
    DOMAIN_REFUSALS = "domain/refusals.sql",
    DOMAIN_REFUSED = "domain/refused.sql",
    DOMAIN_SAVE = "domain/save.sql",
    DOMAIN_SHOW = "domain/show.sql",
    DOMAIN_WAIT = "domain/wait.sql",
    ALL_HOLDERS = "queue/all_holders.sql",
    ASKED_TO_STOP = "queue/asked_to_stop.sql",
    ATTEMPTS = "queue/attempts.sql",
    BLOCKING = "queue/blocking.sql",
    CANCEL = "queue/cancel.sql",
    CANCEL_REQUESTED = "queue/cancel_requested.sql",
    CHANGE = "queue/change.sql",
    CLAIM = "queue/claim.sql",
    CLAIM_ONE = "queue/claim_one.sql",
    CLAIMED = "queue/claimed.sql",
    COMPLETE_MANY = "queue/complete_many.sql",
    CREATE_QUEUE = "queue/create_queue.sql",
    DEDUP = "queue/dedup.sql",
    DEDUP_ENDED = "queue/dedup_ended.sql",
    DRAW_GRANTS = "queue/draw_grants.sql",
    DRAW_IDS = "queue/draw_ids.sql",
    DROP_LEASE = "queue/drop_lease.sql",
    ENGINE = "queue/engine.sql",
    ENQUEUE = "queue/enqueue.sql",
    EVENT = "queue/event.sql",
    EVENTS = "queue/events.sql",
    EVICT = "queue/evict.sql",
    EVICT_RECEIPT = "queue/evict_receipt.sql",
    EXPIRED = "queue/expired.sql",
    EXPIRED_OF = "queue/expired_of.sql",
    FINISH = "queue/finish.sql",
    FINISHED = "queue/finished.sql",
    FORGET = "queue/forget.sql",
    FORGET_EVENTS = "queue/forget_events.sql",
    FORGET_NOTES = "queue/forget_notes.sql",
    FORGET_REFUSALS = "queue/forget_refusals.sql",
    GRANT = "queue/grant.sql",
    HALT = "queue/halt.sql",
    HELD_BACK = "queue/held_back.sql",
    HELD_BY = "queue/held_by.sql",
    HELD_UNITS = "queue/held_units.sql",
    HOLDERS = "queue/holders.sql",
    IS_FINISHED = "queue/is_finished.sql",
    JOB = "queue/job.sql",
    KEYS_OF = "queue/keys_of.sql",
    LANE_BLOCK = "queue/lane_block.sql",
    LANE_BLOCKED_BY = "queue/lane_blocked_by.sql",
    LANE_FREE = "queue/lane_free.sql",
    LANE_HEAD = "queue/lane_head.sql",
    LANE_TURN = "queue/lane_turn.sql",
    LANES_FREE = "queue/lanes_free.sql",
    LEASE = "queue/lease.sql",
    LEASE_CANCELS = "queue/lease_cancels.sql",
    LEAVE = "queue/leave.sql",
    LEAVE_HISTORY = "queue/leave_history.sql",
    LEAVE_MANY = "queue/leave_many.sql",
    LIMIT = "queue/limit.sql",
    LIST_COMPLETED = "queue/list_completed.sql",
    LIST_FAILED = "queue/list_failed.sql",
    LIST_FINISHED = "queue/list_finished.sql",
    LIST_FINISHED_OF = "queue/list_finished_of.sql",
    LIST_RUNNING = "queue/list_running.sql",
    LIST_WAITING = "queue/list_waiting.sql",
    LIST_WAITING_OF = "queue/list_waiting_of.sql",
    LOCK = "queue/lock.sql",
    TURN = "queue/turn.sql",
    NEXT_DUE = "queue/next_due.sql",
    NEXT_END = "queue/next_end.sql",
    NEXT_OF_POOL = "queue/next_of_pool.sql",
    NOTE = "queue/note.sql",
    PARK_ALL = "queue/park_all.sql",
    PARK_OUTRANKED = "queue/park_outranked.sql",
    PAST = "queue/past.sql",
    PLACE = "queue/place.sql",
    PROMOTE = "queue/promote.sql",
    PRUNE_KEYS = "queue/prune_keys.sql",
    PRUNE_RECEIPTS = "queue/prune_receipts.sql",
    PRUNE_SIGHTINGS = "queue/prune_sightings.sql",
    PRUNE_TENANTS = "queue/prune_tenants.sql",
    PUT_BACK = "queue/put_back.sql",
    QUEUE = "queue/queue.sql",
    QUEUES = "queue/queues.sql",
    READY = "queue/ready.sql",
    READY_OF_KINDS = "queue/ready_of_kinds.sql",
    RECEIPT = "queue/receipt.sql",
    RECEIPTS_OF_EARLIER = "queue/receipts_of_earlier.sql",
    RECEIPTS_OF_LAST = "queue/receipts_of_last.sql",
    REFUSED = "queue/refused.sql",
    REMEMBER = "queue/remember.sql",
    RENEW = "queue/renew.sql",
    RETRY = "queue/retry.sql",
    RUN = "queue/run.sql",
    RUNNING = "queue/running.sql",
    SEE = "queue/see.sql",
    SEEN = "queue/seen.sql",
    SEEN_LAST = "queue/seen_last.sql",
    SEEN_LATELY = "queue/seen_lately.sql",
    SET_LIMIT = "queue/set_limit.sql",
    SETTINGS = "queue/settings.sql",
    SHOW = "queue/show.sql",
    SIGHTINGS = "queue/sightings.sql",
    SHRINK_LEASE = "queue/shrink_lease.sql",
    START = "queue/start.sql",
    STUCK = "queue/stuck.sql",
    TENANT = "queue/tenant.sql",
    TENANT_DROP = "queue/tenant_drop.sql",
    TENANT_HALT = "queue/tenant_halt.sql",
    TENANT_SET = "queue/tenant_set.sql",
    TENANTS_MOVED = "queue/tenants_moved.sql",
    UNFINISHED = "queue/unfinished.sql",
    SYNC_CHUNK = "sync/chunk.sql",
    SYNC_CHUNKS = "sync/chunks.sql",
    SYNC_DONE = "sync/done.sql",
    SYNC_EVENT = "sync/event.sql",
    SYNC_EVENTS = "sync/events.sql",
    SYNC_FORGET = "sync/forget.sql",
    SYNC_FORGET_CHUNKS = "sync/forget_chunks.sql",
    SYNC_FORGET_EVENTS = "sync/forget_events.sql",
    SYNC_JOB = "sync/job.sql",
    SYNC_JOBS = "sync/jobs.sql",
    SYNC_JOBS_OF = "sync/jobs_of.sql",
    SYNC_LAPSED_CHUNK = "sync/lapsed_chunk.sql",
    SYNC_LAPSED_JOB = "sync/lapsed_job.sql",
    SYNC_LAY = "sync/lay.sql",
    SYNC_LOCKED_CHUNKS = "sync/locked_chunks.sql",
    SYNC_NEXT_DEADLINE = "sync/next_deadline.sql",
    SYNC_PAST = "sync/past.sql",
    SYNC_PLAN = "sync/plan.sql",
    SYNC_PLANNED = "sync/planned.sql",
    SYNC_PROGRESS = "sync/progress.sql",
    SYNC_PROGRESSED = "sync/progressed.sql",
    SYNC_PRUNE_RECEIPTS = "sync/prune_receipts.sql",
    SYNC_RECEIPT = "sync/receipt.sql",
    SYNC_REFUSED = "sync/refused.sql",
    SYNC_REMEMBER = "sync/remember.sql",
    SYNC_SAVE_CHUNK = "sync/save_chunk.sql",
    SYNC_SAVE_JOB = "sync/save_job.sql",
    SYNC_UNFINISHED = "sync/unfinished.sql",
    SYNC_UNTOLD_CHUNKS = "sync/untold_chunks.sql",
    SYNC_UNTOLD_JOBS = "sync/untold_jobs.sql",
    SYNC_WAITING_CHUNK = "sync/waiting_chunk.sql",
    SYNC_WAITING_JOB = "sync/waiting_job.sql",
    WORKERS = "queue/workers.sql",
    PIPELINE_ADD_UNIT = "pipeline/add_unit.sql",
    PIPELINE_APPLY = "pipeline/apply.sql",
    PIPELINE_APPLY_STAGE = "pipeline/apply_stage.sql",
    PIPELINE_ATTEMPTS = "pipeline/attempts.sql",
    PIPELINE_CANCEL_REST = "pipeline/cancel_rest.sql",
    PIPELINE_CLOSE_RUN = "pipeline/close_run.sql",
    PIPELINE_DEFINITION = "pipeline/definition.sql",
    PIPELINE_DEFINITIONS = "pipeline/definitions.sql",
    PIPELINE_DROP_SEGMENTS = "pipeline/drop_segments.sql",
    PIPELINE_DUE = "pipeline/due.sql",
    PIPELINE_ENDED = "pipeline/ended.sql",
    PIPELINE_EVENT = "pipeline/event.sql",
    PIPELINE_EVENTS = "pipeline/events.sql",
    PIPELINE_EXPIRED = "pipeline/expired.sql",
    PIPELINE_EXPIRED_OF = "pipeline/expired_of.sql",
    PIPELINE_FORGET_ATTEMPTS = "pipeline/forget_attempts.sql",
    PIPELINE_FORGET_EVENTS = "pipeline/forget_events.sql",
    PIPELINE_FORGET_RUN = "pipeline/forget_run.sql",
    PIPELINE_FORGET_UNITS = "pipeline/forget_units.sql",
    PIPELINE_HELD_OF_RUN = "pipeline/held_of_run.sql",
    PIPELINE_KNOWS_STAGE = "pipeline/knows_stage.sql",
    PIPELINE_MOVABLE_SEGMENTS = "pipeline/movable_segments.sql",
    PIPELINE_KEYED = "pipeline/keyed.sql",
    PIPELINE_NEXT_DUE = "pipeline/next_due.sql",
    PIPELINE_OPEN_RUN = "pipeline/open_run.sql",
    PIPELINE_OPEN_SEGMENTS = "pipeline/open_segments.sql",
    PIPELINE_PAST = "pipeline/past.sql",
    PIPELINE_READY = "pipeline/ready.sql",
    PIPELINE_RECEIPT = "pipeline/receipt.sql",
    PIPELINE_REFUSED = "pipeline/refused.sql",
    PIPELINE_RETRY_SEGMENTS = "pipeline/retry_segments.sql",
    PIPELINE_RUN = "pipeline/run.sql",
    PIPELINE_RUNS = "pipeline/runs.sql",
    PIPELINE_SAVE = "pipeline/save.sql",
    PIPELINE_SEGMENT_COUNTS = "pipeline/segment_counts.sql",
    PIPELINE_SEGMENTS = "pipeline/segments.sql",
    PIPELINE_SET_RUN = "pipeline/set_run.sql",
    PIPELINE_STAGES = "pipeline/stages.sql",
    PIPELINE_START = "pipeline/start.sql",
    PIPELINE_TOUCH = "pipeline/touch.sql",
    PIPELINE_TOUCHED = "pipeline/touched.sql",
    PIPELINE_UNDONE = "pipeline/undone.sql",
    PIPELINE_UNIT = "pipeline/unit.sql",
    PIPELINE_UNTOUCH = "pipeline/untouch.sql",
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_is_listed_has_a_header_and_prepares_on_a_migrated_database() {
        let mut conn = crate::connection::writer(&crate::Place::Memory, crate::Synchronous::Off).unwrap();
        crate::migrate::migrate(&mut conn, tenure_core::Time(0)).unwrap();
        for (file, text) in ALL {
            assert!(text.starts_with(&format!("-- {file}: ")), "{file} does not begin with its name");
            assert!(text.contains("\n-- Reply  ") && text.contains("\n-- Index  "), "{file} lacks part of its header");
            conn.prepare(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        }
        let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
        let mut found = BTreeSet::new();
        for face in std::fs::read_dir(&queries).unwrap() {
            for file in std::fs::read_dir(face.unwrap().path()).unwrap() {
                found.insert(file.unwrap().path().strip_prefix(&queries).unwrap().display().to_string());
            }
        }
        assert_eq!(found, ALL.iter().map(|(file, _)| (*file).to_owned()).collect());
    }

    /// The plan of a statement, one line.
    fn plan(conn: &rusqlite::Connection, text: &str) -> String {
        let mut explained = conn.prepare(&["EXPLAIN QUERY PLAN ", text].concat()).unwrap();
        let nothing = vec![rusqlite::types::Null; explained.parameter_count()];
        let steps = explained.query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn q2_the_hot_statements_walk_their_index_and_sort_nothing() {
        let mut conn = crate::connection::writer(&crate::Place::Memory, crate::Synchronous::Off).unwrap();
        crate::migrate::migrate(&mut conn, tenure_core::Time(0)).unwrap();
        for (text, index) in [
            (READY, "COVERING INDEX job_ready"),
            (READY_OF_KINDS, "INDEX job_ready"),
            (PROMOTE, "INDEX job_scheduled"),
            (EXPIRED, "INDEX lease_expires"),
            (EXPIRED_OF, "INDEX lease_queue_expires"),
            (QUEUE, "INDEX job_queue"),
            (NEXT_OF_POOL, "COVERING INDEX job_parked"),
            (SHOW, "COVERING INDEX job_parked"),
            (PARK_ALL, "INDEX job_shown"),
            (PARK_OUTRANKED, "INDEX job_parked"),
            (HELD_BACK, "COVERING INDEX job_parked"),
            (LANE_HEAD, "INDEX job_lane"),
            (LANE_TURN, "INDEX job_turn"),
            (LIST_WAITING_OF, "INDEX job_queue"),
            (LIST_FINISHED_OF, "INDEX finished_queue_status"),
            (LIST_FAILED, "INDEX finished_failed"),
            (PAST, "INDEX finished_age"),
            (PRUNE_RECEIPTS, "COVERING INDEX receipt_age"),
            (PRUNE_KEYS, "INDEX dedup_age"),
            (PRUNE_TENANTS, "INDEX tenant_idle"),
            (PRUNE_SIGHTINGS, "INDEX sighting_age"),
            (SEEN_LATELY, "INDEX sighting_queue"),
            (SEEN_LAST, "INDEX sighting_queue"),
            (WORKERS, "USING PRIMARY KEY (owner>?)"),
            (SIGHTINGS, "USING PRIMARY KEY (owner=?)"),
            (DEDUP_ENDED, "INDEX dedup_job"),
            (EVENTS, "INDEX event_job"),
            (SCHEDULE_DUE, "INDEX schedule_due"),
            (SCHEDULE_NEXT, "INDEX schedule_due"),
            (SCHEDULE_FIRINGS, "PRIMARY KEY"),
            (SYNC_WAITING_CHUNK, "INDEX sync_chunk_waiting"),
            (SYNC_WAITING_JOB, "INDEX sync_job_waiting"),
            (SYNC_NEXT_DEADLINE, "INDEX sync_chunk_locked"),
            (SYNC_UNTOLD_JOBS, "INDEX sync_job_locked"),
            (SYNC_UNTOLD_CHUNKS, "INDEX sync_chunk_untold"),
            (SYNC_CHUNKS, "INDEX sync_chunk_place"),
            (SYNC_JOBS_OF, "INDEX sync_job_matrix"),
            (SYNC_PAST, "INDEX sync_job_ended"),
            (SYNC_EVENTS, "INDEX sync_event_sync"),
            (PIPELINE_READY, "INDEX unit_ready"),
            (PIPELINE_EXPIRED, "INDEX unit_expires"),
            (PIPELINE_DUE, "INDEX unit_retry"),
            (PIPELINE_STAGES, "INDEX unit_stages"),
            (PIPELINE_SEGMENTS, "INDEX unit_segments"),
            (PIPELINE_UNDONE, "INDEX unit_undone"),
            (PIPELINE_PAST, "INDEX run_age"),
        ] {
            let plan = plan(&conn, text);
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE FOR ORDER"), "{text}\n{plan}");
        }
    }

    #[test]
    fn d6_the_statements_of_domains_walk_their_index_and_sort_nothing() {
        let mut conn = crate::connection::writer(&crate::Place::Memory, crate::Synchronous::Off).unwrap();
        crate::migrate::migrate(&mut conn, tenure_core::Time(0)).unwrap();
        for (text, index) in [
            (DOMAIN_FIND, "(name=?)"),
            (DOMAIN_ENDED_BELOW, "PRIMARY KEY (domain=? AND from_offset<?)"),
            (DOMAIN_FAILED_BELOW, "PRIMARY KEY (domain=? AND from_offset<?)"),
            (DOMAIN_HEAD, "PRIMARY KEY (domain=?)"),
            (DOMAIN_LEAVE, "INDEX domain_waiting_once"),
            (DOMAIN_EXPIRED, "INDEX domain_expiry"),
            (DOMAIN_LIST, "(name>?)"),
            (DOMAIN_LIST_BLOCKED, "INDEX domain_backlogged"),
            (DOMAIN_LIST_EXPIRED, "INDEX domain_leased"),
        ] {
            let plan = plan(&conn, text);
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE FOR ORDER"), "{text}\n{plan}");
        }
    }
}
