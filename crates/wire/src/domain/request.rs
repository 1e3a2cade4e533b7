//! Requests about domains.

use super::shape;
use crate::read::Object;
use crate::request::Request;
use tenure::domain::{Acquire, Change, token_of};
use tenure::{Token, bounds};

/// What an acquire asks for: offset, holder, span of the lease.
pub static ACQUIRE: Request<String, Acquire> = Request::new(&shape::ACQUIRE, |mut object, domain| {
    Ok(Acquire {
        domain: domain.into(),
        offset: offset(&mut object),
        holder: object.text("holder").map(Into::into),
        lease_ms: object.int("lease_ms").map(|ms| u64::try_from(ms).unwrap_or(0)),
    })
});
/// The token of a write. One that is no decimal string was never drawn, and is a mismatch.
pub static HELD: Request<String, (String, Token)> =
    Request::new(&shape::HELD, |mut object, domain| Ok((domain, token_of(&object.text("token").unwrap_or_default()))));
/// The offset to skip.
pub static SKIP: Request<String, (String, u64)> =
    Request::new(&shape::SKIP, |mut object, domain| Ok((domain, offset(&mut object))));
/// A change of settings.
pub static CHANGE: Request<String, (String, Change)> = Request::new(&shape::CHANGE, |mut object, domain| {
    let (max_retries, takeovers_max) = (object.set("max_retries", count), object.set("takeovers_max", count));
    Ok((domain, Change { max_retries, takeovers_max }))
});

fn offset(object: &mut Object<'_>) -> u64 {
    object.int("offset").and_then(|offset| u64::try_from(offset).ok()).unwrap_or(u64::MAX)
}

fn count(object: &mut Object<'_>, name: &str) -> Option<u32> {
    object.int(name).map(|count| u32::try_from(count).unwrap_or(u32::MAX))
}

/// Where a page begins: names may hold any character, so a cursor is their bytes in hexadecimal.
#[must_use]
pub fn cursor(name: &str) -> String {
    name.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The name in a cursor, if it is one of ours.
#[must_use]
pub fn from_cursor(cursor: &str) -> Option<String> {
    if !cursor.len().is_multiple_of(2) || !cursor.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let bytes: Option<Vec<u8>> =
        (0..cursor.len()).step_by(2).map(|at| u8::from_str_radix(cursor.get(at..at + 2)?, 16).ok()).collect();
    String::from_utf8(bytes?).ok().filter(|name| bounds::key("cursor", name).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_carries_any_name() {
        for name in ["a", "acct/42", "ключ", "a%2Fb c"] {
            assert_eq!(from_cursor(&cursor(name)).as_deref(), Some(name));
        }
        for bad in ["", "zz", "6", "ff", "6é", "0a"] {
            assert_eq!(from_cursor(bad), None, "{bad:?}");
        }
    }
}
