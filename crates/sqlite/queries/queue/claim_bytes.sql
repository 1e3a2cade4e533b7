-- queue/claim_bytes.sql: the bytes that a claim hands out with a job.
-- In     1 id
-- Reply  one row
-- Index  the keys of job and note; the length is read, not the text
SELECT octet_length(payload) + coalesce((SELECT octet_length(checkpoint) FROM note WHERE job = id), 0)
FROM job WHERE id = ?1
