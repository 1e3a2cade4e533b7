-- queue/next_end.sql: when the next lease of any queue runs out: what a full engine waits for.
-- In     nothing
-- Reply  one row: the instant, or NULL
-- Index  lease_expires: its first entry
SELECT min(expires_at) FROM lease WHERE stuck = 0
