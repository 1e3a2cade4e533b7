-- Who acts, as events name it (L8): what the caller says, or in plain SQL the role that opened the session, whoever's
-- rights it acts with. Bounded, and without characters that mislead whoever reads it.
create or replace function tenure.actor(said text) returns text language sql stable as $$
    select left(regexp_replace(coalesce(said, 'sql:' || session_user),
                               '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]', '?', 'g'), 256)
$$;

-- Writes down what was done about settings (L8): one row for each setting that is another than before, or that the caller
-- is `sure` of, and one for what names no setting. Of each subject the last hundred are kept.
-- Locks  none: the caller holds what was changed. Index: change_subject.
create or replace function tenure.note_changes(
    of_face text, of_name text, of_what text, settings text[], was text[], became text[], by_actor text, now timestamptz,
    sure boolean default false
) returns void language plpgsql as $$
begin
    insert into tenure.change (at, face, name, what, setting, was, became, by)
    select now, of_face, of_name, of_what, d.setting, left(d.was, 200), left(d.became, 200), tenure.actor(by_actor)
      from unnest(settings, was, became) with ordinality as d(setting, was, became, ord)
     where sure or d.setting is null or d.was is distinct from d.became
     order by d.ord;
    if found then
        delete from tenure.change c
         where c.id = any (array(select o.id from tenure.change o where o.face = of_face and o.name = of_name
                                  order by o.id desc offset 100));
    end if;
end $$;
