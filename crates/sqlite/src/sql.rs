//! Every statement. Nothing here is ever put together from strings.
//!
//! A statement stands under its name in the file of the module that uses it, `queries/<face>/<module>.sql`, or in `shared.sql`
//! if several do; a blank line parts it from the next.

macro_rules! statements {
    ($($file:literal: $($name:ident),+;)+) => {
        $($(pub(crate) const $name: &str =
            statement(include_str!(concat!("../queries/", $file)), concat!("-- ", stringify!($name), ": "));)+)+

        /// Each statement's file, name and text.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str, &str)] = &[$($(($file, stringify!($name), $name),)+)+];
    };
}

/// The statement of `file` that begins with `title`, up to the next blank line.
const fn statement(file: &'static str, title: &str) -> &'static str {
    let (text, title) = (file.as_bytes(), title.as_bytes());
    let mut from = 0;
    while !begins(text, from, title) {
        // Past the end of the file a statement is missing, which the compiler tells.
        while !(text[from] == b'\n' && text[from + 1] == b'\n') {
            from += 1;
        }
        from += 2;
    }
    let mut to = from;
    while to < text.len() && !(text[to] == b'\n' && to + 1 < text.len() && text[to + 1] == b'\n') {
        to += 1;
    }
    file.split_at(to).0.split_at(from).1
}

const fn begins(text: &[u8], from: usize, with: &[u8]) -> bool {
    let mut at = 0;
    while at < with.len() {
        if from + at >= text.len() || text[from + at] != with[at] {
            return false;
        }
        at += 1;
    }
    true
}

statements! {
    "domain/books.sql": DOMAIN_EVENT, DOMAIN_FORGET_EVENTS, DOMAIN_HEAD, DOMAIN_LEAVE, DOMAIN_RANGE_BELOW, DOMAIN_RANGE_PUT, DOMAIN_RANGE_TAKE, DOMAIN_REFUSALS_TRIM, DOMAIN_REFUSED, DOMAIN_WAIT;
    "domain/read.sql": DOMAIN_EVENTS, DOMAIN_LIST, DOMAIN_LIST_BLOCKED, DOMAIN_LIST_EXPIRED, DOMAIN_REFUSALS, DOMAIN_SHOW;
    "domain/row.sql": DOMAIN_EXPIRED, DOMAIN_FIND, DOMAIN_MAKE, DOMAIN_SAVE;
    "pipeline/advance.sql": PIPELINE_APPLY, PIPELINE_APPLY_STAGE, PIPELINE_DEFINITION, PIPELINE_DUE, PIPELINE_FORGET_ATTEMPTS, PIPELINE_FORGET_EVENTS, PIPELINE_FORGET_RUN, PIPELINE_FORGET_UNITS, PIPELINE_KEYED, PIPELINE_MOVABLE_SEGMENTS, PIPELINE_NEXT_DUE, PIPELINE_PAST, PIPELINE_RUN_STUCK, PIPELINE_START, PIPELINE_TOUCHED, PIPELINE_UNDONE, PIPELINE_UNTOUCH;
    "pipeline/claim.sql": PIPELINE_ADD_UNIT, PIPELINE_EXPIRED, PIPELINE_EXPIRED_OF, PIPELINE_KNOWS_STAGE, PIPELINE_READY;
    "pipeline/operate.sql": PIPELINE_CANCEL_REST, PIPELINE_CLOSE_RUN, PIPELINE_DROP_SEGMENTS, PIPELINE_HELD_OF_RUN, PIPELINE_OPEN_RUN, PIPELINE_RETRY_SEGMENTS, PIPELINE_SET_RUN;
    "pipeline/read.sql": PIPELINE_ATTEMPTS, PIPELINE_DEFINITIONS, PIPELINE_EVENTS, PIPELINE_RUNS, PIPELINE_SEGMENTS, PIPELINE_SEGMENT_COUNTS, PIPELINE_STAGES;
    "pipeline/unit.sql": PIPELINE_ENDED, PIPELINE_EVENT, PIPELINE_LAST_CLAIM, PIPELINE_OPEN_SEGMENTS, PIPELINE_RECEIPT, PIPELINE_REFUSED, PIPELINE_RUN, PIPELINE_SAVE, PIPELINE_STUCK, PIPELINE_TOUCH, PIPELINE_UNIT, PIPELINE_UNIT_BY_ID;
    "queue/change.sql": CHANGE, LANES_FREE, LIMIT, SET_LIMIT, TENANTS_MOVED;
    "queue/claim.sql": CLAIM, CLAIMED, CLAIM_ONE, GRANT, NEXT_DUE, NEXT_END, PROMOTE, RUN, SET_ASIDE, TENANT_SET;
    "queue/ending.sql": EVENT, EVICT, EVICT_RECEIPT, FINISH, LANE_BLOCK, PUT_BACK;
    "queue/enqueue.sql": CREATE_QUEUE, DEDUP, DRAW_IDS, ENQUEUE, REMEMBER;
    "queue/finish.sql": COMPLETE_MANY, KEYS_OF, LEAVE_MANY;
    "queue/heartbeat.sql": ASKED_TO_STOP, NOTE, RENEW;
    "queue/judge.sql": FORGET_REFUSALS, LAST_RECEIPT, RECEIPT, REFUSED;
    "queue/lease.sql": LEASE, RUNNING, SHRINK_LEASE;
    "queue/moves.sql": HALT, PARK_ALL, PARK_OUTRANKED, PLACE, SHOW, TENANT_DROP, TENANT_HALT;
    "queue/operate.sql": CANCEL, CANCEL_REQUESTED, IS_FINISHED, LANE_FREE, LEASE_CANCELS, LEAVE, LEAVE_HISTORY, RETRY, UNFINISHED;
    "queue/pick.sql": CLAIM_BYTES, HELD_BACK, NEXT_OF_POOL, READY, READY_OF_KINDS;
    "queue/prune.sql": BLOCKING, DEDUP_ENDED, FORGET, FORGET_EVENTS, FORGET_NOTES, PAST, PRUNE_CHANGES, PRUNE_KEYS, PRUNE_RECEIPTS, PRUNE_SIGHTINGS, PRUNE_TENANTS, RECEIPTS_OF_EARLIER, RECEIPTS_OF_LAST;
    "queue/read.sql": ENGINE, EVENTS, FINISHED, JOB, LANE_BLOCKED_BY, LANE_HEAD, LANE_TURN, LIST_COMPLETED, LIST_FAILED, LIST_FINISHED, LIST_FINISHED_OF, LIST_RUNNING, LIST_WAITING, LIST_WAITING_OF, QUEUE, QUEUES;
    "queue/recover.sql": DROP_LEASE, EXPIRED, EXPIRED_OF, HELD_UNITS, STUCK;
    "queue/row.sql": ATTEMPTS;
    "queue/shared.sql": TENANT;
    "queue/shelf.sql": SETTINGS;
    "queue/start.sql": START;
    "queue/worker.sql": ALL_HOLDERS, HELD_BY, HOLDERS, QUEUE_EXISTS, SEE, SEEN, SEEN_LAST, SEEN_LATELY, SEE_NO_MORE, SIGHTINGS, WORKERS;
    "schedule/fire.sql": SCHEDULE_FIRE, SCHEDULE_FIRING, SCHEDULE_TRIM;
    "schedule/put.sql": SCHEDULE_CHANGE, SCHEDULE_CREATE, SCHEDULE_DRAW_REVISION, SCHEDULE_FORGET_FIRINGS, SCHEDULE_REMOVE;
    "schedule/read.sql": SCHEDULE, SCHEDULES, SCHEDULE_DUE, SCHEDULE_FIRINGS, SCHEDULE_NEXT;
    "store/caller.sql": LOCK, TURN;
    "store/changes.sql": CHANGED, CHANGES, CHANGES_TRIM;
    "store/migrate.sql": SCHEMA, SCHEMA_CREATE, SCHEMA_EXISTS, SCHEMA_RECORD;
    "store/shared.sql": ANY_STUCK, PROBE, UNSTICK, UNSTICK_JOBS, UNSTICK_RUNS, UNSTICK_UNITS;
    "store/tokens.sql": DRAW_TOKENS, RAISE, TOKENS;
    "sync/claim.sql": SYNC_LAPSED_CHUNK, SYNC_LAPSED_JOB, SYNC_NEXT_DEADLINE, SYNC_WAITING_CHUNK, SYNC_WAITING_JOB;
    "sync/finish.sql": SYNC_PROGRESSED, SYNC_REFUSED;
    "sync/operate.sql": SYNC_CHUNK_ASIDE, SYNC_DONE, SYNC_FORGET_EVENTS, SYNC_JOB_ASIDE, SYNC_LAST_DONE, SYNC_LOCKED_CHUNKS, SYNC_PAST, SYNC_PRUNE_RECEIPTS, SYNC_UNTOLD_CHUNKS, SYNC_UNTOLD_JOBS;
    "sync/plan.sql": SYNC_DRAFT, SYNC_DRAFT_CLOSE, SYNC_DRAFT_GIVE_UP, SYNC_DRAFT_KEEP, SYNC_DRAFT_OPEN, SYNC_DRAFT_STALE, SYNC_FORGET, SYNC_FORGET_CHUNKS, SYNC_GIVEN_BACK, SYNC_GIVE_BACK, SYNC_LAY, SYNC_PLAN, SYNC_PLANNED, SYNC_PRUNE_TAKEN, SYNC_TAKE, SYNC_UNFINISHED;
    "sync/read.sql": SYNC_CHUNKS, SYNC_EVENTS, SYNC_JOBS, SYNC_JOBS_OF, SYNC_PROGRESS;
    "sync/row.sql": SYNC_CHUNK, SYNC_EVENT, SYNC_JOB, SYNC_RECEIPT, SYNC_REMEMBER, SYNC_SAVE_CHUNK, SYNC_SAVE_JOB;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_statement_is_listed_has_a_header_and_prepares_on_a_migrated_database() {
        let mut conn = crate::connection::writer(&crate::Place::Memory, &crate::SqliteOptions::new()).unwrap();
        crate::migrate::migrate(&mut conn, tenure_core::Time(0)).unwrap();
        for (file, name, text) in ALL {
            assert!(text.starts_with(&format!("-- {name}: ")), "{name} of {file} has another name there");
            assert!(text.contains("\n-- Reply  ") && text.contains("\n-- Index  "), "{name} lacks part of its header");
            conn.prepare(text).unwrap_or_else(|error| panic!("{name} of {file}: {error}"));
        }
        let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
        let mut found = BTreeSet::new();
        for face in std::fs::read_dir(&queries).unwrap() {
            for file in std::fs::read_dir(face.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let file = path.strip_prefix(&queries).unwrap().display().to_string();
                for text in std::fs::read_to_string(&path).unwrap().split("\n\n") {
                    let name =
                        text.strip_prefix("-- ").and_then(|text| text.split_once(": ")).map_or("", |(name, _)| name);
                    found.insert((file.clone(), name.to_owned()));
                }
            }
        }
        let listed = ALL.iter().map(|(file, name, _)| ((*file).to_owned(), (*name).to_owned())).collect();
        assert_eq!(found, listed);
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
        let mut conn = crate::connection::writer(&crate::Place::Memory, &crate::SqliteOptions::new()).unwrap();
        crate::migrate::migrate(&mut conn, tenure_core::Time(0)).unwrap();
        for (text, index) in [
            (READY, "COVERING INDEX tenure_job_ready"),
            (READY_OF_KINDS, "INDEX tenure_job_ready"),
            (PROMOTE, "INDEX tenure_job_scheduled"),
            (EXPIRED, "INDEX tenure_lease_expires"),
            (EXPIRED_OF, "INDEX tenure_lease_queue_expires"),
            (QUEUE, "INDEX tenure_job_queue"),
            (NEXT_OF_POOL, "COVERING INDEX tenure_job_parked"),
            (SHOW, "COVERING INDEX tenure_job_parked"),
            (PARK_ALL, "INDEX tenure_job_shown"),
            (PARK_OUTRANKED, "INDEX tenure_job_parked"),
            (HELD_BACK, "COVERING INDEX tenure_job_parked"),
            (LANE_HEAD, "INDEX tenure_job_lane"),
            (LANE_TURN, "INDEX tenure_job_turn"),
            (LIST_WAITING_OF, "INDEX tenure_job_queue"),
            (LIST_FINISHED_OF, "INDEX tenure_finished_queue_status"),
            (LIST_FAILED, "INDEX tenure_finished_failed"),
            (PAST, "INDEX tenure_finished_age"),
            (PRUNE_RECEIPTS, "COVERING INDEX tenure_receipt_age"),
            (PRUNE_KEYS, "INDEX tenure_dedup_age"),
            (PRUNE_TENANTS, "INDEX tenure_tenant_idle"),
            (PRUNE_SIGHTINGS, "INDEX tenure_sighting_age"),
            (SEEN_LATELY, "INDEX tenure_sighting_queue"),
            (SEEN_LAST, "INDEX tenure_sighting_queue"),
            (WORKERS, "USING PRIMARY KEY (owner>?)"),
            (SIGHTINGS, "USING PRIMARY KEY (owner=?)"),
            (DEDUP_ENDED, "INDEX tenure_dedup_job"),
            (EVENTS, "INDEX tenure_event_job"),
            (SCHEDULE_DUE, "INDEX tenure_schedule_due"),
            (SCHEDULE_NEXT, "INDEX tenure_schedule_due"),
            (SCHEDULE_FIRINGS, "PRIMARY KEY"),
            (SYNC_WAITING_CHUNK, "INDEX tenure_sync_chunk_waiting"),
            (SYNC_WAITING_JOB, "INDEX tenure_sync_job_waiting"),
            (SYNC_NEXT_DEADLINE, "INDEX tenure_sync_chunk_locked"),
            (SYNC_UNTOLD_JOBS, "INDEX tenure_sync_job_locked"),
            (SYNC_UNTOLD_CHUNKS, "INDEX tenure_sync_chunk_untold"),
            (SYNC_CHUNKS, "INDEX tenure_sync_chunk_place"),
            (SYNC_JOBS_OF, "INDEX tenure_sync_job_matrix"),
            (SYNC_PAST, "INDEX tenure_sync_job_ended"),
            (SYNC_EVENTS, "INDEX tenure_sync_event_sync"),
            (PIPELINE_READY, "INDEX tenure_unit_ready"),
            (PIPELINE_EXPIRED, "INDEX tenure_unit_expires"),
            (PIPELINE_EXPIRED_OF, "INDEX tenure_unit_expires"),
            (PIPELINE_DUE, "INDEX tenure_unit_retry"),
            (PIPELINE_TOUCHED, "INDEX tenure_run_touched_waiting"),
            (PIPELINE_STAGES, "INDEX tenure_unit_stages"),
            (PIPELINE_SEGMENTS, "INDEX tenure_unit_segments"),
            (PIPELINE_UNDONE, "INDEX tenure_unit_undone"),
            (PIPELINE_PAST, "INDEX tenure_run_age"),
        ] {
            let plan = plan(&conn, text);
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE FOR ORDER"), "{text}\n{plan}");
        }
    }

    #[test]
    fn d6_the_statements_of_domains_walk_their_index_and_sort_nothing() {
        let mut conn = crate::connection::writer(&crate::Place::Memory, &crate::SqliteOptions::new()).unwrap();
        crate::migrate::migrate(&mut conn, tenure_core::Time(0)).unwrap();
        for (text, index) in [
            (DOMAIN_FIND, "(name=?)"),
            (DOMAIN_RANGE_BELOW, "PRIMARY KEY (domain=? AND failed=? AND from_offset<?)"),
            (DOMAIN_HEAD, "PRIMARY KEY (domain=?)"),
            (DOMAIN_LEAVE, "INDEX tenure_domain_waiting_once"),
            (DOMAIN_EXPIRED, "INDEX tenure_domain_expiry"),
            (DOMAIN_LIST, "(name>?)"),
            (DOMAIN_LIST_BLOCKED, "INDEX tenure_domain_backlogged"),
            (DOMAIN_LIST_EXPIRED, "INDEX tenure_domain_leased"),
        ] {
            let plan = plan(&conn, text);
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE FOR ORDER"), "{text}\n{plan}");
        }
    }
}
