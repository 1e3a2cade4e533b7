-- domain/save.sql: what a verb made of a domain. The verb judged the token; the write lock keeps others out meanwhile.
-- In     1 id, 2 max_retries, 3 takeovers_max, 4 last_token, 5 current_offset, 6 acquired_at, 7 retry_count,
--        8 takeovers, 9 holder, 10 lease_ms, 11 expires_at, 12 expiry_told, 13 ended_from, 14 ended_to,
--        15 ended_others, 16 any_failed, 17 backlog_len, 18 waiting_seq, 19 event_seq
-- Reply  nothing
-- Index  domain's key
UPDATE domain
SET max_retries = ?2, takeovers_max = ?3, last_token = ?4, current_offset = ?5, acquired_at = ?6, retry_count = ?7,
    takeovers = ?8, holder = ?9, lease_ms = ?10, expires_at = ?11, expiry_told = ?12, ended_from = ?13, ended_to = ?14,
    ended_others = ?15, any_failed = ?16, backlog_len = ?17, waiting_seq = ?18, event_seq = ?19
WHERE id = ?1
