-- schedule/draw_revision.sql: the next revision of any schedule.
-- Reply  it
-- Index  schedule_meta's key
UPDATE schedule_meta SET last_revision = last_revision + 1 RETURNING last_revision
