//! Text of strangers, wherever it is shown: what could move a cursor, turn a line around or hide is written as an escape.

use crate::Place;
use serde_json::Value;

/// Characters that a terminal obeys, or that nobody sees.
const MISLEADING: [char; 33] = [
    '\u{7f}',
    '\u{80}',
    '\u{85}',
    '\u{9b}',
    '\u{9f}',
    '\u{61c}',
    '\u{200b}',
    '\u{200d}',
    '\u{200e}',
    '\u{200f}',
    '\u{2028}',
    '\u{2029}',
    '\u{202a}',
    '\u{202b}',
    '\u{202c}',
    '\u{202d}',
    '\u{202e}',
    '\u{2060}',
    '\u{2066}',
    '\u{2067}',
    '\u{2068}',
    '\u{2069}',
    '\u{feff}',
    '\u{1b}',
    '\u{ad}',
    '\u{34f}',
    '\u{180b}',
    '\u{2800}',
    '\u{3164}',
    '\u{fe0f}',
    '\u{fffb}',
    '\u{1d173}',
    '\u{e0041}',
];

/// Fails if `shown` has any of them but the ends of lines and the tabs between cells.
fn harmless(what: &str, shown: &str) {
    let obeyed = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || MISLEADING.contains(&c);
    let found: Vec<char> = shown.chars().filter(|c| obeyed(*c)).collect();
    assert!(found.is_empty(), "{what}: {found:?} in {shown:?}");
}

/// Whether `text` is one of the strings in `json`, or a part of one.
fn holds(json: &Value, text: &str) -> bool {
    match json {
        Value::String(string) => string.contains(text),
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains(text) || holds(value, text)),
        _ => false,
    }
}

#[test]
fn s14_json_and_tables_escape_what_strangers_wrote_and_json_keeps_its_value() {
    let place = Place::new();
    let evil: String = MISLEADING.iter().collect();
    // In raw JSON a C0 character must be escaped; all the others may stand there as they are.
    let raw = evil.replace('\u{1b}', "\\u001b");
    // Keys take no control or bidirectional characters; invisible ones they do.
    let unseen = "a\u{ad}\u{200b}\u{200d}\u{2028}\u{2029}\u{2060}\u{feff}\u{e0041}b";
    let line = format!(
        "{{\"payload\":{{\"{raw}\":\r\t\"{raw}\"}},\"key\":\"{unseen}\",\"limit_key\":\"{unseen}\",\"ordering_key\":\"{unseen}\"}}\n"
    );
    let jobs = place.file("jobs.ndjson", &line);
    place.out(&["enqueue", "q", "--file", &jobs]);
    place.file("evil", &evil);
    // The program's words become the error of the first attempt, and the result of the second.
    place.tenure(&["work", "q", "--drain", "--", "sh", "-c", "cat evil >&2; exit 65"]).assert().success();
    place.out(&["enqueue", "q", "2"]);
    place.tenure(&["work", "q", "--drain", "--", "cat", "evil"]).assert().success();
    place.out(&["enqueue", "q", "3"]);
    place.out(&["job", "cancel", "3", "--reason", &evil]);
    place.out(&["domain", "acquire", unseen, "1"]);
    let plan = place.file("plan.ndjson", &format!("{{\"chunk_hash\":\"{unseen}\"}}\n"));
    let planned = place.tenure(&["sync", "plan", unseen, "--file", &plan]).output().unwrap();
    assert!(planned.status.success(), "{}", String::from_utf8_lossy(&planned.stderr));

    let shown: [(&[&str], &str); 12] = [
        (&["job", "show", "1"], &evil),
        (&["job", "list"], unseen),
        (&["job", "timeline", "1"], &evil),
        (&["job", "explain", "1"], ""),
        (&["job", "show", "2"], &evil),
        (&["job", "show", "3"], ""),
        (&["job", "timeline", "3"], &evil),
        (&["domain", "show", unseen], unseen),
        (&["domain", "list"], unseen),
        (&["sync", "show", "1"], unseen),
        (&["sync", "list"], unseen),
        (&["queue", "list"], ""),
    ];
    for (args, text) in shown {
        harmless(&args.join(" "), &place.out(args));
        let args = [args, &["--json"]].concat();
        let printed = place.out(&args);
        harmless(&args.join(" "), &printed);
        assert_eq!(printed.lines().count(), 1, "{args:?}: {printed}");
        assert!(holds(&serde_json::from_str(&printed).unwrap(), text), "{args:?}: {printed}");
    }
}

#[test]
fn s14_refusals_escape_what_they_repeat() {
    let place = Place::new();
    let evil: String = MISLEADING.iter().collect();
    for args in [
        &["enqueue", &evil, "1"][..],
        &["enqueue", "q", "1", "--kind", &evil],
        &["enqueue", "q", "1", "--limit-key", &evil],
        &["enqueue", "q", &evil],
        &["work", "q", "--drain", "--worker", &evil, "--", "true"],
        &["work", &evil, "--drain", "--", "true"],
        &["queue", "show", &evil],
        &["job", "show", &evil],
        &["domain", "show", &evil],
        &["pipeline", "show", &evil],
        &["enqueue", "q", "--file", &evil],
    ] {
        for json in [&[][..], &["--json"]] {
            let at = args.iter().position(|word| *word == "--").unwrap_or(args.len());
            let args = [&args[..at], json, &args[at..]].concat();
            let output = place.tenure(&args).output().unwrap();
            assert!(!output.status.success(), "{args:?}");
            harmless(&format!("{args:?}"), &String::from_utf8(output.stderr).unwrap());
        }
    }
}
