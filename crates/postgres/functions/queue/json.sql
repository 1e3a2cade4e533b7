-- Payloads that come through plain SQL, held to the same bounds as everywhere else.

-- A refusal of what a caller sent: TE010, with the stable code as hint.
create or replace function tenure.refuse(code text, message text) returns void language plpgsql as $$
begin
    raise exception '%', message using errcode = 'TE010', hint = code;
end $$;

-- Text as a JSON string, as core writes it.
create or replace function tenure.json_string(of text) returns text language plpgsql immutable as $$
declare
    escaped text := replace(replace(of, '\', '\\'), '"', '\"');
begin
    if escaped ~ '[\u0001-\u001f]' then
        for code in 1 .. 31 loop
            escaped := replace(escaped, chr(code), '\u' || lpad(to_hex(code), 4, '0'));
        end loop;
    end if;
    return '"' || escaped || '"';
end $$;

-- A number as significant digits and a power of ten, so that 1, 1.0 and 10e-1 read the same. Without an exception block,
-- which would cost a subtransaction for each number.
create or replace function tenure.json_number(written text) returns text language plpgsql immutable as $$
declare
    part text[];
    digits text;
    significant text;
    exponent numeric := 0;
    power numeric;
begin
    if written ~ '^-?[1-9][0-9]*$' then
        significant := rtrim(written, '0');
        power := length(written) - length(significant);
        return significant || case when power = 0 then '' else 'e' || power end;
    end if;
    part := regexp_match(written, '^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?)0*([0-9]*))?$');
    digits := ltrim(part[2] || coalesce(part[3], ''), '0');
    significant := rtrim(digits, '0');
    if significant = '' then
        return '0';
    end if;
    -- Beyond reckoning; such a number only equals itself.
    if length(part[5]) > 19 then
        return written;
    end if;
    exponent := (coalesce(part[4], '') || coalesce(nullif(part[5], ''), '0'))::numeric;
    power := exponent - length(coalesce(part[3], ''));
    if least(exponent, power) < -9223372036854775808 or exponent > 9223372036854775807 then
        return written;
    end if;
    power := power + length(digits) - length(significant);
    if power > 9223372036854775807 then
        return written;
    end if;
    return part[1] || significant || case when power = 0 then '' else 'e' || power end;
end $$;

-- One text for each JSON value: keys sorted, numbers by value, no blanks. Refuses what core refuses.
create or replace function tenure.canonical(field text, of json, depth integer default 0) returns text language plpgsql as $$
declare
    -- A whole number that does not end in 0, a word, a string without escapes; and nothing inside, where it may be.
    as_written constant text := '^(-?[0-9]*[1-9]|true|false|null|"[^"\\]*"'
                                || case when depth < 63 then '|\[]|{})$' else ')$' end;
    inside text;
    total bigint;
    different bigint;
begin
    if depth >= 64 and json_typeof(of) in ('object', 'array') then
        perform tenure.refuse('json_too_deep', format('`%s` is nested too deep: at most 64 levels', field));
    end if;
    -- What is canonical as it is written, which is most of what is long, is not called for one by one.
    case json_typeof(of)
        when 'object' then
            select string_agg(case when m.key ~ '["\\\u0001-\u001f]' then tenure.json_string(m.key)
                                   else '"' || m.key || '"' end
                              || ':' || case when m.value::text ~ as_written then m.value::text
                                             when m.value::text ~ '^[-0-9]' then tenure.json_number(m.value::text)
                                             else tenure.canonical(field, m.value, depth + 1) end, ','
                              order by m.key collate "C"),
                   count(*), count(distinct m.key)
              into inside, total, different from json_each(of) m;
            if total > different then
                perform tenure.refuse('json_duplicate_key', format('`%s` names a key twice', field));
            end if;
            return '{' || coalesce(inside, '') || '}';
        when 'array' then
            select string_agg(case when m.value::text ~ as_written then m.value::text
                                   when m.value::text ~ '^[-0-9]' then tenure.json_number(m.value::text)
                                   else tenure.canonical(field, m.value, depth + 1) end, ',' order by m.ord)
              into inside from json_array_elements(of) with ordinality as m(value, ord);
            return '[' || coalesce(inside, '') || ']';
        when 'string' then
            return tenure.json_string(of #>> '{}');
        when 'number' then
            return tenure.json_number(of #>> '{}');
        when 'null' then
            return 'null';
        else
            return of #>> '{}';
    end case;
end $$;

-- The canonical text of what a caller sent, or the refusal in our words. Two steps, for the server reads escapes only
-- when it is asked for the text behind them.
create or replace function tenure.checked_json(field text, sent text) returns text language plpgsql as $$
declare
    parsed json;
begin
    if octet_length(sent) > 1048576 then
        perform tenure.refuse('too_large', format('`%s` is too large: at most 1048576 bytes; got %s', field,
                                                  octet_length(sent)));
    end if;
    begin
        parsed := sent::json;
    exception when invalid_text_representation then
        perform tenure.refuse('json_syntax', format('`%s` is not valid JSON', field));
    when statement_too_complex then
        -- Deeper than the server itself reads.
        perform tenure.refuse('json_too_deep', format('`%s` is nested too deep: at most 64 levels', field));
    end;
    return tenure.canonical(field, parsed);
exception when invalid_text_representation or untranslatable_character then
    perform tenure.refuse('unsupported_character', format('`%s` holds \u0000 or a lone surrogate', field));
end $$;

-- Refuses what is no JSON, or too much of it, among what a caller sent; null is not sent. Whoever works is given the word of
-- no library that it was checked, and what is not JSON would break the answers that it is put into.
create or replace function tenure.only_json(field text, sent text[]) returns void language plpgsql as $$
begin
    -- What is mostly so, for which no subtransaction is begun.
    if sent is null or array_remove(sent, null) = '{}' then
        return;
    end if;
    if (select max(octet_length(s.value)) from unnest(sent) as s(value)) > 1048576 then
        perform tenure.refuse('too_large', format('`%s` is too large: at most 1048576 bytes', field));
    end if;
    begin
        perform s.value::json from unnest(sent) as s(value) where s.value is not null;
    exception when invalid_text_representation or statement_too_complex then
        perform tenure.refuse('json_syntax', format('`%s` is not valid JSON', field));
    end;
end $$;
