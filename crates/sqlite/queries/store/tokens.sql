-- DRAW_TOKENS: new tokens, drawn in the claim's own transaction (L2).
-- Guard  none; runs under the write lock, after the units were chosen.
-- In     1 how many
-- Reply  one row: the last of them
-- Index  tenure_meta's key
UPDATE tenure_meta SET last_token = last_token + ?1 WHERE only = 1 RETURNING last_token

-- RAISE: every later token outranks every earlier one, after a restore (L2).
-- Guard  none; runs under the write lock, after core has said to where.
-- In     1 last token, 2 epoch, 3 its base
-- Reply  nothing
-- Index  tenure_meta's key
UPDATE tenure_meta SET last_token = ?1, epoch = ?2, token_base = ?3 WHERE only = 1

-- TOKENS: the counter of tokens, and its last raise (L2).
-- In     nothing
-- Reply  one row
-- Index  tenure_meta's key
SELECT last_token, epoch, token_base FROM tenure_meta WHERE only = 1
