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
    ANY_STUCK = "store/any_stuck.sql",
    EPOCH = "store/epoch.sql",
    NEW_EPOCH = "store/new_epoch.sql",
    SCHEMA = "store/schema.sql",
    SCHEMA_CREATE = "store/schema_create.sql",
    SCHEMA_EXISTS = "store/schema_exists.sql",
    SCHEMA_RECORD = "store/schema_record.sql",
    UNSTICK = "store/unstick.sql",
    ATTEMPTS = "queue/attempts.sql",
    CLAIM = "queue/claim.sql",
    CLAIMED = "queue/claimed.sql",
    CLAIM_ONE = "queue/claim_one.sql",
    COMPLETE_MANY = "queue/complete_many.sql",
    CREATE_QUEUE = "queue/create_queue.sql",
    DRAW_GRANTS = "queue/draw_grants.sql",
    DRAW_IDS = "queue/draw_ids.sql",
    DROP_LEASE = "queue/drop_lease.sql",
    ENQUEUE = "queue/enqueue.sql",
    EVENT = "queue/event.sql",
    EVENTS = "queue/events.sql",
    EXPIRED = "queue/expired.sql",
    EXPIRED_OF = "queue/expired_of.sql",
    FINISH = "queue/finish.sql",
    FINISHED = "queue/finished.sql",
    GRANT = "queue/grant.sql",
    HELD_UNITS = "queue/held_units.sql",
    JOB = "queue/job.sql",
    LEASE = "queue/lease.sql",
    LEAVE = "queue/leave.sql",
    LEAVE_MANY = "queue/leave_many.sql",
    LIST_COMPLETED = "queue/list_completed.sql",
    LIST_FAILED = "queue/list_failed.sql",
    LIST_FINISHED = "queue/list_finished.sql",
    LIST_FINISHED_OF = "queue/list_finished_of.sql",
    LIST_RUNNING = "queue/list_running.sql",
    LIST_WAITING = "queue/list_waiting.sql",
    LIST_WAITING_OF = "queue/list_waiting_of.sql",
    NEXT_DUE = "queue/next_due.sql",
    NOTE = "queue/note.sql",
    OLDEST = "queue/oldest.sql",
    PROMOTE = "queue/promote.sql",
    PUT_BACK = "queue/put_back.sql",
    QUEUE = "queue/queue.sql",
    QUEUES = "queue/queues.sql",
    READY = "queue/ready.sql",
    READY_OF_KINDS = "queue/ready_of_kinds.sql",
    REFUSED = "queue/refused.sql",
    RENEW = "queue/renew.sql",
    RUNNING = "queue/running.sql",
    SHRINK_LEASE = "queue/shrink_lease.sql",
    START = "queue/start.sql",
    STUCK = "queue/stuck.sql",
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
            (LIST_WAITING_OF, "INDEX job_queue"),
            (LIST_FINISHED_OF, "INDEX finished_queue_status"),
            (LIST_FAILED, "INDEX finished_failed"),
            (OLDEST, "INDEX job_scheduled_age"),
            (EVENTS, "INDEX event_job"),
        ] {
            let plan = plan(&conn, text);
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE FOR ORDER"), "{text}\n{plan}");
        }
    }
}
