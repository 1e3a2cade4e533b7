-- sync/prune_receipts.sql: removes receipts past their hour.
-- Params ?1 ended before, ?2 how many.
-- Reply  nothing.
-- Index  sync_receipt_age.
DELETE FROM sync_receipt WHERE (sync, chunk_hash, token) IN
    (SELECT sync, chunk_hash, token FROM sync_receipt WHERE at <= ?1 LIMIT ?2);
