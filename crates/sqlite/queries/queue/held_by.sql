-- queue/held_by.sql: how many jobs each owner holds.
-- In     1 at most how many leases are looked at
-- Reply  owner, jobs, leases
-- Index  none: leases are few, and no more than ?1 are read
SELECT owner, sum(left_count), count(*) FROM (SELECT owner, left_count FROM lease LIMIT ?1) GROUP BY owner
