//! What a caller sent: the body, and the part of the path that names something.

use crate::app::App;
use crate::refused::Refused;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts as RequestParts;
use axum::http::{HeaderMap, StatusCode};
use futures_util::StreamExt;
use tenure::bounds;
use tenure_wire::{Body, Kind, Problem};

/// Room for the fields around a payload of the largest size: names, an error text, spaces.
const ENVELOPE: usize = 64 << 10;
/// Bytes of a body that holds one payload.
pub(crate) const SINGLE: usize = bounds::BODY_BYTES_MAX + ENVELOPE;
/// Bytes of a body that holds many.
pub(crate) const BULK: usize = bounds::BULK_BYTES_MAX + ENVELOPE;
/// Bytes read of a body that is too large, so that its sender hears the answer instead of a broken connection.
const READ_MAX: usize = 2 * BULK;

/// A body of at most `MAX` bytes that says it is JSON.
pub(crate) struct Sent<const MAX: usize>(Bytes);

impl<const MAX: usize> Sent<MAX> {
    /// The body, read as JSON.
    pub(crate) fn body(&self) -> Result<Body<'_>, Problem> {
        Body::parse(&self.0)
    }

    /// The body, read as JSON; it may be left out.
    pub(crate) fn optional_body(&self) -> Result<Body<'_>, Problem> {
        Body::parse_optional(&self.0)
    }

    /// Refuses a body that is longer than one of a single payload may be.
    pub(crate) fn single(&self) -> Result<(), Problem> {
        if self.0.len() > SINGLE { Err(too_large(SINGLE)) } else { Ok(()) }
    }
}

impl<const MAX: usize> FromRequest<App> for Sent<MAX> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        let (parts, body) = request.into_parts();
        let typed = content_type(&parts.headers)?;
        let announced = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if announced.is_some_and(|bytes: usize| bytes > READ_MAX) {
            return Err(too_large(MAX).into());
        }
        let timeout = app.options.request_timeout;
        let bytes = tokio::time::timeout(timeout, read::<MAX>(body)).await.map_err(|_| {
            let message = format!("the body did not arrive within {} s", timeout.as_secs());
            Refused::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", message)
        })??;
        if !typed && !bytes.is_empty() {
            return Err(unsupported("nothing"));
        }
        Ok(Sent(bytes))
    }
}

async fn read<const MAX: usize>(body: axum::body::Body) -> Result<Bytes, Refused> {
    let mut chunks = body.into_data_stream();
    let mut kept = Vec::new();
    let mut seen = 0usize;
    while let Some(chunk) = chunks.next().await {
        let cut = |_| Refused::new(StatusCode::BAD_REQUEST, "body_incomplete", "the body ended before it was complete");
        let chunk = chunk.map_err(cut)?;
        seen += chunk.len();
        if seen > READ_MAX {
            break;
        }
        if seen <= MAX {
            kept.extend_from_slice(&chunk);
        } else {
            kept = Vec::new();
        }
    }
    if seen > MAX { Err(too_large(MAX).into()) } else { Ok(kept.into()) }
}

/// Whether the body says it is JSON; one that says it is something else is refused unread.
fn content_type(headers: &HeaderMap) -> Result<bool, Refused> {
    if let Some(encoding) = headers.get(CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        let message = "compressed bodies are not read: send plain application/json";
        return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message));
    }
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(false) };
    let value = String::from_utf8_lossy(value.as_bytes());
    let mut parts = value.split(';').map(str::trim);
    let json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let charset = |part: &str| match part.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    };
    if json && parts.all(charset) { Ok(true) } else { Err(unsupported(&value)) }
}

fn unsupported(got: &str) -> Refused {
    let message = "the body must be sent as `Content-Type: application/json`, in UTF-8";
    let refused = Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message);
    refused.fact("field", "Content-Type").fact("limit", "application/json").fact("got", tenure_wire::text::cut(got, 80))
}

fn too_large(max: usize) -> Problem {
    // The envelope's room is slack, not a promise.
    let limit = format!("at most {} bytes", if max == BULK { bounds::BULK_BYTES_MAX } else { bounds::BODY_BYTES_MAX });
    let problem = Problem::new(Kind::TooLarge, "too_large", format!("the body is too large: {limit}"));
    problem.fact("field", "body").fact("limit", limit)
}

/// The part of the path that names a queue or a job, decoded.
pub(crate) struct Named(pub(crate) String);

impl FromRequestParts<App> for Named {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut RequestParts, app: &App) -> Result<Self, Refused> {
        let Path(name) = Path::<String>::from_request_parts(parts, app).await.map_err(|_| {
            Refused::new(StatusCode::BAD_REQUEST, "not_utf8", "the path is not UTF-8 under its percent-encoding")
        })?;
        Ok(Named(name))
    }
}

/// The parts of the path that name something, decoded.
pub(crate) struct Parts<const N: usize>(pub(crate) [String; N]);

impl<const N: usize> FromRequestParts<App> for Parts<N> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut RequestParts, app: &App) -> Result<Self, Refused> {
        let refused =
            || Refused::new(StatusCode::BAD_REQUEST, "not_utf8", "the path is not UTF-8 under its percent-encoding");
        let Path(named) = Path::<Vec<(String, String)>>::from_request_parts(parts, app).await.map_err(|_| refused())?;
        let values: Vec<String> = named.into_iter().map(|(_, value)| value).collect();
        values.try_into().map(Parts).map_err(|_| refused())
    }
}
