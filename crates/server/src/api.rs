//! A route: how it is reached, what it reads, what it answers, and how the document describes exactly that.
//!
//! Always true: a body is read by the [`Request`] that the document names, a query has the parameters that it lists, and
//! the answer is of the type that it refers to: each is said once.

use crate::app::App;
use crate::openapi::Document;
use crate::query::Parameters;
use crate::refused::Refused;
use crate::sent;
use axum::extract::{Request as Received, State};
use axum::http::{HeaderName, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, on};
use axum::{Json, Router};
use serde::Serialize;
use serde_json::{Value, json};
use tenure_wire::Request;
use utoipa::ToSchema;

/// The routes so far, and the document that describes them.
#[derive(Default)]
pub(crate) struct Api {
    router: Router<App>,
    document: Document,
}

/// A route in the making: where it is, what it is called, and one sentence about it.
pub(crate) struct Route<'a> {
    api: &'a mut Api,
    method: MethodFilter,
    verb: &'static str,
    path: String,
    operation: Value,
    query: Vec<&'static str>,
    /// What the document calls the shape of its answer, where the type has not one name.
    reply: Option<&'static str>,
    /// What the document says of its answer.
    answers: Option<&'static str>,
}

impl Api {
    pub(crate) fn get(&mut self, path: impl Into<String>, tag: &str, id: &str, summary: &str) -> Route<'_> {
        self.route((MethodFilter::GET, "get"), path.into(), tag, id, summary)
    }

    pub(crate) fn post(&mut self, path: impl Into<String>, tag: &str, id: &str, summary: &str) -> Route<'_> {
        self.route((MethodFilter::POST, "post"), path.into(), tag, id, summary)
    }

    pub(crate) fn put(&mut self, path: impl Into<String>, tag: &str, id: &str, summary: &str) -> Route<'_> {
        self.route((MethodFilter::PUT, "put"), path.into(), tag, id, summary)
    }

    pub(crate) fn delete(&mut self, path: impl Into<String>, tag: &str, id: &str, summary: &str) -> Route<'_> {
        self.route((MethodFilter::DELETE, "delete"), path.into(), tag, id, summary)
    }

    fn route(
        &mut self,
        (method, verb): (MethodFilter, &'static str),
        path: String,
        tag: &str,
        id: &str,
        summary: &str,
    ) -> Route<'_> {
        let operation = json!({ "tags": [tag], "operationId": id, "summary": summary });
        Route { api: self, method, verb, path, operation, query: Vec::new(), reply: None, answers: None }
    }

    /// The router, and the document as it is served.
    pub(crate) fn finished(self) -> (Router<App>, String) {
        (self.router, self.document.finished())
    }
}

impl Route<'_> {
    /// What else there is to say about it.
    pub(crate) fn more(mut self, description: &str) -> Self {
        self.operation["description"] = description.into();
        self
    }

    /// What the names in its path are, in their order.
    pub(crate) fn named(self, names: &[(&'static str, &str)]) -> Self {
        names.iter().fold(self, |route, (name, about)| {
            assert!(route.path.contains(&format!("{{{name}}}")), "{name} is not in {}", route.path);
            route.parameter("path", name, about, json!({ "type": "string" }))
        })
    }

    /// A parameter of its query, which is text.
    pub(crate) fn only(mut self, name: &'static str, about: &str) -> Self {
        self.query.push(name);
        self.parameter("query", name, about, json!({ "type": "string" }))
    }

    /// It answers in pages of so many `items`.
    pub(crate) fn pages(self, items: &str) -> Self {
        let limit = format!("{items} in a page, 1 to 1,000; default 100.");
        self.only("cursor", "The `next_cursor` of the page before.").limit(&limit)
    }

    /// How much it answers.
    pub(crate) fn limit(mut self, about: &str) -> Self {
        self.query.push("limit");
        self.parameter("query", "limit", about, json!({ "type": "integer", "format": "int32", "minimum": 0 }))
    }

    fn parameter(mut self, place: &str, name: &str, about: &str, schema: Value) -> Self {
        let required = place == "path";
        let parameter =
            json!({ "name": name, "in": place, "description": about, "required": required, "schema": schema });
        match self.operation["parameters"].as_array_mut() {
            Some(parameters) => parameters.push(parameter),
            None => self.operation["parameters"] = json!([parameter]),
        }
        self
    }

    /// What its answer means.
    pub(crate) fn answers(mut self, about: &'static str) -> Self {
        self.answers = Some(about);
        self
    }

    /// What the document calls the shape of its answer.
    pub(crate) fn with(mut self, reply: &'static str) -> Self {
        self.reply = Some(reply);
        self
    }

    /// It reads nothing but the names in its path.
    pub(crate) fn shows<const N: usize, R: Answer, F>(
        self,
        show: impl Fn(App, [String; N]) -> F + Clone + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<R, Refused>> + Send,
    {
        self.lists(move |app, names, _| show(app, names));
    }

    /// It reads the names in its path, and its query.
    pub(crate) fn lists<const N: usize, R: Answer, F>(
        self,
        list: impl Fn(App, [String; N], Parameters) -> F + Clone + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<R, Refused>> + Send,
    {
        self.check_names::<N>();
        let known = self.query.clone();
        self.serve(move |app, received| {
            let (list, known) = (list.clone(), known.clone());
            async move {
                let (mut parts, _) = received.into_parts();
                let query = Parameters::read(&parts.uri, &known)?;
                let names = sent::names(&mut parts).await?;
                list(app, names, query).await
            }
        });
    }

    /// It reads a body about what its path names.
    pub(crate) fn takes<const N: usize, A: 'static, T: Send + 'static, R: Answer, F>(
        mut self,
        request: &'static Request<A, T>,
        about: fn([String; N]) -> A,
        carry_out: impl Fn(App, T) -> F + Clone + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<R, Refused>> + Send,
    {
        self.check_names::<N>();
        self.operation["requestBody"] = self.api.document.body(request);
        self.serve(move |app, received| {
            let carry_out = carry_out.clone();
            async move {
                let (mut parts, body) = received.into_parts();
                // A parameter that does nothing would pass for one that does.
                Parameters::read(&parts.uri, &[])?;
                let names = sent::names(&mut parts).await?;
                let bytes = sent::body(&parts.headers, body, request.bytes_max(), app.options.request_timeout).await?;
                let asked = request.read(&bytes, about(names))?;
                carry_out(app, asked).await
            }
        });
    }

    /// The names in the path are described, and as many as the handler is given.
    fn check_names<const N: usize>(&self) {
        let parameters = self.operation["parameters"].as_array();
        let described = parameters.map_or(0, |all| all.iter().filter(|one| one["in"] == "path").count());
        assert_eq!((self.path.matches('{').count(), described), (N, N), "{}", self.path);
    }

    fn serve<R: Answer, F>(self, serve: impl Fn(App, Received) -> F + Clone + Send + Sync + 'static)
    where
        F: Future<Output = Result<R, Refused>> + Send,
    {
        let Route { api, method, verb, path, mut operation, reply, answers, .. } = self;
        let mut answer = json!({});
        if let Some(content) = R::content(reply, &mut api.document) {
            answer["content"] = content;
        }
        if let Some(about) = answers {
            answer["description"] = about.into();
        }
        operation["responses"] = json!({ R::STATUS.as_str(): answer });
        let handler = move |State(app): State<App>, received: Received| {
            let serve = serve.clone();
            async move { serve(app.asked_by(&received), received).await }
        };
        api.router = std::mem::take(&mut api.router).route(&path, on(method, handler));
        api.document.describe(path, verb, operation);
    }
}

/// What a route answers when it does what it is asked.
pub(crate) trait Answer: IntoResponse {
    /// Under this status.
    const STATUS: StatusCode;

    /// What the document says it holds, by type; its shape is called `name`, if its type does not say so.
    fn content(name: Option<&str>, document: &mut Document) -> Option<Value>;
}

impl<T: Serialize + ToSchema> Answer for Json<T> {
    const STATUS: StatusCode = StatusCode::OK;

    fn content(name: Option<&str>, document: &mut Document) -> Option<Value> {
        Some(json!({ "application/json": { "schema": document.reply::<T>(name) } }))
    }
}

/// Something that may be new.
impl<T: Serialize + ToSchema> Answer for (StatusCode, Json<T>) {
    const STATUS: StatusCode = StatusCode::CREATED;

    fn content(name: Option<&str>, document: &mut Document) -> Option<Value> {
        Json::<T>::content(name, document)
    }
}

/// Nothing but that it was done.
impl Answer for StatusCode {
    const STATUS: StatusCode = StatusCode::NO_CONTENT;

    fn content(_: Option<&str>, _: &mut Document) -> Option<Value> {
        None
    }
}

impl Answer for &'static str {
    const STATUS: StatusCode = StatusCode::OK;

    fn content(_: Option<&str>, _: &mut Document) -> Option<Value> {
        Some(json!({ "text/plain": {} }))
    }
}

/// JSON that is text already.
impl Answer for ([(HeaderName, &'static str); 1], String) {
    const STATUS: StatusCode = StatusCode::OK;

    fn content(_: Option<&str>, _: &mut Document) -> Option<Value> {
        Some(json!({ "application/json": {} }))
    }
}
