//! What HTTP itself can do to us: methods, media types, hosts, hang-ups, shutdown.

use crate::{Api, answer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_waiting_claim_is_woken_by_an_enqueue() {
    let api = Api::new().await;
    let url = format!("http://{}/v1/queues/q/claim", api.address);
    let claim = api.client.post(url).header("content-type", "application/json");
    let waiting = tokio::spawn(claim.body(r#"{"worker":"w1","wait_ms":60000}"#).send());
    api.post("/v1/queues/q/jobs", r#"{"kind":"k","payload":1}"#).await;
    let (status, claims) = answer(waiting.await.unwrap().unwrap()).await;
    assert_eq!((status, &claims["jobs"][0]["payload"]), (200, &json!(1)));
}

#[tokio::test]
async fn shutdown_answers_waiting_claims_early() {
    let api = Api::new().await;
    let mut stream = TcpStream::connect(api.address).await.unwrap();
    let body = r#"{"worker":"w1","wait_ms":60000}"#;
    let head = "POST /v1/queues/q/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let expect = format!("{head}Expect: 100-continue\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(expect.as_bytes()).await.unwrap();
    // The interim answer tells that the request is in the server's hands.
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).await.unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).await.unwrap();
    api.stop().await;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    assert!(reply.ends_with(r#"{"jobs":[],"reason":"empty"}"#), "{reply}");
}

#[tokio::test]
async fn a_job_claimed_for_a_caller_who_hung_up_is_claimable_again() {
    let api = Api::new().await;
    let mut stream = TcpStream::connect(api.address).await.unwrap();
    let body = r#"{"worker":"gone","wait_ms":60000,"lease_ms":86400000}"#;
    let head = "POST /v1/queues/q/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let expect = format!("{head}Expect: 100-continue\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(expect.as_bytes()).await.unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    drop(stream);
    api.post("/v1/queues/q/jobs", r#"{"kind":"k"}"#).await;
    // Whether or not the gone caller's claim was first, the job is not kept from the next one for its day-long lease.
    let (_, claims) = api.post("/v1/queues/q/claim", r#"{"worker":"w2","wait_ms":10000}"#).await;
    assert_eq!(claims["jobs"][0]["id"], "1");
}

#[tokio::test]
async fn a_wrong_method_is_405_with_allow() {
    let api = Api::new().await;
    for (method, path, allow) in [
        ("GET", "/v1/queues/q/claim", "POST"),
        ("PATCH", "/v1/jobs/1", "GET,HEAD"),
        ("TRACE", "/v1/queues/q", "GET,HEAD,PUT"),
        ("DELETE", "/v1/limits", "GET,HEAD,PUT"),
        ("PUT", "/v1/jobs/cancel", "POST"),
        ("DELETE", "/v1/queues/q/jobs", "POST"),
        ("POST", "/healthz", "GET,HEAD"),
        ("OPTIONS", "/v1/finish", "POST"),
    ] {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = api.client.request(method.clone(), format!("http://{}{path}", api.address));
        let response = request.send().await.unwrap();
        assert_eq!(
            response.headers().get("allow").and_then(|allow| allow.to_str().ok()),
            Some(allow),
            "{method} {path}"
        );
        let (status, body) = answer(response).await;
        assert_eq!((status, &body["error"]["code"]), (405, &json!("method_not_allowed")), "{method} {path}");
    }
}

#[tokio::test]
async fn only_json_is_read() {
    let api = Api::new().await;
    let send = async |headers: &[(&str, &str)], body: &'static str| -> (u16, Value) {
        let mut request = api.client.post(format!("http://{}/v1/queues/q/jobs", api.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(request.body(body).send().await.unwrap()).await
    };
    let job = r#"{"kind":"k"}"#;
    let json = ("content-type", "application/json");
    for headers in [
        &[][..],
        &[("content-type", "text/plain")],
        &[("content-type", "application/x-www-form-urlencoded")],
        &[("content-type", "application/json; charset=utf-16")],
        &[json, ("content-encoding", "gzip")],
    ] {
        let (status, body) = send(headers, job).await;
        assert_eq!((status, &body["error"]["code"]), (415, &json!("unsupported_media_type")), "{headers:?}");
    }
    assert_eq!(send(&[], "").await.1["error"]["code"], "body_empty");
    assert_eq!(send(&[("content-type", "Application/JSON; charset=\"UTF-8\"")], job).await.0, 201);
    assert_eq!(api.get("/v1/queues/q").await.1["counts"]["queued"], 1);
}

#[tokio::test]
async fn s1_a_host_that_is_not_loopback_is_refused() {
    let api = Api::new().await;
    let get = |host: &str| format!("GET /v1/queues HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
    for host in [
        "Host: evil.example\r\n",
        "Host: localhost.evil.example:7117\r\n",
        "",
        "Host: [::1]evil.com\r\n",
        "Host: [::1]evil.com:80\r\n",
        "Host: [::1]:80@evil.com\r\n",
        "Host: localhost:80:80\r\n",
        "Host: [localhost]\r\n",
        "Host: 127.0.0.1/\r\n",
    ] {
        let reply = api.raw(get(host).as_bytes()).await;
        assert!(reply.starts_with("HTTP/1.1 403") && reply.contains("host_refused"), "{host:?} {reply}");
    }
    for host in ["Host: localhost\r\n", "Host: 127.0.0.1:7117\r\n", "Host: [::1]:80\r\n"] {
        let reply = api.raw(get(host).as_bytes()).await;
        assert!(reply.starts_with("HTTP/1.1 200"), "{host:?} {reply}");
    }
    let absolute = "GET http://evil.example/v1/queues HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert!(api.raw(absolute.as_bytes()).await.starts_with("HTTP/1.1 403"));
}

/// What decides who is let in, or where a request ends, is sent once: two readers could differ over which one counts.
#[tokio::test]
async fn s1_doubled_headers_are_refused_and_nothing_is_done() {
    let api = Api::new().await;
    let body = r#"{"kind":"k"}"#;
    let length = format!("Content-Length: {}\r\n", body.len());
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let double = |line: &str| format!("{length}{line}{line}");
    let framed = [
        (format!("{length}{length}"), body),
        (format!("{length}Transfer-Encoding: chunked\r\n"), &chunked),
        (format!("Transfer-Encoding: chunked\r\n{length}"), &chunked),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n".to_owned(), &chunked),
        ("Transfer-Encoding: gzip, chunked\r\n".to_owned(), &chunked),
    ];
    let once = [
        "Host: localhost\r\n",
        "Origin: http://localhost\r\n",
        "Sec-Fetch-Site: same-origin\r\n",
        "Content-Type: application/json\r\n",
        "Content-Encoding: identity\r\n",
        "Expect: 100-continue\r\n",
        "Authorization: Bearer a\r\n",
        "Proxy-Authorization: Bearer a\r\n",
        "X-Api-Key: a\r\n",
        "X-Forwarded-Host: localhost\r\n",
    ];
    let doubled = once.iter().map(|line| (double(line), body));
    for (headers, body) in doubled.chain(framed) {
        let has = |name: &str| headers.to_ascii_lowercase().contains(name);
        let host = if has("host: l") && !has("x-forwarded") { "" } else { "Host: localhost\r\n" };
        let typed = if has("content-type") { "" } else { "Content-Type: application/json\r\n" };
        let head = "POST /v1/queues/q/jobs HTTP/1.1\r\n";
        let reply = api.raw(format!("{head}{host}{typed}{headers}Connection: close\r\n\r\n{body}").as_bytes()).await;
        let reply = reply.trim_start_matches("HTTP/1.1 100 Continue\r\n\r\n");
        assert!(reply.starts_with("HTTP/1.1 400") && reply.contains("header_repeated"), "{headers:?} {reply}");
    }
    assert_eq!(api.get("/v1/queues/q").await.0, 404);
}

/// Also the second of two requests on one connection, which does not go on after it.
#[tokio::test]
async fn s1_a_connection_ends_with_a_request_that_frames_its_body_twice() {
    let api = Api::new().await;
    let fine = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut stream = TcpStream::connect(api.address).await.unwrap();
    stream.write_all(fine.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 204");
    let head = "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let twice = format!("{head}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{fine}");
    stream.write_all(twice.as_bytes()).await.unwrap();
    let mut rest = String::new();
    let _ = stream.read_to_string(&mut rest).await;
    assert_eq!(rest.matches("HTTP/1.1 ").count(), 1, "{rest}");
    assert!(rest.contains("HTTP/1.1 400") && rest.contains("header_repeated"), "{rest}");
}

#[tokio::test]
async fn s1_a_page_of_another_site_cannot_write() {
    let api = Api::new().await;
    let own = format!("http://{}", api.address);
    let post = async |name: &str, value: &str| {
        let request = api.client.post(format!("{own}/v1/queues/q/jobs")).header("content-type", "application/json");
        answer(request.header(name, value).body(r#"{"kind":"k"}"#).send().await.unwrap()).await
    };
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost:1"),
    ] {
        let (status, body) = post(name, value).await;
        assert_eq!((status, &body["error"]["code"]), (403, &json!("cross_site")), "{name}: {value}");
    }
    assert_eq!(post("sec-fetch-site", "same-origin").await.0, 201);
    assert_eq!(post("origin", &own).await.0, 201);
}

#[tokio::test]
async fn every_answer_carries_the_security_headers() {
    let api = Api::new().await;
    for path in ["/v1/jobs", "/v1/jobs/1", "/nothing", "/healthz"] {
        let response = api.client.get(format!("http://{}{path}", api.address)).send().await.unwrap();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        assert_eq!(header("x-content-type-options").as_deref(), Some("nosniff"), "{path}");
        assert_eq!(header("cache-control").as_deref(), Some("no-store"), "{path}");
        assert!(header("content-security-policy").is_some_and(|policy| policy.contains("frame-ancestors 'none'")));
        assert_eq!(header("access-control-allow-origin"), None);
    }
}

#[tokio::test]
async fn s9_long_addresses_and_heads_are_refused() {
    let api = Api::new().await;
    let (status, _) = api.get(&format!("/v1/jobs/{}", "x".repeat(9_000))).await;
    assert_eq!(status, 414);
    let head =
        |headers: String| format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n");
    let long = api.raw(head(format!("X-A: {}\r\n", "x".repeat(17_000))).as_bytes()).await;
    assert!(long.starts_with("HTTP/1.1 431"), "{long}");
    let many = api.raw(head("X-A: 1\r\n".repeat(10_000)).as_bytes()).await;
    assert!(many.starts_with("HTTP/1.1 431"), "{many}");
}

#[tokio::test]
async fn an_endless_body_is_cut() {
    let api = Api::new().await;
    let mut stream = TcpStream::connect(api.address).await.unwrap();
    let head = "POST /v1/queues/q/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    let (mut reading, mut writing) = stream.split();
    let endless = async {
        // Ends with the connection, not with the chunks.
        while writing.write_all(chunk.as_bytes()).await.is_ok() {}
    };
    let mut reply = [0; 12];
    // The writer may notice the end first; the answer was sent before it.
    let (read, ()) = tokio::join!(reading.read_exact(&mut reply), endless);
    read.unwrap();
    assert_eq!(&reply, b"HTTP/1.1 413");
}

#[tokio::test]
async fn a_body_announced_as_huge_is_refused_unread() {
    let api = Api::new().await;
    let head = "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let reply = api.raw(format!("{head}Content-Length: 5000000000\r\n\r\n").as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 413"), "{reply}");
}

#[tokio::test]
async fn an_address_that_is_not_loopback_is_not_served() {
    let tenure = tenure::Tenure::open("memory:").await.unwrap();
    let bound = tenure_server::Server::bind(tenure, "0.0.0.0:0".parse().unwrap(), tenure_server::Options::default());
    assert!(matches!(bound.await.unwrap_err(), tenure_server::ServeError::NotLoopback(_)));
}
