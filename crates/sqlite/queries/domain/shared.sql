-- DOMAIN_EXPIRED: leases that ran out and were not told, the longest ago first (L7).
-- In     1 now, 2 how many at most
-- Reply  names
-- Index  domain_expiry
SELECT name FROM domain
WHERE expires_at IS NOT NULL AND expiry_told = 0 AND expires_at <= ?1
ORDER BY expires_at, name LIMIT ?2
