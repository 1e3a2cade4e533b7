//! Two servers that are killed and started anew, and the clients' side of the wire.

use serde_json::Value;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long a client waits before it knocks again at a server that is down.
const KNOCK: Duration = Duration::from_millis(20);

/// One of the processes.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two servers on one store.
pub(crate) struct Servers {
    store: String,
    pair: Mutex<[Server; 2]>,
    said: Arc<Mutex<String>>,
}

impl Servers {
    /// Starts both.
    pub(crate) async fn start(store: &str) -> Arc<Servers> {
        let said = Arc::new(Mutex::new(String::new()));
        let pair = [serve(store, &said).await, serve(store, &said).await];
        Arc::new(Servers { store: store.to_owned(), pair: Mutex::new(pair), said })
    }

    /// Kills one of them in the middle of whatever it does, and starts another in its place.
    pub(crate) async fn kill(&self, which: usize) {
        // SIGKILL; until it is replaced, clients find nobody at its address.
        self.pair.lock().unwrap_or_else(PoisonError::into_inner)[which % 2].child.kill().unwrap();
        let new = serve(&self.store, &self.said).await;
        self.pair.lock().unwrap_or_else(PoisonError::into_inner)[which % 2] = new;
    }

    /// What both have printed to their standard error since they began.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn address(&self, which: usize) -> String {
        self.pair.lock().unwrap_or_else(PoisonError::into_inner)[which % 2].address.clone()
    }

    /// One request, whose answer may be lost.
    pub(crate) async fn try_ask(&self, which: usize, request: &str, body: &Value) -> io::Result<(u16, Value)> {
        let asked = ask(&self.address(which), request, &body.to_string()).await;
        if asked.is_err() {
            tokio::time::sleep(KNOCK).await;
        }
        asked
    }

    /// Asks until there is an answer, of either server. What is repeated must bear repetition.
    pub(crate) async fn ask(&self, request: &str, body: Value) -> (u16, Value) {
        for which in 0.. {
            match self.try_ask(which, request, &body).await {
                Ok((503, _)) | Err(_) => {}
                Ok(answer) => return answer,
            }
        }
        unreachable!("it asks for ever")
    }
}

async fn serve(store: &str, said: &Arc<Mutex<String>>) -> Server {
    let (store, said) = (store.to_owned(), said.clone());
    let start = move || {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("tenure"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("TENURE_STORE", &store)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first.strip_prefix("serving http://").and_then(|rest| rest.split(' ').next());
        let address = address.unwrap_or_else(|| panic!("{first}")).to_owned();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                said.push_str(&line);
                said.push('\n');
            }
        });
        Server { child, address }
    };
    tokio::task::spawn_blocking(start).await.unwrap()
}

async fn ask(address: &str, request: &str, body: &str) -> io::Result<(u16, Value)> {
    let mut stream = TcpStream::connect(address).await?;
    let length = body.len();
    let head = "Host: localhost\r\nContent-Type: application/json\r\nConnection: close";
    let request = format!("{request} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let cut_off = || io::Error::other("the answer was cut off");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(cut_off)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut_off)?;
    let body = if body.is_empty() { Value::Null } else { serde_json::from_str(body).map_err(|_| cut_off())? };
    Ok((status, body))
}
