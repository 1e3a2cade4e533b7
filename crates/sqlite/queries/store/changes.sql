-- store/changes.sql: what was changed about a subject, oldest first.
-- In     1 face, 2 name
-- Reply  at most a hundred rows
-- Index  change_subject
SELECT at, by, what, setting, was, became FROM change WHERE face = ?1 AND name = ?2 ORDER BY id
