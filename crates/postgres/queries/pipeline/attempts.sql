-- pipeline/attempts.sql: the last claims of a run that have ended.
-- Parameters  $1 run, $2 how many
-- Reply       rows, newest first
-- Index       unit_attempt's key
select a.run, a.token, a.stage, a.segment, a.owner, a.claimed_at, a.ended_at, a.outcome, a.verb, a.status, a.error, a.beats,
       a.last_beat_at, a.longest_gap_ms
  from tenure.unit_attempt a where a.run = $1 order by a.token desc limit $2
