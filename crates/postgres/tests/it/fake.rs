//! A server that is none: it takes connections, does one thing with each, and remembers what it was sent.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// What it does with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Says no to encryption, and asks for the password in clear text.
    Greedy,
    /// Says nothing.
    Silent,
    /// Says yes to encryption, and nothing more.
    HalfWay,
}

/// The first eight bytes of a client that wants encryption.
pub(crate) const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Listens on a free port of the loopback address until it is dropped.
pub(crate) struct FakeServer {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
    news: Arc<Notify>,
    task: JoinHandle<()>,
}

impl FakeServer {
    pub(crate) async fn start(manner: Manner) -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heard, news) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
        let (all, told) = (heard.clone(), news.clone());
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (all, told) = (all.clone(), told.clone());
                connections.spawn(async move {
                    let mut piece = [0; 4096];
                    while let Ok(length @ 1..) = stream.read(&mut piece).await {
                        all.lock().unwrap().extend(&piece[..length]);
                        told.notify_one();
                        let answer: &[u8] = match manner {
                            Manner::Greedy if piece[..length] == SSL_REQUEST => b"N",
                            // AuthenticationCleartextPassword.
                            Manner::Greedy => &[b'R', 0, 0, 0, 8, 0, 0, 0, 3],
                            Manner::HalfWay if piece[..length] == SSL_REQUEST => b"S",
                            Manner::Silent | Manner::HalfWay => b"",
                        };
                        let _ = stream.write_all(answer).await;
                    }
                });
            }
        });
        FakeServer { port, heard, news, task }
    }

    /// All that anyone sent so far.
    pub(crate) fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap().clone()
    }

    /// Returns when somebody has sent something.
    pub(crate) async fn asked(&self) {
        self.news.notified().await;
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
