-- store/epoch.sql: the epoch of the tokens drawn from now on (L2).
-- In     nothing
-- Reply  one row
-- Index  meta's key
SELECT epoch FROM meta WHERE only = 1
