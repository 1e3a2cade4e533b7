//! Handlers by the kind they know, behind one type.

use super::context::Context;
use super::outcome::{Outcome, Stop};
use crate::queue::{Job, to_json_kept};
use serde::Serialize;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// What a handler left behind: the result to keep, as JSON.
pub(crate) type Kept = Outcome<Option<String>>;

type Handler = Arc<dyn Fn(Context) -> Task<Option<String>> + Send + Sync>;

/// A handler at work.
#[derive(Debug)]
pub struct Task<D> {
    pub(crate) handle: JoinHandle<Outcome<D>>,
    /// It can be dropped at any await; a thread cannot.
    pub(crate) droppable: bool,
}

impl<D: Send + 'static> Task<D> {
    /// In a task of its own: a handler that panics has failed, and takes nobody with it.
    pub(crate) fn spawn(run: impl Future<Output = Outcome<D>> + Send + 'static) -> Task<D> {
        use tracing::Instrument;
        Task { handle: tokio::spawn(run.in_current_span()), droppable: true }
    }
}

/// Which handler runs which kind.
#[derive(Default)]
pub(crate) struct Handlers {
    of_kind: BTreeMap<String, Handler>,
    of_any: Option<Handler>,
    queues: Vec<&'static str>,
    doubled: Option<String>,
}

impl Handlers {
    /// `handler` runs jobs of type `J`.
    pub(crate) fn add<J, T, F, Fut>(&mut self, handler: F)
    where
        J: Job,
        T: Serialize + Send + 'static,
        F: Fn(Context, J) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome<T>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.insert::<J>(move |cx| {
            let handler = handler.clone();
            Task::spawn(async move {
                let job = arguments::<J>(&cx)?;
                kept(handler(cx, job).await?)
            })
        });
    }

    /// `handler` runs jobs of type `J` on a thread of its own.
    pub(crate) fn add_blocking<J, T, F>(&mut self, handler: F)
    where
        J: Job,
        T: Serialize + Send + 'static,
        F: Fn(Context, J) -> Outcome<T> + Send + Sync + 'static,
    {
        let handler = Arc::new(handler);
        self.insert::<J>(move |cx| {
            let handler = handler.clone();
            let handle = tokio::task::spawn_blocking(move || {
                let job = arguments::<J>(&cx)?;
                kept(handler(cx, job)?)
            });
            Task { handle, droppable: false }
        });
    }

    /// `handler` runs jobs of every kind that has no handler of its own; it reads the payload from the context and
    /// returns JSON.
    pub(crate) fn add_any<F, Fut>(&mut self, handler: F)
    where
        F: Fn(Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Kept> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let any: Handler = Arc::new(move |cx| {
            let handler = handler.clone();
            let run: Pin<Box<dyn Future<Output = Kept> + Send>> = Box::pin(async move { handler(cx).await });
            Task::spawn(run)
        });
        if self.of_any.replace(any).is_some() {
            self.doubled = Some("any".to_owned());
        }
    }

    fn insert<J: Job>(&mut self, handler: impl Fn(Context) -> Task<Option<String>> + Send + Sync + 'static) {
        if self.of_kind.insert(J::KIND.to_owned(), Arc::new(handler)).is_some() {
            self.doubled = Some(J::KIND.to_owned());
        }
        if !self.queues.contains(&J::QUEUE) {
            self.queues.push(J::QUEUE);
        }
    }

    /// Whether nothing can be run.
    pub(crate) fn is_empty(&self) -> bool {
        self.of_kind.is_empty() && self.of_any.is_none()
    }

    /// A kind that has two handlers, of which only one would ever be called.
    pub(crate) fn doubled(&self) -> Option<&str> {
        self.doubled.as_deref()
    }

    /// The kinds to claim; `None` is all.
    pub(crate) fn kinds(&self) -> Option<Vec<String>> {
        if self.of_any.is_some() { None } else { Some(self.of_kind.keys().cloned().collect()) }
    }

    /// The queues its jobs wait in by default.
    pub(crate) fn queues(&self) -> &[&'static str] {
        &self.queues
    }

    /// Begins a job; `None` if nobody knows its kind.
    pub(crate) fn begin(&self, cx: Context) -> Option<Task<Option<String>>> {
        let handler = self.of_kind.get(&cx.job().kind).or(self.of_any.as_ref())?;
        Some(handler(cx))
    }
}

fn arguments<J: Job>(cx: &Context) -> Outcome<J> {
    serde_json::from_str(&cx.job().payload)
        .map_err(|error| Stop::from(format!("the payload does not read as kind {}: {error}", J::KIND)))
}

fn kept<T: Serialize>(result: T) -> Kept {
    Ok(to_json_kept("result", &result)?)
}
