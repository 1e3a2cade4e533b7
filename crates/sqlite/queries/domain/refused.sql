-- domain/refused.sql: a write was refused; repetitions are counted into one event for each token and code (L8).
-- In     1 domain, 2 code, 3 at, 4 verb, 5 token, 0 for none
-- Reply  one row: how often
-- Index  domain_refusal's key
INSERT INTO domain_refusal (domain, code, at, verb, token) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (domain, code, token)
DO UPDATE SET first_at = coalesce(first_at, at), at = excluded.at, verb = excluded.verb, count = count + 1
RETURNING count
