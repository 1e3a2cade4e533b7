-- store/changed.sql: something was changed about settings (L8).
-- In     1 at, 2 face, 3 name, 4 by, 5 what, 6 setting, 7 was, 8 became
-- Reply  nothing
-- Index  writes change_subject, change_age
INSERT INTO change (at, face, name, by, what, setting, was, became) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
