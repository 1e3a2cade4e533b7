-- DOMAIN_EVENT: something happened (L8).
-- In     1 domain, 2 seq, 3 at, 4 what, 5 offset, 6 token, 7 holder, 8 nth, 9 by
-- Reply  nothing
-- Index  tenure_domain_event's key
INSERT INTO tenure_domain_event (domain, seq, at, what, event_offset, token, holder, nth, by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- DOMAIN_FORGET_EVENTS: events beyond the last hundred.
-- In     1 domain, 2 the last seq to forget
-- Reply  nothing
-- Index  tenure_domain_event's key; at most one row, for it runs with each event
DELETE FROM tenure_domain_event WHERE domain = ?1 AND seq <= ?2

-- DOMAIN_HEAD: the first offset that waits.
-- In     1 domain
-- Reply  at most one row: offset
-- Index  tenure_domain_waiting's key, one entry
SELECT waiting_offset FROM tenure_domain_waiting WHERE domain = ?1 ORDER BY seq LIMIT 1

-- DOMAIN_LEAVE: an offset waits no longer.
-- In     1 domain, 2 offset
-- Reply  nothing; no row changed where it did not wait
-- Index  tenure_domain_waiting_once
DELETE FROM tenure_domain_waiting WHERE domain = ?1 AND waiting_offset = ?2

-- DOMAIN_RANGE_BELOW: the range that begins at or before an offset, the last of them.
-- In     1 domain, 2 whether of those that failed, 3 offset
-- Reply  at most one row: from, to
-- Index  tenure_domain_range's key, one entry
SELECT from_offset, to_offset FROM tenure_domain_range
WHERE domain = ?1 AND failed = ?2 AND from_offset <= ?3 ORDER BY from_offset DESC LIMIT 1

-- DOMAIN_RANGE_PUT: a range beside the one that grew last.
-- In     1 domain, 2 whether of those that failed, 3 from, 4 to
-- Reply  nothing
-- Index  tenure_domain_range's key
INSERT INTO tenure_domain_range (domain, failed, from_offset, to_offset) VALUES (?1, ?2, ?3, ?4)

-- DOMAIN_RANGE_TAKE: takes the range out that begins at an offset.
-- In     1 domain, 2 whether of those that failed, 3 from
-- Reply  at most one row: to
-- Index  tenure_domain_range's key
DELETE FROM tenure_domain_range WHERE domain = ?1 AND failed = ?2 AND from_offset = ?3 RETURNING to_offset

-- DOMAIN_REFUSALS_TRIM: refusals of the longest ago give way.
-- In     1 domain, 2 how many are kept
-- Reply  nothing
-- Index  tenure_domain_refusal's key
DELETE FROM tenure_domain_refusal
WHERE domain = ?1
  AND (code, token) IN (SELECT code, token FROM tenure_domain_refusal WHERE domain = ?1
                        ORDER BY at DESC, code DESC, token DESC LIMIT -1 OFFSET ?2)

-- DOMAIN_REFUSED: a write was refused; repetitions are counted into one event for each token and code (L8).
-- In     1 domain, 2 code, 3 at, 4 verb, 5 token, 0 for none
-- Reply  one row: how often
-- Index  tenure_domain_refusal's key
INSERT INTO tenure_domain_refusal (domain, code, at, verb, token) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (domain, code, token)
DO UPDATE SET first_at = coalesce(first_at, at), at = excluded.at, verb = excluded.verb, count = count + 1
RETURNING count

-- DOMAIN_WAIT: an offset waits at the tail.
-- Guard  one that waits already stays where it is.
-- In     1 domain, 2 seq, 3 offset, 4 since
-- Reply  nothing; no row changed where it waited already
-- Index  tenure_domain_waiting's key, tenure_domain_waiting_once
INSERT INTO tenure_domain_waiting (domain, seq, waiting_offset, since) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (domain, waiting_offset) DO NOTHING
