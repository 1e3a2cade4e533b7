-- queue/unfinished.sql: where an unfinished job stands, for an operator.
-- In     1 id
-- Reply  at most one row: queue, place, token, ordering_key, limit_key
-- Index  job's key
SELECT queue, place, token, ordering_key, limit_key FROM job WHERE id = ?1
