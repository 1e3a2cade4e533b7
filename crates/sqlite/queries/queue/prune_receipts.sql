-- queue/prune_receipts.sql: receipts past their hour are removed.
-- In     1 an hour ago, 2 at most how many
-- Reply  nothing; as many rows as went
-- Index  receipt_age
DELETE FROM receipt
WHERE (job, token) IN (SELECT job, token FROM receipt WHERE at <= ?1 ORDER BY at LIMIT ?2)
