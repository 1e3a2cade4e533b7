-- queue/turn.sql: the last transaction of a caller's own that was committed.
-- In     nothing
-- Reply  its turn
-- Index  caller's key
SELECT turn FROM caller WHERE only = 1
