-- queue/put_back.sql: a running job waits again, and how its claim ended is kept with it.
-- Guard  id, place and token; the caller has judged owner and expiry under the same write lock.
-- In     1 id, 2 token, 3 place, 4 attempt, 5 run_at, 6 error, 7 owner, 8 claimed_at, 9 ended_at, 10 outcome, 11 verb,
--        12 beats, 13 last_beat_at, 14 longest_gap_ms
-- Reply  nothing; one row, or the caller answers LeaseLost
-- Index  job's key; enters the index of its place
UPDATE job
SET place = ?3, attempt = ?4, run_at = ?5, error = coalesce(?6, error),
    attempts = json_insert(
        coalesce(attempts, '[]'), '$[#]',
        json_object('token', ?2, 'owner', ?7, 'claimed_at', ?8, 'ended_at', ?9, 'outcome', ?10, 'verb', ?11,
                    'error', ?6, 'beats', ?12, 'last_beat_at', ?13, 'longest_gap_ms', ?14))
WHERE id = ?1 AND place = 2 AND token = ?2
