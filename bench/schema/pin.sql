-- pin.sql: fix the plan inside the claim function to index scans in index order.
-- Guard  none. A table without statistics, or a generic plan for LIMIT $n, can otherwise sort the whole backlog. A disabled scan that is
-- still the only way costs 10^10 on paper, which would start the JIT compiler in every call: so that is off as well.
ALTER FUNCTION claim SET enable_seqscan = off;
ALTER FUNCTION claim SET enable_sort = off;
ALTER FUNCTION claim SET enable_bitmapscan = off;
ALTER FUNCTION claim SET jit = off;
