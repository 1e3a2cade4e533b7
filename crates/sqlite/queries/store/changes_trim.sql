-- store/changes_trim.sql: what was changed longest ago about a subject gives way.
-- In     1 face, 2 name, 3 how many are kept
-- Reply  nothing
-- Index  change_subject
DELETE FROM change
WHERE id IN (SELECT id FROM change WHERE face = ?1 AND name = ?2 ORDER BY id DESC LIMIT -1 OFFSET ?3)
