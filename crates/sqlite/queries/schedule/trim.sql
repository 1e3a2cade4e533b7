-- schedule/trim.sql: firings beyond those that are kept.
-- In     1 schedule, 2 how many are kept
-- Reply  nothing
-- Index  firing's key, twice
DELETE FROM firing
 WHERE schedule = ?1
   AND slot <= (SELECT slot FROM firing WHERE schedule = ?1 ORDER BY slot DESC LIMIT 1 OFFSET ?2)
