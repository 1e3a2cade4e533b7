-- queue/dedup_ended.sql: how jobs ended that are being removed, for as long as their keys are remembered (Q7).
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  dedup_job, finished's key
UPDATE dedup SET ended = (SELECT status FROM finished WHERE finished.id = dedup.job)
WHERE job IN (SELECT value FROM json_each(?1))
