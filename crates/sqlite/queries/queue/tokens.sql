-- DRAW_TOKENS: new tokens, drawn in the claim's own transaction (L2).
-- Guard  none; runs under the write lock, after the units were chosen.
-- In     1 how many
-- Reply  one row: the last of them
-- Index  meta's key
UPDATE meta SET last_token = last_token + ?1 WHERE only = 1 RETURNING last_token
