-- CLAIM: ready jobs go under a lease; the claim counts an attempt (L6).
-- Guard  place: a job is claimed once.
-- In     1 ids as a JSON array, 2 token
-- Reply  nothing; as many rows changed as ids were given
-- Index  tenure_job's key; leaves tenure_job_ready or tenure_job_parked
UPDATE tenure_job SET place = 2, token = ?2, attempt = attempt + 1
WHERE id IN (SELECT value FROM json_each(?1)) AND place IN (0, 3)

-- CLAIMED: what a claimer needs to know of jobs, read before they are marked.
-- In     1 ids as a JSON array
-- Reply  one row each, in the order of the array
-- Index  tenure_job's key; tenure_note's key for jobs that were claimed before
SELECT tenure_job.id, queue, kind, payload, priority, attempt, attempts_max, created_at, run_at, timeout_ms,
       CASE WHEN token IS NOT NULL THEN (SELECT checkpoint FROM tenure_note WHERE tenure_note.job = tenure_job.id) END AS checkpoint,
       ordering_key, limit_key
FROM json_each(?1) AS wanted CROSS JOIN tenure_job ON tenure_job.id = wanted.value

-- CLAIM_ONE: the same for a job with a lease of its own.
-- Guard  place: a job is claimed once.
-- In     1 id, 2 token
-- Reply  nothing; one row changed
-- Index  tenure_job's key; leaves tenure_job_ready or tenure_job_parked
UPDATE tenure_job SET place = 2, token = ?2, attempt = attempt + 1 WHERE id = ?1 AND place IN (0, 3)

-- GRANT: a new lease over jobs of one queue.
-- In     1 token, 2 owner, 3 queue, 4 units, 5 started, 6 left_count, 7 lease_ms, 8 granted_at, 9 expires_at,
--        10 ends_at, 11 keyed
-- Reply  nothing
-- Index  writes tenure_lease_expires, tenure_lease_queue_expires
INSERT INTO tenure_lease (token, owner, queue, units, started, left_count, lease_ms, granted_at, expires_at, ends_at, keyed)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)

-- NEXT_DUE: when time alone may change the answer of a claim: the next job is due, or the next lease runs out.
-- In     1 queues that a due job opens, 2 queues that a lease's end opens, both as JSON arrays
-- Reply  one row: the instant, or NULL
-- Index  tenure_job_scheduled, tenure_lease_queue_expires: the first entry of each queue
SELECT min(at)
FROM (SELECT (SELECT run_at FROM tenure_job WHERE queue = q.value AND place = 1 ORDER BY run_at LIMIT 1) AS at
      FROM json_each(?1) AS q
      UNION ALL
      SELECT (SELECT expires_at FROM tenure_lease WHERE queue = q.value AND stuck = 0 ORDER BY expires_at LIMIT 1)
      FROM json_each(?2) AS q)

-- NEXT_END: when the next lease of any queue runs out: what a full engine waits for.
-- In     nothing
-- Reply  one row: the instant, or NULL
-- Index  tenure_lease_expires: its first entry
SELECT min(expires_at) FROM tenure_lease WHERE stuck = 0

-- PROMOTE: scheduled jobs that are due take their place among the ready ones; those of a tenant among
-- its parked ones first.
-- Guard  place: only scheduled ones.
-- In     1 queue, 2 now, 3 at most how many
-- Reply  limit_key of each
-- Index  tenure_job_scheduled
UPDATE tenure_job SET place = CASE WHEN limit_key IS NULL THEN 0 ELSE 3 END
WHERE id IN (SELECT id FROM tenure_job WHERE queue = ?1 AND place = 1 AND run_at <= ?2 ORDER BY run_at LIMIT ?3)
RETURNING limit_key

-- RUN: jobs of a queue were claimed: they run, and the rate is spent.
-- In     1 name, 2 how many, 3 rate_period, 4 rate_spent
-- Reply  nothing
-- Index  tenure_queue's key
UPDATE tenure_queue SET running = running + ?2, rate_period = ?3, rate_spent = ?4 WHERE name = ?1

-- SET_ASIDE: a claim could not read this job; it is left for a person.
-- Guard  place: only what a claim could have taken.
-- In     1 id
-- Reply  its tenant, if it has one
-- Index  tenure_job's key; leaves tenure_job_ready or tenure_job_parked
UPDATE tenure_job SET place = 5 WHERE id = ?1 AND place IN (0, 3) RETURNING queue, limit_key

-- TENANT_SET: the same, after a claim.
-- In     1 queue, 2 key, 3 running, 4 rate_period, 5 rate_spent, 6 now
-- Reply  nothing
-- Index  tenure_tenant's key
INSERT INTO tenure_tenant (queue, key, running, rate_period, rate_spent, claimed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (queue, key) DO UPDATE SET running = excluded.running, rate_period = excluded.rate_period,
                                       rate_spent = excluded.rate_spent, claimed_at = excluded.claimed_at
