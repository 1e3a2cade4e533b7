-- queue/jobs.sql: jobs that match, newest first.
-- Parameters  $1 queue or null, $2 status or null, $3 kind or null, $4 only ids below this, $5 how many at most.
-- Reply       as tenure.show_job, with `found`, how many there are; those of them that one page may carry (core's
--             PAGE_BYTES_MAX), and at least one.
-- Indexes     those of tenure.list_ids; then the primary keys.
select * from (
    select listed.*, count(*) over () as found, row_number() over w as nth,
           sum(octet_length(payload) + coalesce(octet_length(result), 0) + coalesce(octet_length(progress), 0)
               + coalesce(octet_length(checkpoint), 0)) over w as bytes
      from tenure.show_job(variadic tenure.list_ids($1, $2, $3, $4, $5)) listed
    window w as (order by id desc)) page
 where bytes <= 16777216 or nth = 1
 order by id desc
