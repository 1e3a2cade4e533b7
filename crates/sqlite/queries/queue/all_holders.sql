-- queue/all_holders.sql: a few of those who hold jobs of any queue.
-- In     1 how many
-- Reply  owner, by name
-- Index  none: no more than 10,000 leases are looked at
SELECT DISTINCT owner FROM (SELECT owner FROM lease LIMIT 10000) ORDER BY owner LIMIT ?1
