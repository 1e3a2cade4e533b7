-- PRUNE_CHANGES: changes of settings that are no longer kept.
-- In     1 the last instant to forget, 2 how many at most
-- Reply  nothing
-- Index  change_age
DELETE FROM change WHERE id IN (SELECT id FROM change WHERE at <= ?1 ORDER BY at LIMIT ?2)
