-- queue/evict.sql: the first ended claim of a job is no longer kept with it.
-- In     1 job
-- Reply  nothing
-- Index  job's key
UPDATE job SET attempts = json_remove(attempts, '$[0]') WHERE id = ?1
