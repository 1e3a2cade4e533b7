-- store/changes.sql: what was changed about a subject, oldest first.
-- Parameters  $1 face, $2 name
-- Reply       at most a hundred rows
-- Indexes     change_subject
select c.at, c.by, c.what, c.setting, c.was, c.became
  from tenure.change c
 where c.face = $1 and c.name = $2
 order by c.id
