//! The roles that `migrate --print-roles` sets up, from the command line.

use super::Place;
use tenure_testing::TestDatabase;

struct Served {
    place: Place,
    runtime: tokio::runtime::Runtime,
    database: TestDatabase,
}

impl Served {
    /// A store whose roles were set up by the printed script, and `login` with the role `what`; the address for it.
    fn with(login: &str, what: &str) -> (Served, String) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let database = runtime.block_on(TestDatabase::create()).unwrap();
        let served = Served { place: Place::new(), runtime, database };
        let (url, name) = (served.database.url().to_owned(), served.database.name().to_owned());
        served.place.out(&["migrate", "--store", &url]);
        let script = served.place.out(&["migrate", "--store", &url, "--print-roles"]);
        served.run(&script);
        served.run(&format!("create role {login}_{name} login; grant {name}_tenure_{what} to {login}_{name}"));
        let (scheme, rest) = url.split_once("://").unwrap();
        let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
        let url = format!("{scheme}://{login}_{name}@{rest}");
        (served, url)
    }

    fn run(&self, sql: &str) {
        self.runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(self.database.url(), tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(sql).await.unwrap();
        });
    }
}

#[test]
fn work_and_enqueue_run_under_the_role_of_workers_and_operators_are_refused_with_77() {
    let (served, url) = Served::with("hand", "work");
    let place = &served.place;
    let store = ["--store", &url];
    let id = place.out(&[&store[..], &["enqueue", "q", "1"]].concat()).trim().to_owned();
    let work = [&store[..], &["work", "q", "--drain", "--worker", "w", "--", "true"]].concat();
    place.tenure(&work).assert().success();
    let shown = place.json(&[&store[..], &["job", "show", &id]].concat());
    assert_eq!(shown["status"], "completed");
    let waiting = place.out(&[&store[..], &["enqueue", "q", "2"]].concat()).trim().to_owned();
    for operator in [
        &["job", "cancel", &waiting, "--force"][..],
        &["job", "retry", &id],
        &["queue", "pause", "q"],
        &["queue", "limit", "q", "--max-running", "1"],
        &["store", "new-epoch"],
        &["schedule", "remove", "s"],
        &["domain", "skip", "d", "1"],
        &["job", "list"],
    ] {
        let said = place.refused(&[&store[..], operator].concat(), 77);
        assert!(said.contains("permission denied") && said.contains("tenure doctor"), "{operator:?}: {said}");
    }
    // It says as whom it is here.
    let findings = place.tenure(&[&store[..], &["doctor", "--json"]].concat()).assert().get_output().stdout.clone();
    let findings: serde_json::Value = serde_json::from_slice(&findings).unwrap();
    let role = findings["findings"].as_array().unwrap().iter().find(|f| f["topic"] == "role").unwrap().clone();
    assert_eq!(role["level"], "fine");
    assert!(role["found"].as_str().unwrap().contains("may not operate"), "{role}");
    let shown = place.json(&[&store[..], &["job", "show", &waiting]].concat());
    assert_eq!(shown["status"], "queued", "nothing was done to it");
}

#[test]
fn a_schema_of_a_stranger_is_refused_with_77_and_a_reserved_one_with_2() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(TestDatabase::create()).unwrap();
    let served = Served { place: Place::new(), runtime, database };
    let name = served.database.name().to_owned();
    served.run(&format!("create role squatter_{name}; create schema tenure authorization squatter_{name}"));
    let url = served.database.url();
    for command in [&["migrate"][..], &["queue", "list"]] {
        let said = served.place.refused(&[command, &["--store", url]].concat(), 77);
        assert!(said.contains(&format!("squatter_{name}")) && said.contains("schema tenure"), "{said}");
    }
    let mark = if url.contains('?') { '&' } else { '?' };
    for reserved in ["public", "pg_catalog", "information_schema"] {
        let url = format!("{url}{mark}schema={reserved}");
        for command in [&["migrate"][..], &["migrate", "--print-roles"]] {
            let said = served.place.refused(&[command, &["--store", &url]].concat(), 2);
            assert!(said.contains(reserved), "{said}");
        }
    }
}
