-- store/probe.sql: a write like any other, to be taken back.
-- In     nothing
-- Reply  nothing
-- Index  meta's key
UPDATE meta SET epoch = epoch + 1 WHERE only = 1
