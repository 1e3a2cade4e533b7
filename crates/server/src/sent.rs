//! What a caller sent: the body, and the parts of the path that name something.

use crate::refused::Refused;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Path};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use futures_util::StreamExt;
use std::time::Duration;
use tenure_wire::request::{BYTES_MAX, too_large};

/// Bytes read of a body that is too large, so that its sender hears the answer instead of a broken connection.
const READ_MAX: usize = 2 * BYTES_MAX;

/// A body of at most `max` bytes that says it is JSON.
pub(crate) async fn body(headers: &HeaderMap, body: Body, max: usize, timeout: Duration) -> Result<Bytes, Refused> {
    let typed = content_type(headers)?;
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: usize| bytes > READ_MAX) {
        return Err(too_large(max).into());
    }
    let bytes = tokio::time::timeout(timeout, read(body, max)).await.map_err(|_| {
        let message = format!("the body did not arrive within {} s", timeout.as_secs());
        Refused::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", message)
    })??;
    if !typed && !bytes.is_empty() {
        return Err(unsupported("nothing"));
    }
    Ok(bytes)
}

async fn read(body: Body, max: usize) -> Result<Bytes, Refused> {
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
        if seen <= max {
            kept.extend_from_slice(&chunk);
        } else {
            kept = Vec::new();
        }
    }
    if seen > max { Err(too_large(max).into()) } else { Ok(kept.into()) }
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

/// The parts of the path that name something, decoded.
pub(crate) async fn names<const N: usize>(parts: &mut Parts) -> Result<[String; N], Refused> {
    let not_utf8 = "the path is not UTF-8 under its percent-encoding";
    let refused = || Refused::new(StatusCode::BAD_REQUEST, "not_utf8", not_utf8);
    let Path(named) = Path::<Vec<(String, String)>>::from_request_parts(parts, &()).await.map_err(|_| refused())?;
    let values: Vec<String> = named.into_iter().map(|(_, value)| value).collect();
    values.try_into().map_err(|_| refused())
}
