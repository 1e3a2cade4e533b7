//! Who acts: the name under which operators' acts stand in events (L8).
//!
//! A name says where an act came from, `cli:ann@host`, `http:127.0.0.1`, `sql:reporting`, `lib:shop`. It is bounded and
//! printable, and nothing is decided by it: until there is sign-in, it is a trace and no proof.

use crate::bounds::{self, Invalid};
use std::fmt;
use std::sync::Arc;

/// The name of whoever acts: 1 to 256 bytes of UTF-8 without control or bidirectional characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Actor(Arc<str>);

impl Actor {
    /// Refuses what is no name.
    pub fn new(name: &str) -> Result<Actor, Invalid> {
        bounds::key("actor", name)?;
        Ok(Actor(name.into()))
    }

    /// A name put together from what a system says of itself: what cannot be kept of it becomes `?`, and the rest is cut.
    #[must_use]
    pub fn of(parts: fmt::Arguments<'_>) -> Actor {
        let mut name = String::new();
        for c in parts.to_string().chars() {
            let c = if bounds::misleading(c) { '?' } else { c };
            if name.len() + c.len_utf8() > bounds::KEY_BYTES_MAX {
                break;
            }
            name.push(c);
        }
        Actor(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A program that did not say who it is.
impl Default for Actor {
    fn default() -> Actor {
        Actor("lib:".into())
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_an_actor_is_bounded_and_printable() {
        assert_eq!(Actor::new("deploy bot").unwrap().as_str(), "deploy bot");
        for bad in ["", "a\nb", "a\u{202e}b", &"x".repeat(257)] {
            assert!(Actor::new(bad).is_err(), "{bad:?}");
        }
        let said = Actor::of(format_args!("cli:a\u{1b}[31m\n@{}", "é".repeat(200)));
        assert!(said.as_str().starts_with("cli:a?[31m?@é") && said.as_str().len() <= 256, "{said}");
        assert!(Actor::new(said.as_str()).is_ok());
    }
}
