//! Lists: jobs newest first, queues by name. Each page is read from one state of the file.

use super::shelf::Shelf;
use super::show;
use crate::column::{self, all};
use crate::fault::Done;
use crate::inbox::Step;
use crate::savepoint::readable;
use crate::sql;
use rusqlite::{Params, params};
use tenure_core::Page;
use tenure_core::bounds::{COUNT_MAX, PAGE_BYTES_MAX};
use tenure_core::queue::{Counts, Filter, Job, JobId, QueueInfo, Status};

/// Jobs that match, newest first, from below `before`.
pub(crate) fn jobs(step: &Step<'_>, filter: &Filter, before: Option<JobId>, limit: u32) -> Done<Page<Job>> {
    let below = before.map_or(i64::MAX, |id| id.0);
    // One more than asked for tells whether there are more. Every source gives that many, and the newest win.
    let many = limit.saturating_add(1);
    let mut ids = waiting(step, filter, below, many)?;
    ids.append(&mut ended(step, filter, below, many)?);
    ids.sort_unstable_by(|a, b| b.cmp(a));
    let mut items: Vec<Job> = Vec::with_capacity(ids.len());
    let mut bytes = 0;
    for id in ids {
        // One that cannot be read never hides the others; `doctor` names it.
        let job = match readable(show::job(step, JobId(id)))? {
            Ok(Some(job)) => job,
            Ok(None) => continue,
            Err(fault) => {
                tracing::error!(id, fault, "a job could not be read and is not listed");
                continue;
            }
        };
        bytes += job.page_bytes();
        if items.len() == limit as usize || (bytes > PAGE_BYTES_MAX && !items.is_empty()) {
            return Ok(Page { items, more: true });
        }
        items.push(job);
    }
    Ok(Page { items, more: false })
}

/// Queued and running jobs that match.
fn waiting(step: &Step<'_>, filter: &Filter, below: i64, many: u32) -> Done<Vec<i64>> {
    let Filter { queue, status, kind } = filter;
    let running = match status {
        None => None,
        Some(Status::Queued) => Some(false),
        Some(Status::Running) => return ids(step, sql::LIST_RUNNING, params![below, many, kind, queue]),
        Some(Status::Completed | Status::Failed) => return Ok(Vec::new()),
    };
    match queue {
        None => ids(step, sql::LIST_WAITING, params![below, many, running, kind]),
        Some(queue) => ids(step, sql::LIST_WAITING_OF, params![below, many, running, kind, queue]),
    }
}

/// Ended jobs that match.
fn ended(step: &Step<'_>, filter: &Filter, below: i64, many: u32) -> Done<Vec<i64>> {
    let Filter { queue, status, kind } = filter;
    let statuses: &[Status] = match status {
        None => &[Status::Completed, Status::Failed],
        Some(Status::Queued | Status::Running) => &[],
        Some(Status::Completed) => &[Status::Completed],
        Some(Status::Failed) => &[Status::Failed],
    };
    match (queue, statuses) {
        (Some(queue), statuses) => {
            let mut found = Vec::new();
            for status in statuses {
                let of = params![below, many, kind, queue, status.as_str()];
                found.append(&mut ids(step, sql::LIST_FINISHED_OF, of)?);
            }
            Ok(found)
        }
        (None, []) => Ok(Vec::new()),
        (None, [Status::Completed]) => ids(step, sql::LIST_COMPLETED, params![below, many, kind]),
        (None, [Status::Failed]) => ids(step, sql::LIST_FAILED, params![below, many, kind]),
        (None, _) => ids(step, sql::LIST_FINISHED, params![below, many, kind]),
    }
}

fn ids(step: &Step<'_>, sql: &str, params: impl Params) -> Done<Vec<i64>> {
    all(step.conn, sql, params, |row| row.get(0))
}

/// One queue and its counts.
pub(crate) fn queue(step: &Step<'_>, name: &str) -> Done<Option<QueueInfo>> {
    let Some(shelf) = Shelf::find(step.conn, name)? else { return Ok(None) };
    let mut select = step.conn.prepare_cached(sql::QUEUE)?;
    let running = shelf.running;
    let (counts, oldest_queued_at) = select.query_row((name, COUNT_MAX + 1, running), |row| {
        let counts = Counts { queued: row.get(0)?, running, completed: row.get(1)?, failed: row.get(2)? };
        Ok((counts, column::time_opt(row, 3)?))
    })?;
    let Shelf { created_at, settings, .. } = shelf;
    Ok(Some(QueueInfo { name: name.to_owned(), created_at, settings, counts, oldest_queued_at }))
}

/// Queues by name, from after `after`.
pub(crate) fn queues(step: &Step<'_>, after: Option<&str>, limit: u32) -> Done<Page<QueueInfo>> {
    let names = all(step.conn, sql::QUEUES, (after, limit.saturating_add(1)), |row| row.get::<_, String>(0))?;
    let Page { items: names, more } = Page::cut(names, limit as usize);
    let mut items = Vec::with_capacity(names.len());
    for name in names {
        items.extend(queue(step, &name)?);
    }
    Ok(Page { items, more })
}
