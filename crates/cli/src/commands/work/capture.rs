//! What a program wrote: its beginning and its end, whatever the length.

use std::collections::VecDeque;
use std::io;
use tokio::net::unix::pipe::Receiver;

/// Kept of the beginning, and as much again of the end.
const PART_MAX: usize = 32 << 10;
/// Read at a time: what a pipe holds.
const READ: usize = 64 << 10;

/// One output of a program. It is always read, so that a program never waits for us; most of a long one is forgotten.
#[derive(Debug)]
pub(super) struct Capture {
    pipe: Receiver,
    ended: bool,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
}

impl Capture {
    pub(super) fn of(pipe: Receiver) -> Capture {
        Capture { pipe, ended: false, head: Vec::new(), tail: VecDeque::new(), bytes: 0 }
    }

    /// Waits for more, and takes it in. Never returns once the output has ended.
    pub(super) async fn more(&mut self) {
        if self.ended || self.pipe.readable().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.read();
    }

    /// Takes in what is there, without waiting: for a program that has ended, whatever still holds its pipe.
    pub(super) fn rest(&mut self) {
        while !self.ended && self.read() {}
    }

    /// Whether there was anything.
    fn read(&mut self) -> bool {
        let mut part = [0; READ];
        match self.pipe.try_read(&mut part) {
            Ok(0) => self.ended = true,
            Ok(read) => self.take(&part[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(_) => self.ended = true,
        }
        true
    }

    fn take(&mut self, part: &[u8]) {
        self.bytes += part.len() as u64;
        let (head, rest) = part.split_at(part.len().min(PART_MAX - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(PART_MAX);
        self.tail.drain(..over);
    }

    /// Bytes that the program wrote.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all of it was kept.
    pub(super) fn whole(&self) -> bool {
        self.bytes == (self.head.len() + self.tail.len()) as u64
    }

    /// As text: what is no UTF-8 is replaced, and so is NUL, which no store keeps.
    pub(super) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let text = if self.whole() {
            String::from_utf8_lossy(&[&self.head[..], &tail].concat()).into_owned()
        } else {
            let left_out = self.bytes - (self.head.len() + tail.len()) as u64;
            let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
            format!("{head}\n… {left_out} bytes left out …\n{tail}")
        };
        text.replace('\0', "\u{fffd}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn captured(parts: &[&[u8]]) -> Capture {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let _within = runtime.enter();
        let (reader, mut writer) = io::pipe().unwrap();
        let mut capture = Capture::of(Receiver::from_owned_fd(reader.into()).unwrap());
        runtime.block_on(async {
            for part in parts {
                writer.write_all(part).unwrap();
                capture.more().await;
            }
            drop(writer);
            capture.rest();
        });
        capture
    }

    #[test]
    fn a_short_output_is_kept_whole_and_made_text() {
        let capture = captured(&[b"gr\xfc\xdfe\0", b" all"]);
        assert_eq!((capture.text().as_str(), capture.whole()), ("gr\u{fffd}\u{fffd}e\u{fffd} all", true));
    }

    #[test]
    fn of_a_long_output_the_beginning_and_the_end_are_kept() {
        let dots = vec![b'.'; 50_000];
        let capture = captured(&[b"first", &dots, &dots, &dots, b"last"]);
        let text = capture.text();
        assert!(text.starts_with("first.") && text.ends_with(".last"), "{text}");
        assert!(text.contains(&format!("… {} bytes left out …", 150_009 - 65_536)), "{text}");
        assert_eq!((capture.bytes(), capture.whole()), (150_009, false));
        assert!(text.len() < 66_000);
    }
}
