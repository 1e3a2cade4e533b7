-- queue/draw_grants.sql: the counters of new tokens, drawn in the claim's own transaction (L2).
-- Guard  none; runs under the write lock, after the jobs were chosen.
-- In     1 how many
-- Reply  one row: epoch, the last counter drawn
-- Index  meta's key
UPDATE meta SET grants_drawn = grants_drawn + ?1 WHERE only = 1 RETURNING epoch, grants_drawn
