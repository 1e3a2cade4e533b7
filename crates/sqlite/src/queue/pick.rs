//! Which jobs a claim takes: the first in the order of claims (Q2), as far as limits, rates and pause allow (Q8).
//!
//! Nothing is written here. Of a tenant and kind only the first job stands in the ready index; when it is picked, the
//! next of them takes part. So what a pick reads is what it takes, plus the tenants whose rate is spent.

use super::names;
use super::shelf::{Shelf, Window, free};
use crate::column;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::savepoint::readable;
use crate::sql;
use rusqlite::OptionalExtension;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use tenure_core::Time;
use tenure_core::bounds::{CLAIM_BYTES_MAX, CLAIM_FITS};
use tenure_core::queue::{Claim, Idle, JobId};

/// A job's place in the order of claims.
type Rank = (Reverse<i32>, Time, JobId);

/// A job that may be taken next: its rank, its queue, its pool if it has a tenant, and whether it is a ready one.
type Due = (Rank, usize, Option<usize>, bool);

/// Parked jobs of one tenant and kind that are read at first; then twice as many each time.
const POOL_READ: usize = 4;

/// A look at the queues of one claim.
pub(super) struct Pick<'a> {
    step: &'a Step<'a>,
    kinds: Option<String>,
    /// How many jobs are wanted at most.
    wanted: usize,
    pub(super) queues: Vec<Queue<'a>>,
    pub(super) tenants: Vec<Tenant>,
    tenant_of: HashMap<(usize, String), usize>,
    pools: Vec<Pool>,
    /// The first ready job of each queue, and what follows those of a tenant and kind that were taken.
    due: BinaryHeap<Reverse<Due>>,
    met: BTreeSet<Idle>,
    /// Ready jobs whose place or tenant cannot be read, and why.
    pub(super) unreadable: Vec<(JobId, String)>,
    /// The engine as a whole has no slot free, and the queues were not looked at.
    pub(super) engine_full: bool,
    /// When the first of the rates that were met is whole again.
    pub(super) opens_at: Option<Time>,
}

/// A queue of the claim.
pub(super) struct Queue<'a> {
    pub(super) name: &'a str,
    pub(super) shelf: Shelf,
    /// Ready jobs in the order of claims, each with its pool if it has a tenant.
    ready: VecDeque<(Rank, Option<usize>)>,
    /// Jobs that may still be taken.
    room: u64,
    pub(super) taken: u32,
}

/// A tenant with a job among the ready ones.
pub(super) struct Tenant {
    pub(super) queue: usize,
    pub(super) key: String,
    pub(super) running: u64,
    pub(super) spent: Window,
    /// Ready jobs that were met.
    heads: u64,
    room: u64,
    pub(super) taken: u32,
}

/// The due jobs of one tenant and kind, after the one that is ready.
struct Pool {
    tenant: usize,
    head: JobId,
    next: VecDeque<Rank>,
    read: usize,
    all_read: bool,
}

impl<'a> Pick<'a> {
    /// Looks at each queue; one that was never used is empty.
    pub(super) fn new(
        step: &'a Step<'a>,
        claim: &Claim,
        queues: &BTreeSet<&'a str>,
        engine_max: Option<u32>,
    ) -> Done<Pick<'a>> {
        let mut pick = Pick {
            step,
            kinds: claim.kinds.as_ref().map(names),
            wanted: claim.max as usize,
            queues: Vec::with_capacity(queues.len()),
            tenants: Vec::new(),
            tenant_of: HashMap::new(),
            pools: Vec::new(),
            due: BinaryHeap::new(),
            met: BTreeSet::new(),
            unreadable: Vec::new(),
            engine_full: false,
            opens_at: None,
        };
        if engine_max.is_some() {
            let running: u64 = step.conn.prepare_cached(sql::ENGINE)?.query_row([], |row| row.get(1))?;
            let room = free(engine_max, running);
            pick.wanted = pick.wanted.min(usize::try_from(room).unwrap_or(usize::MAX));
            if room == 0 {
                pick.met.insert(Idle::AtCapacity);
                pick.engine_full = true;
                return Ok(pick);
            }
        }
        for name in queues {
            let Some(shelf) = Shelf::find(step.conn, name)? else { continue };
            pick.queues.push(Queue { name, shelf, ready: VecDeque::new(), room: 0, taken: 0 });
            let queue = pick.queues.len() - 1;
            if pick.open(queue) {
                pick.collect(queue)?;
                pick.offer(queue);
            }
        }
        Ok(pick)
    }

    /// Whether jobs of a queue may be taken at all.
    fn open(&mut self, queue: usize) -> bool {
        let Queue { shelf, room, .. } = &mut self.queues[queue];
        let left = shelf.spent.left(shelf.settings.rate_limit, self.step.now);
        let spent_until = shelf.spent.spent_until(shelf.settings.rate_limit, self.step.now);
        let opens_at = spent_until.filter(|_| !shelf.settings.paused);
        self.opens_at = self.opens_at.into_iter().chain(opens_at).min();
        let closed = [
            (shelf.slots() == 0, Idle::AtCapacity),
            (left == 0, Idle::RateLimited),
            (shelf.settings.paused, Idle::Paused),
        ];
        *room = shelf.slots().min(left);
        self.met.extend(closed.into_iter().filter(|(closed, _)| *closed).map(|(_, idle)| idle));
        closed.iter().all(|(closed, _)| !closed)
    }

    /// Reads ready jobs of a queue until there are surely enough: a tenant's count only as far as it has room.
    fn collect(&mut self, queue: usize) -> Done<()> {
        let enough = self.queues[queue].room.min(self.wanted as u64);
        let name = self.queues[queue].name;
        let conn = self.step.conn;
        let mut select = conn.prepare_cached(if self.kinds.is_some() { sql::READY_OF_KINDS } else { sql::READY })?;
        let mut rows = match &self.kinds {
            Some(kinds) => select.query((name, kinds))?,
            None => select.query([name])?,
        };
        let mut sure = 0;
        while sure < enough
            && let Some(row) = rows.next()?
        {
            let place = || -> rusqlite::Result<(Rank, Option<String>)> {
                Ok(((Reverse(row.get(0)?), column::time(row, 1)?, JobId(row.get(2)?)), row.get(3)?))
            };
            let (rank, key) = match readable(place().map_err(Fault::from))? {
                Ok(place) => place,
                Err(fault) => {
                    self.unreadable.push((JobId(row.get(2)?), fault));
                    continue;
                }
            };
            let Some(key) = key else {
                self.queues[queue].ready.push_back((rank, None));
                sure += 1;
                continue;
            };
            let tenant = self.tenant(queue, &key)?;
            let known = &mut self.tenants[tenant];
            // A tenant at its limit has no ready job, so it is the rate.
            if known.room == 0 {
                self.met.insert(Idle::RateLimited);
                let rate = self.queues[queue].shelf.settings.rate_limit_per_key;
                let spent_until = known.spent.spent_until(rate, self.step.now);
                self.opens_at = self.opens_at.into_iter().chain(spent_until).min();
                continue;
            }
            known.heads += 1;
            sure += u64::from(known.heads <= known.room);
            self.queues[queue].ready.push_back((rank, Some(self.pools.len())));
            self.pools.push(Pool { tenant, head: rank.2, next: VecDeque::new(), read: 0, all_read: false });
        }
        Ok(())
    }

    /// The next ready job of a queue takes part.
    fn offer(&mut self, queue: usize) {
        if let Some((rank, pool)) = self.queues[queue].ready.pop_front() {
            self.due.push(Reverse((rank, queue, pool, true)));
        }
    }

    fn tenant(&mut self, queue: usize, key: &str) -> Done<usize> {
        let of = (queue, key.to_owned());
        if let Some(known) = self.tenant_of.get(&of) {
            return Ok(*known);
        }
        let Queue { name, shelf, .. } = &self.queues[queue];
        let mut select = self.step.conn.prepare_cached(sql::TENANT)?;
        let found = select.query_row((name, key), |row| Ok((row.get(0)?, Window::read(row, 1)?))).optional()?;
        let (running, spent) = found.unwrap_or_default();
        let settings = &shelf.settings;
        let left = spent.left(settings.rate_limit_per_key, self.step.now);
        let room = free(settings.max_running_per_key, running).min(left);
        self.tenants.push(Tenant { queue, key: key.to_owned(), running, spent, heads: 0, room, taken: 0 });
        self.tenant_of.insert(of, self.tenants.len() - 1);
        Ok(self.tenants.len() - 1)
    }

    /// The jobs to take, in order, each with its queue: as many as are wanted, and fit into one claim.
    pub(super) fn take(&mut self) -> Done<Vec<(JobId, usize)>> {
        let mut taken = Vec::new();
        let mut bytes = 0;
        let mut weigh = self.step.conn.prepare_cached(sql::CLAIM_BYTES)?;
        while taken.len() < self.wanted
            && let Some(Reverse(((_, _, id), queue, pool, ready))) = self.due.pop()
        {
            if ready {
                self.offer(queue);
            }
            if self.queues[queue].room == 0 {
                continue;
            }
            if pool.is_some_and(|pool| self.tenants[self.pools[pool].tenant].room == 0) {
                continue;
            }
            if self.wanted > CLAIM_FITS {
                bytes += weigh.query_row([id.0], |row| row.get::<_, usize>(0)).optional()?.unwrap_or(0);
                if bytes > CLAIM_BYTES_MAX && !taken.is_empty() {
                    break;
                }
            }
            if let Some(pool) = pool {
                let tenant = &mut self.tenants[self.pools[pool].tenant];
                tenant.room -= 1;
                tenant.taken += 1;
                if tenant.room > 0
                    && let Some(next) = self.pools[pool].next(self.step, self.wanted)?
                {
                    self.due.push(Reverse((next, queue, Some(pool), false)));
                }
            }
            self.queues[queue].room -= 1;
            self.queues[queue].taken += 1;
            taken.push((id, queue));
        }
        Ok(taken)
    }

    /// Why nothing was taken: the first that applies.
    pub(super) fn idle(&mut self) -> Done<Idle> {
        // Nothing comes before it, so nothing need be looked for.
        if !self.met.contains(&Idle::AtCapacity) {
            let mut held_back = self.step.conn.prepare_cached(sql::HELD_BACK)?;
            for Queue { name, shelf, room, .. } in &self.queues {
                let limit = shelf.settings.max_running_per_key.filter(|_| *room > 0 && !shelf.settings.paused);
                if let Some(max) = limit
                    && held_back.query_row((name, max, &self.kinds), |row| row.get(0))?
                {
                    return Ok(Idle::AtCapacity);
                }
            }
        }
        Ok(self.met.first().copied().unwrap_or(Idle::Empty))
    }
}

impl Pool {
    /// The next job after those that were taken.
    fn next(&mut self, step: &Step<'_>, wanted: usize) -> Done<Option<Rank>> {
        if self.next.is_empty() && !self.all_read {
            let many = self.read.max(POOL_READ).min(wanted);
            let mut select = step.conn.prepare_cached(sql::NEXT_OF_POOL)?;
            let next = select.query_map((self.head.0, many, self.read), |row| {
                Ok((Reverse(row.get(0)?), column::time(row, 1)?, JobId(row.get(2)?)))
            })?;
            self.next = next.collect::<rusqlite::Result<_>>()?;
            self.read += self.next.len();
            self.all_read = self.next.len() < many;
        }
        Ok(self.next.pop_front())
    }
}
