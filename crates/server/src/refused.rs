//! From a refusal to a response.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use tenure_wire::{Kind, Problem};

/// The header that finds a failure in the log.
const REQUEST_ID: &str = "x-request-id";

/// A request that was not carried out.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    problem: Problem,
    /// Whether the connection ends with the answer.
    closing: bool,
}

impl Refused {
    /// A refusal that only HTTP knows.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Refused {
        Refused { status, problem: Problem::new(Kind::Invalid, code, message), closing: false }
    }

    /// The connection is not kept: it is needed by others, or what follows on it cannot be told apart.
    pub(crate) fn closing(mut self) -> Refused {
        self.closing = true;
        self
    }

    /// With one more fact.
    pub(crate) fn fact(mut self, name: &'static str, value: impl Into<serde_json::Value>) -> Refused {
        self.problem = self.problem.fact(name, value);
        self
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Refused {
        let status = match problem.kind {
            Kind::Malformed => StatusCode::BAD_REQUEST,
            Kind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::LeaseLost | Kind::Conflict => StatusCode::CONFLICT,
            Kind::Absent => StatusCode::NOT_FOUND,
            Kind::Unavailable | Kind::UnknownOutcome | Kind::NoStore | Kind::Denied | Kind::Schema | Kind::Address => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Kind::Full => StatusCode::INSUFFICIENT_STORAGE,
            Kind::Broken => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refused { status, problem, closing: false }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Refused { status, mut problem, closing } = self;
        let id = status.is_server_error().then(request_id);
        if let Some(id) = &id {
            let detail = problem.detail.as_deref().unwrap_or(&problem.message);
            // Of an outage the engine tells, once: requests meet it by the thousand.
            if matches!(problem.kind, Kind::Unavailable | Kind::UnknownOutcome) {
                tracing::debug!(request_id = id, code = problem.code, detail, "a request met a store that is away");
            } else {
                tracing::error!(request_id = id, code = problem.code, detail, "a request failed on our side");
            }
            problem = problem.fact("request_id", id.clone());
        }
        let mut response = (status, Json(problem.to_json())).into_response();
        let headers = response.headers_mut();
        if let Some(Ok(id)) = id.as_deref().map(HeaderValue::from_str) {
            headers.insert(REQUEST_ID, id);
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if closing {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The answer after a panic: a bug of ours. The panic itself has been printed by the runtime's hook.
pub(crate) fn panicked(_: Box<dyn Any + Send>) -> Response {
    Refused::from(Problem::new(Kind::Broken, "internal", "something is wrong on our side")).into_response()
}

fn request_id() -> String {
    format!("{:016x}", RandomState::new().hash_one(0u8))
}
