-- queue/holders.sql: a few of those who hold jobs of a queue.
-- In     1 queue, 2 how many
-- Reply  owner, by name
-- Index  lease_queue_expires; no more than 10,000 leases are looked at
SELECT DISTINCT owner FROM (SELECT owner FROM lease WHERE queue = ?1 LIMIT 10000) ORDER BY owner LIMIT ?2
