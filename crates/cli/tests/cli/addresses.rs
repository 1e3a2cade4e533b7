//! Odd store addresses through the binary: whatever is wrong with one, it is not repeated. `hunter2` is the secret.

use super::Place;

/// What people type, and the exit code.
const ODD: [(&str, i32); 22] = [
    ("postgres://u:hun?hunter2@h/db", 2),
    ("postgres://u:hun/hunter2@h/db", 2),
    ("postgres://u:5/hunter2?application_name=@h/db", 2),
    ("postgres://u:p@hunter2@h/db", 2),
    ("postgres:u:hunter2@h/db", 2),
    ("postgres://h/db?passwd=hunter2", 2),
    ("postgres://h/db?hunter2=1", 2),
    ("postgres://u:hunter2@[::1", 2),
    ("postgres://u:hunter2@h:hunter2/db", 2),
    ("postgres://u:hunter2%zz@h/db", 2),
    ("postgres://u:hunter2@h\u{7}\u{1b}[31m/db", 2),
    ("postgres://u:hunter2@h/db?listen_url=postgres%3A%2F%2Fu%3Ap%40hunter2%40h", 2),
    ("postgres://u:hunter2@127.0.0.1:1/db", 69),
    ("postgres://u@127.0.0.1:1/db?password=hunter2", 69),
    ("postgres://u@127.0.0.1:1/db?sslrootcert=hunter2", 2),
    ("host=h password=hunter2", 2),
    ("hunter2", 2),
    ("mysql://u:hunter2@h/db", 2),
    ("sqlite://u:hunter2@h/db", 2),
    ("sqlite:postgres://u:hunter2@h/db", 2),
    ("sqlite:tenure.db?password=hunter2", 2),
    ("sqlite:tenure.db?hunter2=1", 2),
];

#[test]
fn an_odd_address_is_refused_without_being_repeated() {
    let place = Place::new();
    for (address, exit) in ODD {
        for command in [&["queue", "list"][..], &["doctor"], &["migrate"], &["queue", "list", "--json"]] {
            let ended = place.tenure(&[command, &["--store", address]].concat()).env("TENURE_LOG", "trace").output();
            let ended = ended.unwrap();
            let said = format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
            assert!(!said.contains("hunter2"), "{address:?} {command:?}: {said:?}");
            assert!(!said.contains(['\u{1b}', '\u{7}']), "{address:?} {command:?}: {said:?}");
            assert_eq!(ended.status.code(), Some(exit), "{address:?} {command:?}: {said}");
        }
    }
}

#[test]
fn an_address_in_the_environment_or_a_config_file_is_not_repeated_either() {
    let place = Place::new();
    for (address, exit) in ODD {
        let ended = place.tenure(&["queue", "list"]).env("TENURE_STORE", address).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(!said.contains("hunter2"), "{address:?}: {said}");
        assert_eq!(ended.status.code(), Some(exit), "{address:?}: {said}");
    }
    for odd in [
        "\"postgres://u:hunter2@h/db\" = 1\n",
        "store = \"postgres://u:hunter2@h/db\n",
        "store = [\"postgres://u:hunter2@h/db\"]\n",
        "store = postgres://u:hunter2@h/db\n",
    ] {
        let file = place.file("odd.toml", odd);
        let said = place.tenure(&["queue", "list", "--config", &file]).env_remove("TENURE_STORE").output().unwrap();
        let said = String::from_utf8(said.stderr).unwrap();
        assert!(!said.contains("hunter2"), "{odd:?}: {said}");
        assert!(said.contains("line 1"), "{odd:?}: {said}");
    }
}

#[test]
fn the_host_and_the_database_are_named_where_the_address_can_be_read() {
    let place = Place::new();
    let said = place.refused(&["queue", "list", "--store", "postgres://u:hunter2@127.0.0.1:1/db?schema=work"], 69);
    assert!(said.contains("postgres://127.0.0.1:1/db"), "{said}");
    let said = place.refused(&["init", "--store", "sqlite:/nowhere/tenure.db"], 77);
    assert!(said.contains("sqlite:/nowhere/tenure.db"), "{said}");
}

#[test]
fn an_address_in_the_place_of_a_command_is_not_repeated() {
    let place = Place::new();
    for args in [&["postgres://u:hunter2@h/db"][..], &["queue", "postgres://u:hunter2@h/db"], &["--postgres://hunter2"]]
    {
        let said = place.refused(args, 2);
        assert!(!said.contains("hunter2"), "{args:?}: {said}");
    }
}

#[test]
fn an_address_in_the_place_of_another_argument_is_not_repeated() {
    let place = Place::new();
    let long = format!("postgres://u:hunter2@h/{}", "db".repeat(100));
    let odd = "postgres://u:\u{7}hunter2@h/db";
    for address in ["postgres://u:hunter2@h/db", "postgres:u:hunter2@h/db", long.as_str(), odd] {
        for args in [
            &["queue", "list", "--config", address][..],
            &["enqueue", "q", "--file", address],
            &["enqueue", address, "1"],
            &["enqueue", "q", address],
            &["enqueue", "q", "1", &format!("--run-at={address}")],
            &["job", "show", address],
            &["job", "list", "--status", address],
            &["job", "list", "--queue", address],
            &["queue", "show", address],
            &["queue", "pause", address],
            &["queue", "timeline", address],
            &["schedule", "show", address],
            &["schedule", "next", "--cron", address],
            &["domain", "show", address],
            &["domain", "list", "--cursor", address],
            &["pipeline", "apply", address],
            &["pipeline", "show", address],
            &["run", "explain", address],
            &["sync", "plan", "m", "--file", address],
            &["sync", "timeline", address],
            &["serve", "--listen", address],
        ] {
            for json in [&[][..], &["--json"]] {
                let mut command = place.tenure(&[args, json].concat());
                let ended = if args.contains(&"--config") { command.env_remove("TENURE_STORE") } else { &mut command };
                let ended = ended.output().unwrap();
                let said =
                    format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
                assert!(!said.contains("hunter2"), "{args:?}: {said}");
                assert_ne!(ended.status.code(), Some(0), "{args:?}: {said}");
            }
        }
    }
}
