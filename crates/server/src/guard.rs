//! What is checked before any route is reached, and what every response carries.
//!
//! There is no sign-in yet, so whoever can open a socket to the loopback address may do anything. A web page can open
//! one too, in its visitor's browser. Two checks keep it out: `Host` must be a loopback name (a page that points its own
//! name at 127.0.0.1 still sends its own name), and a browser's cross-site write is refused.

use crate::refused::Refused;
use crate::stream::Ambiguous;
use axum::extract::Request;
use axum::http::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Bytes of a request's address.
const URI_BYTES_MAX: usize = 8 << 10;
/// Bytes of a request's headers, names and values.
const HEADER_BYTES_MAX: usize = 16 << 10;

/// Headers that decide who is let in or how a body is read. Sent twice, one reader may go by the first and another by the
/// second. (Those that frame the body are watched where they arrive: `stream.rs`.)
const ONCE: [&str; 12] = [
    "host",
    "origin",
    "sec-fetch-site",
    "content-type",
    "content-encoding",
    "content-length",
    "transfer-encoding",
    "expect",
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "x-forwarded-host",
];

/// What every response carries.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // Payloads may hold anything; nothing between us and the caller should keep them.
    (header::CACHE_CONTROL, "no-store"),
];

/// Refuses what no route should see, and dresses the response.
pub(crate) async fn guard(request: Request, next: Next) -> Response {
    let ambiguous = request.extensions().get::<Ambiguous>().is_some_and(Ambiguous::seen);
    let mut response = match check(request.method(), request.uri(), request.headers()) {
        // Where the next request begins is anybody's guess.
        _ if ambiguous => doubled("Content-Length or Transfer-Encoding").closing().into_response(),
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

fn check(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
    let uri_bytes = uri.path().len() + uri.query().map_or(0, str::len);
    if uri_bytes > URI_BYTES_MAX {
        let message = format!("the address is too long: at most {URI_BYTES_MAX} bytes");
        return Err(Refused::new(StatusCode::URI_TOO_LONG, "uri_too_long", message).fact("limit", URI_BYTES_MAX));
    }
    let header_bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if header_bytes > HEADER_BYTES_MAX {
        let message = format!("the headers are too long: at most {HEADER_BYTES_MAX} bytes");
        let refused = Refused::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", message);
        return Err(refused.fact("limit", HEADER_BYTES_MAX));
    }
    if let Some(name) = ONCE.iter().find(|name| headers.get_all(**name).iter().nth(1).is_some()) {
        return Err(doubled(name));
    }
    let host = headers.get(HOST).map_or(&b""[..], HeaderValue::as_bytes);
    let named = uri.authority().is_none_or(|authority| loopback(authority.as_str().as_bytes()));
    if !named || !loopback(host) {
        let message = "this server answers only to loopback names: use localhost, 127.0.0.1 or [::1] as the host";
        return Err(Refused::new(StatusCode::FORBIDDEN, "host_refused", message));
    }
    let reads = matches!(*method, Method::GET | Method::HEAD);
    if !reads && cross_site(headers, host) {
        let message = "a web page of another site may not write here";
        return Err(Refused::new(StatusCode::FORBIDDEN, "cross_site", message));
    }
    Ok(())
}

fn doubled(name: &str) -> Refused {
    let message =
        format!("`{name}` is sent more than once, and readers could differ over which of them counts: send one");
    Refused::new(StatusCode::BAD_REQUEST, "header_repeated", message).fact("field", name)
}

/// Whether `host`, with or without a port, is a name of the loopback interface and nothing else: `localhost`, a dotted
/// IPv4 address, or an IPv6 address in brackets; then perhaps a colon and a number.
fn loopback(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let (known, rest) = match host.strip_prefix('[') {
        Some(v6) => match v6.split_once(']') {
            Some((name, rest)) => (name.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback()), rest),
            None => return false,
        },
        None => {
            let (name, rest) = host.split_at(host.find(':').unwrap_or(host.len()));
            let v4 = name.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback());
            (v4 || name.eq_ignore_ascii_case("localhost"), rest)
        }
    };
    let digits = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    known && (rest.is_empty() || rest.strip_prefix(':').is_some_and(digits))
}

/// Whether a browser says that another site's page sent this. Programs send neither header.
fn cross_site(headers: &HeaderMap, host: &[u8]) -> bool {
    let fetch_site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if fetch_site.is_some_and(|site| !matches!(site, b"same-origin" | b"none")) {
        return true;
    }
    let own = |origin: &HeaderValue| origin.as_bytes().strip_prefix(b"http://").is_some_and(|of| of == host);
    headers.get(ORIGIN).is_some_and(|origin| !own(origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_only_loopback_names_are_answered() {
        for good in ["localhost", "LOCALHOST:7117", "127.0.0.1:7117", "127.8.9.1", "[::1]", "[::1]:7117"] {
            assert!(loopback(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1:7117",
            "[::1",
            "[::2]",
            "localhost:x",
            "127.0.0.1:7117:1",
            "user@localhost",
            "[::1]evil.com",
            "[::1]evil.com:80",
            "[::1]:80evil",
            "[::1]]",
            "[::1]:",
            "[localhost]",
            "[127.0.0.1]",
            "::1",
            "localhost:+80",
            "localhost: 80",
            "localhost:",
            "localhost:65536",
            "localhost,evil.com",
            "localhost/",
            "localhost.",
            "127.1",
            "0x7f.0.0.1",
            "127.0.0.1 ",
        ] {
            assert!(!loopback(bad.as_bytes()), "{bad}");
        }
    }
}
