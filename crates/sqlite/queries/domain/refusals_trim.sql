-- domain/refusals_trim.sql: refusals of the longest ago give way.
-- In     1 domain, 2 how many are kept
-- Reply  nothing
-- Index  domain_refusal's key
DELETE FROM domain_refusal
WHERE domain = ?1
  AND (code, token) IN (SELECT code, token FROM domain_refusal WHERE domain = ?1
                        ORDER BY at DESC, code DESC, token DESC LIMIT -1 OFFSET ?2)
