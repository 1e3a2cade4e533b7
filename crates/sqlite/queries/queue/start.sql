-- START: more jobs of a lease were started.
-- Guard  token; the caller has judged owner and expiry under the same write lock.
-- In     1 token, 2 how many in all
-- Reply  nothing
-- Index  tenure_lease's key
UPDATE tenure_lease SET started = ?2 WHERE token = ?1
