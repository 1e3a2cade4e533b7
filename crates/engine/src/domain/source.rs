//! Where a worker's offsets come from.

use std::future::Future;
use std::sync::Arc;

/// A stream of offsets, each with its domain. A worker asks for the next one only when it has room for it.
pub trait Source: Send + 'static {
    /// The next offset, when there is one; `None` at the end. Dropping the future must lose nothing.
    fn next(&mut self) -> impl Future<Output = Option<(Arc<str>, u64)>> + Send;
}

/// The offsets of an iterator.
#[derive(Debug)]
pub struct Offsets<I>(I);

/// A source made of an iterator of domains and offsets.
pub fn offsets<D: Into<Arc<str>>, I: IntoIterator<Item = (D, u64)>>(
    items: I,
) -> Offsets<impl Iterator<Item = (Arc<str>, u64)>> {
    Offsets(items.into_iter().map(|(domain, offset)| (domain.into(), offset)))
}

impl<I: Iterator<Item = (Arc<str>, u64)> + Send + 'static> Source for Offsets<I> {
    async fn next(&mut self) -> Option<(Arc<str>, u64)> {
        self.0.next()
    }
}

impl Source for tokio::sync::mpsc::Receiver<(Arc<str>, u64)> {
    async fn next(&mut self) -> Option<(Arc<str>, u64)> {
        self.recv().await
    }
}
