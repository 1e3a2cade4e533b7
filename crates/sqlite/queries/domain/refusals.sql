-- domain/refusals.sql: the refused writes of a domain.
-- In     1 name
-- Reply  at most one row for each token and code, a hundred in all
-- Index  domain's unique name, domain_refusal's key
SELECT r.at, r.verb, nullif(r.token, 0), r.code, r.count, r.first_at
FROM domain d JOIN domain_refusal r ON r.domain = d.id
WHERE d.name = ?1
