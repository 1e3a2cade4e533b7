-- CLAIM_BYTES: the bytes that a claim hands out with a job.
-- In     1 id
-- Reply  one row
-- Index  the keys of job and note; the length is read, not the text
SELECT octet_length(payload) + coalesce((SELECT octet_length(checkpoint) FROM tenure_note WHERE job = id), 0)
FROM tenure_job WHERE id = ?1

-- HELD_BACK: whether due jobs of a queue are held back by nothing but their tenant's limit.
-- When a claim found nothing, nearly every tenant with parked jobs is at its limit: the first one answers.
-- In     1 queue, 2 the limit, 3 kinds as a JSON array or NULL
-- Reply  one row: 0 or 1
-- Index  tenure_job_parked, by a seek for each tenant; tenure_tenant's key
WITH RECURSIVE parked (key) AS (
    SELECT (SELECT limit_key FROM tenure_job WHERE queue = ?1 AND place = 3 ORDER BY limit_key LIMIT 1)
    UNION ALL
    SELECT (SELECT limit_key FROM tenure_job WHERE queue = ?1 AND place = 3 AND limit_key > parked.key
            ORDER BY limit_key LIMIT 1)
    FROM parked WHERE parked.key IS NOT NULL
)
SELECT EXISTS (
    SELECT 1 FROM parked CROSS JOIN tenure_tenant ON tenure_tenant.queue = ?1 AND tenure_tenant.key = parked.key
    WHERE tenure_tenant.running >= ?2
      AND (?3 IS NULL
           OR EXISTS (SELECT 1 FROM json_each(?3) AS asked CROSS JOIN tenure_job
                      ON tenure_job.queue = ?1 AND tenure_job.limit_key = parked.key AND tenure_job.kind = asked.value AND tenure_job.place = 3)))

-- NEXT_OF_POOL: what follows a ready job within its tenant and kind, in the order of claims.
-- In     1 id of the ready one, 2 at most how many, 3 how many were read before
-- Reply  priority, created_at, id
-- Index  tenure_job's key, tenure_job_parked
SELECT next.priority, next.created_at, next.id
FROM tenure_job AS head CROSS JOIN tenure_job AS next
     ON next.queue = head.queue AND next.limit_key = head.limit_key AND next.kind = head.kind AND next.place = 3
WHERE head.id = ?1
ORDER BY next.priority DESC, next.created_at, next.id LIMIT ?2 OFFSET ?3

-- READY: ready jobs of a queue, in the order of claims (Q2). The caller stops when it has enough.
-- In     1 queue
-- Reply  priority, created_at, id, limit_key
-- Index  tenure_job_ready, which covers it
SELECT priority, created_at, id, limit_key FROM tenure_job
WHERE queue = ?1 AND place = 0
ORDER BY priority DESC, created_at, id

-- READY_OF_KINDS: the same, for a worker that knows only some kinds.
-- In     1 queue, 2 kinds as a JSON array
-- Reply  priority, created_at, id, limit_key
-- Index  tenure_job_ready for the order; the kind is read from the row
SELECT priority, created_at, id, limit_key FROM tenure_job
WHERE queue = ?1 AND place = 0 AND kind IN (SELECT value FROM json_each(?2))
ORDER BY priority DESC, created_at, id
