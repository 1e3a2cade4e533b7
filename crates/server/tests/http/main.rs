//! The API over a real socket.

mod actors;
mod api;
mod bad_input;
mod bad_pipelines;
mod crowd;
mod domains;
mod edges;
mod operate;
mod pipelines;
mod schedules;
mod settings;
mod shapes;
mod stores;
mod syncs;

use serde_json::Value;
use std::net::SocketAddr;
use tenure::{Tenure, Time};
use tenure_memory::MemoryStore;
use tenure_server::{Options, Server};
use tenure_store::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// 2026-01-01T00:00:00Z.
const START: Time = Time(1_767_225_600_000_000);

/// A server of one's own, and a client for it.
struct Api {
    address: SocketAddr,
    client: reqwest::Client,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
}

impl Api {
    /// A server on an empty store in memory.
    async fn new() -> Api {
        Api::on(Tenure::open("memory:").await.unwrap()).await
    }

    /// A server on an empty store whose clock the test moves.
    async fn with_clock() -> (Api, Clock) {
        let clock = Clock::manual(START);
        (Api::on(Tenure::on(MemoryStore::with_clock(clock.clone()))).await, clock)
    }

    async fn on(tenure: Tenure) -> Api {
        Api::with(tenure, Options::default()).await
    }

    async fn with(tenure: Tenure, options: Options) -> Api {
        let server = Server::bind(tenure, "127.0.0.1:0".parse().unwrap(), options).await.unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Api { address, client: reqwest::Client::new(), stop: Some(stop), served }
    }

    async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> (u16, Value) {
        let request = self.client.post(format!("http://{}{path}", self.address));
        answer(request.header("content-type", "application/json").body(body).send().await.unwrap()).await
    }

    async fn put(&self, path: &str, body: impl Into<reqwest::Body>) -> (u16, Value) {
        let request = self.client.put(format!("http://{}{path}", self.address));
        answer(request.header("content-type", "application/json").body(body).send().await.unwrap()).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.client.get(format!("http://{}{path}", self.address)).send().await.unwrap()).await
    }

    /// Enqueues one job and claims it as `w1`; answers its id and token.
    async fn claimed(&self) -> (String, i64) {
        self.post("/v1/queues/q/jobs", r#"{"kind":"k","payload":{"n":1}}"#).await;
        let (_, claims) = self.post("/v1/queues/q/claim", r#"{"worker":"w1"}"#).await;
        let job = &claims["jobs"][0];
        (job["id"].as_str().unwrap().to_owned(), job["token"].as_i64().unwrap())
    }

    /// Sends bytes as they are, and reads until the server closes.
    async fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        // A reset after the answer is fine: what was read counts.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Asks the server to stop, and waits until it has.
    async fn stop(mut self) {
        let _ = self.stop.take().unwrap().send(());
        (&mut self.served).await.unwrap();
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.served.abort();
    }
}

async fn answer(response: reqwest::Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap_or(Value::String(text)) };
    (status, body)
}
