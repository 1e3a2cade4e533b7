-- sync/progress.sql: how far a sync has come, as of one instant.
-- Params ?1 sync, ?2 now.
-- Reply  counts by state, rows, first claim and last completion.
-- Index  sync_chunk_place.
SELECT count(*) FILTER (WHERE completed_at IS NULL AND failed_at IS NULL AND locked_until IS NULL),
       count(*) FILTER (WHERE locked_until > ?2),
       count(*) FILTER (WHERE locked_until <= ?2),
       count(completed_at), count(failed_at),
       count(*) FILTER (WHERE completed_at IS NOT NULL AND claimed_at IS NULL),
       CAST(min(total(row_count) FILTER (WHERE completed_at IS NOT NULL AND claimed_at IS NOT NULL), 9007199254740991)
            AS INTEGER),
       min(claimed_at), max(completed_at) FILTER (WHERE claimed_at IS NOT NULL)
FROM sync_chunk WHERE sync = ?1;
