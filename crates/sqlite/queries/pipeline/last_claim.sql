-- pipeline/last_claim.sql: the last ended claim of a unit, which may have been dropped and made anew since.
-- Guard  none.
-- In     1 run, 2 the token of one of its claims, 3 stage, 4 segment
-- Reply  one row: its token
-- Index  unit_attempt's key, from the token on
SELECT token FROM unit_attempt
 WHERE run = ?1 AND token >= ?2 AND stage = ?3 AND segment = ?4 ORDER BY token DESC LIMIT 1
