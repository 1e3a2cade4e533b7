-- schedule/firing.sql: the row of a slot that was fired. A second one of the same slot is refused by the key (T1).
-- In     1 schedule, 2 slot, 3 fired_at, 4 job
-- Reply  nothing
-- Index  firing's key
INSERT INTO firing (schedule, slot, fired_at, job) VALUES (?1, ?2, ?3, ?4)
