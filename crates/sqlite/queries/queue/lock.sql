-- queue/lock.sql: takes the write lock inside a caller's own transaction, so that what is judged next stays true until
-- it ends.
-- In     nothing
-- Reply  nothing; one row
-- Index  meta's key
UPDATE meta SET only = 1 WHERE only = 1
