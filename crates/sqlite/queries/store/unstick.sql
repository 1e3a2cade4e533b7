-- store/unstick.sql: leases that recovery gave up on are tried again after a restart, which may have mended the cause.
-- In     nothing
-- Reply  nothing
-- Index  lease read whole, once per opening
UPDATE lease SET stuck = 0 WHERE stuck = 1
