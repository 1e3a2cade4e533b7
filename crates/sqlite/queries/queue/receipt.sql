-- queue/receipt.sql: an ending that is no longer kept with its job (L12).
-- In     1 job, 2 token
-- Reply  at most one row
-- Index  receipt's key
SELECT verb, status, cancelled, owner, at FROM receipt WHERE job = ?1 AND token = ?2
