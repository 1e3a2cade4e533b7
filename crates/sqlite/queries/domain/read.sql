-- DOMAIN_EVENTS: the events of a domain, in the order in which they were written.
-- In     1 name
-- Reply  at most a hundred rows
-- Index  tenure_domain's unique name, tenure_domain_event's key
SELECT e.at, e.what, e.event_offset, e.token, e.holder, e.nth, e.by
FROM tenure_domain d JOIN tenure_domain_event e ON e.domain = d.id
WHERE d.name = ?1 ORDER BY e.seq

-- DOMAIN_LIST: domains by name.
-- In     1 only names after this, 2 how many at most
-- Reply  rows of tenure_domain_shown
-- Index  tenure_domain's unique name, tenure_domain_waiting's key
SELECT * FROM tenure_domain_shown WHERE name > ?1 ORDER BY name LIMIT ?2

-- DOMAIN_LIST_BLOCKED: domains where offsets wait and no live lease works on the one before them, by name.
-- In     1 only names after this, 2 how many at most, 3 now
-- Reply  rows of tenure_domain_shown
-- Index  tenure_domain_backlogged, tenure_domain_waiting's key
SELECT * FROM tenure_domain_shown
WHERE name > ?1 AND backlog_len > 0 AND (current_offset IS NULL OR expires_at <= ?3)
ORDER BY name LIMIT ?2

-- DOMAIN_LIST_EXPIRED: domains whose lease ran out, by name.
-- In     1 only names after this, 2 how many at most, 3 now
-- Reply  rows of tenure_domain_shown
-- Index  tenure_domain_leased, tenure_domain_waiting's key
SELECT * FROM tenure_domain_shown WHERE name > ?1 AND expires_at IS NOT NULL AND expires_at <= ?3 ORDER BY name LIMIT ?2

-- DOMAIN_REFUSALS: the refused writes of a domain.
-- In     1 name
-- Reply  at most one row for each token and code, a hundred in all
-- Index  tenure_domain's unique name, tenure_domain_refusal's key
SELECT r.at, r.verb, nullif(r.token, 0), r.code, r.count, r.first_at
FROM tenure_domain d JOIN tenure_domain_refusal r ON r.domain = d.id
WHERE d.name = ?1

-- DOMAIN_SHOW: one domain, as anyone may see it.
-- In     1 name
-- Reply  at most one row of tenure_domain_shown
-- Index  tenure_domain's unique name, tenure_domain_waiting's key
SELECT * FROM tenure_domain_shown WHERE name = ?1
