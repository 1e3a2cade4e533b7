//! Workers: sightings of those who claim, and what they hold.

use super::{names, prune};
use crate::column::{self, all};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::OptionalExtension;
use std::collections::BTreeMap;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::queue::worker::{
    HOLDERS_SHOWN, KINDS_SHOWN, LATELY_MS, LEASES_COUNTED, QUEUES_SHOWN, SIGHTINGS_MAX, WATCH_MAX, due, takes,
    workers as page,
};
use tenure_core::queue::{Sight, Sighting, Watch, Worker};

/// The sight, in those of its queues that there are.
pub(crate) fn known(step: &Step<'_>, sight: &Sight) -> Done<Sight> {
    let mut known = sight.clone();
    let mut exists = step.conn.prepare_cached(sql::QUEUE_EXISTS)?;
    for queue in &sight.queues {
        if !exists.exists([queue])? {
            known.queues.remove(queue);
        }
    }
    Ok(known)
}

/// Writes the sightings that are a minute old or new; when each is stored as of, by queue.
pub(crate) fn see(step: &Step<'_>, sight: &Sight) -> Done<Vec<(String, Time)>> {
    let kinds = sight.kinds.as_ref().map(names).unwrap_or_default();
    let mut read = step.conn.prepare_cached(sql::SEEN)?;
    let mut write = step.conn.prepare_cached(sql::SEE)?;
    let mut make_room = step.conn.prepare_cached(sql::SEE_NO_MORE)?;
    let mut seen = Vec::with_capacity(sight.queues.len());
    for queue in &sight.queues {
        let of = (&sight.owner, queue, &kinds);
        let mut at = read.query_row(of, |row| column::time(row, 0)).optional()?;
        if at.is_none() {
            make_room.execute((queue, SIGHTINGS_MAX - 1))?;
        }
        if due(at, step.now) {
            write.execute((of.0, of.1, of.2, step.now.0))?;
            at = Some(step.now);
        }
        seen.extend(at.map(|at| (queue.clone(), at)));
    }
    Ok(seen)
}

/// Workers by name, from after `after`.
pub(crate) fn workers(step: &Step<'_>, after: Option<&str>, limit: u32) -> Done<Page<Worker>> {
    let names: Vec<String> = all(step.conn, sql::WORKERS, (after, limit.saturating_add(1)), |row| row.get(0))?;
    let mut sightings = Vec::new();
    let mut select = step.conn.prepare_cached(sql::SIGHTINGS)?;
    for owner in names {
        let mut rows = select.query((&owner, QUEUES_SHOWN + 1))?;
        while let Some(row) = rows.next()? {
            let mut kinds = kinds(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?)?;
            let kinds_capped = kinds.as_ref().is_some_and(|kinds| kinds.len() > KINDS_SHOWN);
            kinds.iter_mut().for_each(|kinds| kinds.truncate(KINDS_SHOWN));
            sightings.push(Sighting {
                owner: owner.clone(),
                queue: row.get(0)?,
                kinds,
                kinds_capped,
                first_seen_at: column::time(row, 2)?,
                seen_at: column::time(row, 3)?,
            });
        }
    }
    let mut held = step.conn.prepare_cached(sql::HELD_BY)?;
    let mut rows = held.query([LEASES_COUNTED + 1])?;
    let (mut running, mut leases) = (BTreeMap::new(), 0usize);
    while let Some(row) = rows.next()? {
        running.insert(row.get(0)?, row.get(1)?);
        leases += row.get::<_, usize>(2)?;
    }
    Ok(page(sightings, &running, leases > LEASES_COUNTED, limit as usize))
}

/// Who looked for work of `kind` in `queue` lately.
pub(super) fn watch(step: &Step<'_>, queue: &str, kind: &str) -> Done<Watch> {
    let since = prune::before(step.now, LATELY_MS).0;
    let mut select = step.conn.prepare_cached(sql::SEEN_LATELY)?;
    let mut rows = select.query((queue, since, WATCH_MAX))?;
    let mut lately = Vec::new();
    while let Some(row) = rows.next()? {
        let kinds = kinds(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?)?;
        let takes = takes(kinds.as_deref(), kind);
        lately.push((row.get(0)?, takes, kinds.unwrap_or_default()));
    }
    let mut last = step.conn.prepare_cached(sql::SEEN_LAST)?;
    let last = last.query_row([queue], |row| Ok((row.get(0)?, column::time(row, 1)?))).optional()?;
    Ok(Watch::of(lately, last))
}

/// A few of those who hold jobs of a queue, or of any.
pub(super) fn holders(step: &Step<'_>, queue: Option<&str>) -> Done<Vec<String>> {
    match queue {
        Some(queue) => all(step.conn, sql::HOLDERS, (queue, HOLDERS_SHOWN), |row| row.get(0)),
        None => all(step.conn, sql::ALL_HOLDERS, [HOLDERS_SHOWN], |row| row.get(0)),
    }
}

/// Kinds as [`names`] writes them; empty is every kind.
fn kinds(kept: &str) -> Done<Option<Vec<String>>> {
    if kept.is_empty() {
        return Ok(None);
    }
    let broken = || Fault::broken("the kinds of a worker cannot be read");
    let list = kept.strip_prefix("[\"").and_then(|kept| kept.strip_suffix("\"]")).ok_or_else(broken)?;
    Ok(Some(list.split("\",\"").map(str::to_owned).collect()))
}
