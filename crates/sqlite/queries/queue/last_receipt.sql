-- queue/last_receipt.sql: the last claim of a job that is gone, of those that are remembered.
-- In     1 job
-- Reply  one row; null if none is
-- Index  receipt's key
SELECT max(token) FROM receipt WHERE job = ?1
