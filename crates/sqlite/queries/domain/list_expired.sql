-- domain/list_expired.sql: domains whose lease ran out, by name.
-- In     1 only names after this, 2 how many at most, 3 now
-- Reply  as domain/show.sql
-- Index  domain_leased, domain_waiting's key
SELECT d.name, d.created_at, d.max_retries, d.takeovers_max, d.current_offset, d.holder, d.acquired_at, d.retry_count,
       d.takeovers, d.lease_ms, d.expires_at, d.backlog_len,
       (SELECT w.waiting_offset FROM domain_waiting w WHERE w.domain = d.id ORDER BY w.seq LIMIT 1) AS head,
       (SELECT w.since FROM domain_waiting w WHERE w.domain = d.id ORDER BY w.seq LIMIT 1) AS since
FROM domain d WHERE d.name > ?1 AND d.expires_at IS NOT NULL AND d.expires_at <= ?3 ORDER BY d.name LIMIT ?2
