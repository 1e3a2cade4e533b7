-- store/new_epoch.sql: every later token outranks every earlier one, after a restore (L2).
-- Guard  8191 is the last epoch: no row beyond it.
-- In     nothing
-- Reply  at most one row
-- Index  meta's key
UPDATE meta SET epoch = epoch + 1 WHERE only = 1 AND epoch < 8191 RETURNING epoch
