-- CHANGED: something was changed about settings (L8).
-- In     1 at, 2 face, 3 name, 4 by, 5 what, 6 setting, 7 was, 8 became
-- Reply  nothing
-- Index  writes tenure_change_subject, tenure_change_age
INSERT INTO tenure_change (at, face, name, by, what, setting, was, became) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- CHANGES: what was changed about a subject, oldest first.
-- In     1 face, 2 name
-- Reply  at most a hundred rows
-- Index  tenure_change_subject
SELECT at, by, what, setting, was, became FROM tenure_change WHERE face = ?1 AND name = ?2 ORDER BY id

-- CHANGES_TRIM: what was changed longest ago about a subject gives way.
-- In     1 face, 2 name, 3 how many are kept
-- Reply  nothing
-- Index  tenure_change_subject
DELETE FROM tenure_change
WHERE id IN (SELECT id FROM tenure_change WHERE face = ?1 AND name = ?2 ORDER BY id DESC LIMIT -1 OFFSET ?3)
