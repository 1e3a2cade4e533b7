-- store/any_stuck.sql: whether recovery gave up on a lease.
-- In     nothing
-- Reply  one row: 0 or 1
-- Index  lease read whole, once per opening
SELECT EXISTS (SELECT 1 FROM lease WHERE stuck = 1)
