//! Callers who wait, and callers who dawdle: nobody else goes without an answer for them.

use crate::Api;
use serde_json::{Value, json};
use std::time::Duration;
use tenure::Tenure;
use tenure_server::Options;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc;

/// Long enough for a crowded machine, and shorter than any wait of these tests.
const SOON: Duration = Duration::from_secs(30);

/// A server on an empty store, and a client that keeps no connection: there are few.
async fn with(options: Options) -> Api {
    let mut api = Api::with(Tenure::open("memory:").await.unwrap(), options).await;
    api.client = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
    api
}

fn post(path: &str, body: &str) -> String {
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
}

async fn send(api: &Api, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(api.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// What the server says within a while; on a connection of its own.
async fn soon(api: &Api, request: String) -> String {
    let request = request.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
    let answered = tokio::time::timeout(SOON, api.raw(request.as_bytes())).await;
    answered.unwrap_or_else(|_| panic!("no answer to {}", request.lines().next().unwrap_or_default()))
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// Claims that wait leave room for what keeps and ends leases, and for those who ask how it goes.
#[tokio::test]
async fn claims_that_wait_starve_neither_heartbeats_nor_health() {
    let api = with(Options { connections_max: 6, ..Options::default() }).await;
    let (id, token) = api.claimed().await;
    let (answers, mut answered) = mpsc::unbounded_channel();
    for path in ["/v1/queues/idle/claim", "/v1/queues/idle/claim", "/v1/claim"].repeat(2) {
        let queues = if path == "/v1/claim" { r#""queues":["idle"],"# } else { "" };
        let body = format!(r#"{{{queues}"worker":"w","wait_ms":60000}}"#);
        let mut waiting = send(&api, &post(path, &body)).await;
        let answers = answers.clone();
        tokio::spawn(async move {
            let mut reply = Vec::with_capacity(4_096);
            // To the end of the answer's object.
            while !reply.ends_with(b"}") && waiting.read_buf(&mut reply).await.is_ok_and(|read| read > 0) {}
            let _ = answers.send((String::from_utf8_lossy(&reply).into_owned(), waiting));
        });
    }
    for path in ["/healthz", "/readyz"] {
        let reply = soon(&api, get(path)).await;
        assert!(reply.starts_with("HTTP/1.1 204"), "{path}: {reply}");
    }
    let held = format!(r#"{{"worker":"w1","token":{token}}}"#);
    for verb in ["heartbeat", "complete"] {
        let reply = soon(&api, post(&format!("/v1/jobs/{id}/{verb}"), &held)).await;
        assert!(reply.starts_with("HTTP/1.1 200"), "{verb}: {reply}");
    }
    // Two of the six were told to come again, with nothing taken.
    for _ in 0..2 {
        let (reply, _) = tokio::time::timeout(SOON, answered.recv()).await.unwrap().unwrap();
        assert!(reply.starts_with("HTTP/1.1 503"), "{reply}");
        let reply = reply.to_ascii_lowercase();
        for said in ["retry-after: 1", "connection: close", r#""code":"unavailable""#] {
            assert!(reply.contains(said), "{said}: {reply}");
        }
    }
    // The others are answered as soon as there is work.
    for _ in 0..4 {
        api.post("/v1/queues/idle/jobs", r#"{"kind":"k"}"#).await;
        let (reply, _) = tokio::time::timeout(SOON, answered.recv()).await.unwrap().unwrap();
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    }
}

#[tokio::test]
async fn a_claim_beyond_those_that_may_wait_takes_what_there_is() {
    let api = with(Options { waiting_max: 0, ..Options::default() }).await;
    let claim = r#"{"worker":"w","wait_ms":60000}"#;
    assert_eq!(api.post("/v1/queues/q/claim", claim).await.0, 503);
    api.post("/v1/queues/q/jobs", r#"{"kind":"k"}"#).await;
    let (status, claims) = api.post("/v1/queues/q/claim", claim).await;
    assert_eq!((status, claims["jobs"][0]["id"].as_str()), (200, Some("1")));
    // Who does not ask to wait is told as ever.
    let (status, claims) = api.post("/v1/queues/q/claim", r#"{"worker":"w"}"#).await;
    assert_eq!((status, claims), (200, json!({"jobs": [], "reason": "empty"})));
}

/// One who asks for much and takes nothing of it.
#[tokio::test]
async fn a_caller_who_does_not_take_his_answer_is_cut() {
    let api =
        with(Options { write_timeout: Duration::from_millis(200), connections_max: 1, ..Options::default() }).await;
    let payload = Value::String("x".repeat((1 << 20) - 2));
    for _ in 0..15 {
        let (status, _) = api.post("/v1/queues/q/jobs", json!({"kind": "k", "payload": payload}).to_string()).await;
        assert_eq!(status, 201);
    }
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let connecting = tokio::time::timeout(SOON, socket.connect(api.address));
    let mut deaf = connecting.await.unwrap().unwrap();
    deaf.write_all(post("/v1/queues/q/claim", r#"{"worker":"deaf","max":15}"#).as_bytes()).await.unwrap();
    // There is one connection, and it is let go of.
    assert!(soon(&api, get("/healthz")).await.starts_with("HTTP/1.1 204"));
    let mut reply = Vec::new();
    let _ = deaf.read_to_end(&mut reply).await;
    assert!(reply.len() < 15 << 20, "all of it was sent: {}", reply.len());
}

/// One who begins a head, or a body, and does not end it.
#[tokio::test]
async fn a_caller_who_does_not_end_his_request_is_cut() {
    let brief = Duration::from_millis(200);
    let options = Options { head_timeout: brief, request_timeout: brief, connections_max: 1, ..Options::default() };
    let api = with(options).await;
    let whole = post("/v1/queues/q/jobs", r#"{"kind":"k"}"#);
    for part in ["", "POST /v1/que", &whole[..whole.len() - 1]] {
        let dawdler = send(&api, part).await;
        assert!(soon(&api, get("/healthz")).await.starts_with("HTTP/1.1 204"), "{part:?}");
        drop(dawdler);
    }
    assert_eq!(api.get("/v1/queues/q").await.0, 404);
}
