//! psql, from the folder of the server's programs, else from the path.

use crate::{Scene, lines, root, text};
use std::process::Command;
use tenure_testing::TestDatabase;

/// psql on the database at `url`, about to run a script of `testing/clients/psql`.
fn psql(url: &str, script: &str) -> Command {
    let program = tenure_testing::programs().expect("PostgreSQL's programs are on this machine").join("psql");
    let mut command = Command::new(if program.is_file() { program } else { "psql".into() });
    command.args(["--no-psqlrc", url, "--file"]).arg(root().join("testing/clients/psql").join(script));
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_psql_takes_part_in_its_own_transactions() {
    let scene = Scene::set().await;
    let mut command = psql(scene.database.url(), "transactions.sql");
    for (name, value) in scene.told() {
        command.arg(format!("--set={}={value}", name.to_lowercase()));
    }
    let output = scene.run(&mut command);
    assert_eq!(
        lines(&output),
        [
            "rolled back",
            "committed",
            "completed: completed",
            "failed: queued",
            "stale: TE020",
            "bad input: TE010",
            "another body: TE003"
        ]
    );
    let complained = text(&output.stderr);
    let reasons: Vec<&str> = complained
        .lines()
        .filter(|line| ["ERROR:", "DETAIL:", "HINT:"].iter().any(|word| line.contains(word)))
        .map(|line| line.rsplit_once(":  ").map_or(line, |(_, said)| said))
        .collect();
    let key = format!("0 {}", scene.sql.query_one("select job from tenure.dedup", &[]).await.unwrap().get::<_, i64>(0));
    assert_eq!(
        reasons,
        [
            "TE020: tenure: lease lost (superseded)",
            "superseded",
            "TE010: `payload` is not valid JSON",
            "json_syntax",
            "TE003: tenure: another body under a remembered key",
            &key
        ]
    );
    scene.left_in_order().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_a_database_without_the_store_refuses_an_older_token_by_itself() {
    let database = TestDatabase::create().await.unwrap();
    let output = psql(database.url(), "last_token.sql").args(["--set=ON_ERROR_STOP=on"]).output().unwrap();
    assert_eq!(
        lines(&output),
        ["alice", "42", "bob", "42", "alice, late", "bob again", "42", "by-bob-again.webp|6"],
        "a write that was refused returns no row"
    );
}
