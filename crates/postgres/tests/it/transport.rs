//! Encryption: who asks for it gets it or no connection, for calls and for wake-ups alike.

use crate::fake::{FakeServer, Manner, SSL_REQUEST};
use crate::support::{connect, database};
use std::time::Duration;
use tenure_postgres::PostgresStore;
use tenure_store::{Finding, Level, Upkeep};
use tenure_testing::{PostgresServer, ServerOptions};

async fn tls_server() -> PostgresServer {
    let start = || PostgresServer::start(ServerOptions::fast().tls());
    tokio::task::spawn_blocking(start).await.unwrap().unwrap()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// An address of the real server, verified.
fn verified(server: &PostgresServer) -> String {
    let file = encoded(&server.authority().display().to_string());
    format!("{}?sslrootcert={file}", server.tcp_url("postgres").unwrap())
}

async fn in_transit(store: &PostgresStore) -> Finding {
    store.examine().await.unwrap().into_iter().find(|finding| finding.topic == "in transit").expect("it is looked at")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_encryption_is_told_neither_user_nor_password() {
    let server = tls_server().await;
    let file = encoded(&server.authority().display().to_string());
    for option in ["sslmode=require", "sslmode=verify-ca", "sslmode=verify-full", &format!("sslrootcert={file}")] {
        let fake = FakeServer::start(Manner::Greedy).await;
        let url = format!("postgres://ada:hunter2@127.0.0.1:{}/db?{option}&timeout_ms=5000", fake.port);
        let error = PostgresStore::open(&url).await.unwrap_err();
        // Opening is tried again for a moment, each time with the same first word.
        let heard = fake.heard();
        assert!(!heard.is_empty() && heard.chunks(SSL_REQUEST.len()).all(|word| word == SSL_REQUEST), "{heard:?}");
        assert_eq!(error.code(), "unavailable", "{option}: {error}");
        assert!(error.to_string().contains("TLS"), "{option}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listening_connection_is_as_careful_as_the_calls() {
    let server = tls_server().await;
    let fake = FakeServer::start(Manner::Greedy).await;
    let listen = encoded(&format!("postgres://ada:hunter2@127.0.0.1:{}/db", fake.port));
    for option in ["sslmode=require", "timeout_ms=5000"] {
        let store = PostgresStore::open(&format!("{}&{option}&listen_url={listen}", verified(&server))).await.unwrap();
        tokio::time::timeout(Duration::from_secs(60), fake.asked()).await.expect("the listener connects");
        let found = in_transit(&store).await;
        let heard = fake.heard();
        assert!(heard.chunks(8).all(|request| request == SSL_REQUEST), "{}", String::from_utf8_lossy(&heard));
        assert!(found.found.contains("wake-ups: no connection"), "{}", found.found);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_sslrootcert_calls_heartbeats_and_wake_ups_are_encrypted_and_the_doctor_says_so() {
    let server = tls_server().await;
    let store = PostgresStore::open(&verified(&server)).await.unwrap();
    let found = in_transit(&store).await;
    assert_eq!(found.level, Level::Fine, "{}", found.found);
    assert_eq!(found.found, "calls: TLS, certificate verified; wake-ups: TLS, certificate verified");
    store.now().await.unwrap();
    let hand = connect(&server.url("postgres")).await;
    let clear = "select count(*) from pg_stat_activity join pg_stat_ssl using (pid)
                  where application_name = 'tenure' and not ssl";
    assert_eq!(hand.query_one(clear, &[]).await.unwrap().get::<_, i64>(0), 0);
    let listening = "select count(*) from pg_stat_activity join pg_stat_ssl using (pid)
                      where application_name = 'tenure' and ssl and query = 'listen tenure_wake'";
    assert_eq!(hand.query_one(listening, &[]).await.unwrap().get::<_, i64>(0), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_an_authority_that_is_not_trusted_is_refused() {
    let (server, other) = tokio::join!(tls_server(), tls_server());
    let strange = encoded(&other.authority().display().to_string());
    let url = server.tcp_url("postgres").unwrap();
    // `sslmode=require` alone trusts the public roots, and nobody else.
    for option in [format!("sslrootcert={strange}"), "sslmode=require".to_owned(), "sslrootcert=system".to_owned()] {
        let error = PostgresStore::open(&format!("{url}?{option}")).await.unwrap_err();
        assert!(error.to_string().contains("certificate"), "{option}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_tells_clear_text_on_this_machine_from_a_socket() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let found = in_transit(&store).await;
    // The tests' own server may be named by the environment, on TCP.
    let local = ["a socket of this machine", "clear text, on this machine"];
    assert!(local.iter().any(|way| found.found == format!("calls: {way}; wake-ups: {way}")), "{}", found.found);
    assert_eq!(found.level, Level::Fine);
    let store = PostgresStore::open(&format!("{}?listen_url=none", database.url())).await.unwrap();
    assert!(in_transit(&store).await.found.ends_with("wake-ups: not listened for"));
}
