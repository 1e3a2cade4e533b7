-- domain/find.sql: one domain, as its verbs need it.
-- Guard  none; runs under the write lock.
-- In     1 name
-- Reply  at most one row
-- Index  domain's unique name
SELECT id, created_at, max_retries, takeovers_max, last_token, current_offset, acquired_at, retry_count, takeovers,
       holder, lease_ms, expires_at, expiry_told, ended_from, ended_to, ended_others, any_failed, backlog_len,
       waiting_seq, event_seq
FROM domain WHERE name = ?1
