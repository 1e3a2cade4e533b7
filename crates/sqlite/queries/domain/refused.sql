-- domain/refused.sql: a write was refused; repetitions are counted into one event for each code (L8).
-- In     1 domain, 2 code, 3 at, 4 verb, 5 token
-- Reply  nothing
-- Index  domain_refusal's key
INSERT INTO domain_refusal (domain, code, at, verb, token) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (domain, code)
DO UPDATE SET at = excluded.at, verb = excluded.verb, token = excluded.token, count = count + 1
