-- The queue in transactions of psql's own.
-- Variables  job, token and poor_job, poor_token are held by worker-1; stale_job, stale_token were.

\set QUIET on
\set VERBOSITY verbose
\pset tuples_only on
\pset format unaligned

begin;
insert into orders values (1, 'new');
select tenure.enqueue('shipping', 'ship', '{"order":1}') as shipping_job \gset
rollback;
\echo rolled back

begin;
insert into orders values (2, 'new');
select tenure.enqueue('shipping', 'ship', '{"order":2}'::jsonb, '{"key":"order-2"}') as shipping_job \gset
commit;
\echo committed

begin;
select tenure.held(:job, 'worker-1', :token);
update orders set state = 'shipped' where id = 2;
select tenure.complete(:job, 'worker-1', :token, '"by train"') as status \gset
commit;
\echo completed: :status

begin;
select tenure.fail(:poor_job, 'worker-1', :poor_token, 'out of paper') as status \gset
commit;
\echo failed: :status

-- A worker that lost its lease gets no further than the guard, and what it wrote before is gone.
begin;
insert into orders values (3, 'stale');
select tenure.held(:stale_job, 'worker-1', :stale_token);
\echo stale: :LAST_ERROR_SQLSTATE
commit;

select tenure.enqueue('shipping', 'ship', '{"order":');
\echo bad input: :LAST_ERROR_SQLSTATE

select tenure.enqueue('shipping', 'ship', '{"order":7}', '{"key":"order-2"}');
\echo another body: :LAST_ERROR_SQLSTATE
