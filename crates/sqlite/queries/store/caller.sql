-- LOCK: takes the write lock inside a caller's own transaction, so that what is judged next stays true until
-- it ends.
-- In     nothing
-- Reply  which of all callers' transactions this is; others read it once it is committed (turn.sql)
-- Index  tenure_caller's key
UPDATE tenure_caller SET turn = turn + 1 WHERE only = 1 RETURNING turn

-- TURN: the last transaction of a caller's own that was committed.
-- In     nothing
-- Reply  its turn
-- Index  tenure_caller's key
SELECT turn FROM tenure_caller WHERE only = 1
