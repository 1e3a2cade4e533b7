-- schedule/firings.sql: the last firings of a schedule, newest first.
-- In     1 schedule, 2 below this slot, 3 at most how many
-- Reply  slot, fired_at, job
-- Index  firing's key
SELECT slot, fired_at, job FROM firing WHERE schedule = ?1 AND slot < ?2 ORDER BY slot DESC LIMIT ?3
