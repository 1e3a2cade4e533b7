-- Fencing in a database of one's own that the store is not in: the row remembers the largest token that wrote it.
-- Works with any database; here, with psql.

\set QUIET on
\pset tuples_only on
\pset format unaligned

create table asset (id bigint primary key, file text not null);

-- Once:
alter table asset add column last_token bigint not null default 0;

-- With each write, the token of the lease under which it is done. No row: a later holder has written; stop.
prepare put (bigint, text, bigint) as
insert into asset (id, file, last_token) values ($1, $2, $3)
on conflict (id) do update set file = excluded.file, last_token = excluded.last_token
where asset.last_token <= excluded.last_token
returning id;

prepare change (bigint, text, bigint) as
update asset set file = $2, last_token = $3
where id = $1 and last_token <= $3
returning id;

-- Alice holds token 5, Bob takes over with token 6, and Alice wakes up.
\echo alice
execute put (42, 'by-alice.webp', 5);
\echo bob
execute change (42, 'by-bob.webp', 6);
\echo alice, late
execute change (42, 'by-alice.webp', 5);
execute put (42, 'by-alice.webp', 5);
\echo bob again
execute put (42, 'by-bob-again.webp', 6);
select file, last_token from asset;
