-- DOMAIN_EXPIRED: leases that ran out and were not told, the longest ago first (L7).
-- In     1 now, 2 how many at most
-- Reply  names
-- Index  tenure_domain_expiry
SELECT name FROM tenure_domain
WHERE expires_at IS NOT NULL AND expiry_told = 0 AND expires_at <= ?1
ORDER BY expires_at, name LIMIT ?2

-- DOMAIN_FIND: one domain, as its verbs need it.
-- Guard  none; runs under the write lock.
-- In     1 name
-- Reply  at most one row
-- Index  tenure_domain's unique name
SELECT id, created_at, max_retries, takeovers_max, last_token, current_offset, acquired_at, retry_count, takeovers,
       holder, lease_ms, expires_at, expiry_told, ended_from, ended_to, ended_others, failed_from, failed_to,
       failed_others, backlog_len, waiting_seq, event_seq
FROM tenure_domain WHERE name = ?1

-- DOMAIN_MAKE: a domain is used for the first time.
-- Guard  the caller looked for it under the same write lock.
-- In     1 name, 2 now
-- Reply  one row: its number
-- Index  tenure_domain's unique name
INSERT INTO tenure_domain (name, created_at) VALUES (?1, ?2) RETURNING id

-- DOMAIN_SAVE: what a verb made of a domain. The verb judged the token; the write lock keeps others out meanwhile.
-- In     1 id, 2 max_retries, 3 takeovers_max, 4 last_token, 5 current_offset, 6 acquired_at, 7 retry_count,
--        8 takeovers, 9 holder, 10 lease_ms, 11 expires_at, 12 expiry_told, 13 ended_from, 14 ended_to,
--        15 ended_others, 16 failed_from, 17 failed_to, 18 failed_others, 19 backlog_len, 20 waiting_seq, 21 event_seq
-- Reply  nothing
-- Index  tenure_domain's key
UPDATE tenure_domain
SET max_retries = ?2, takeovers_max = ?3, last_token = ?4, current_offset = ?5, acquired_at = ?6, retry_count = ?7,
    takeovers = ?8, holder = ?9, lease_ms = ?10, expires_at = ?11, expiry_told = ?12, ended_from = ?13, ended_to = ?14,
    ended_others = ?15, failed_from = ?16, failed_to = ?17, failed_others = ?18, backlog_len = ?19, waiting_seq = ?20,
    event_seq = ?21
WHERE id = ?1
