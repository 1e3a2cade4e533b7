-- store/tokens.sql: the counter of tokens, and its last raise (L2).
-- In     nothing
-- Reply  one row
-- Index  meta's key
SELECT last_token, epoch, token_base FROM meta WHERE only = 1
