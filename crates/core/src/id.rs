//! Ids: numbers that a store draws from growing counters. Callers see them as opaque strings.

use std::fmt;

/// Text that is no id of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidId;

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an id: use one that was answered, as it was answered")
    }
}

impl std::error::Error for InvalidId {}

/// The number spelled `text`. Only the one spelling that printing it gives: `007` is not the id `7`.
pub(crate) fn parse(text: &str) -> Result<i64, InvalidId> {
    text.parse().ok().filter(|id: &i64| *id > 0 && id.to_string() == text).ok_or(InvalidId)
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::id::InvalidId;

            fn from_str(text: &str) -> Result<$name, crate::id::InvalidId> {
                crate::id::parse(text).map($name)
            }
        }

        crate::serial::as_text!($name, "Id", None, |text| text.parse().ok());
    };
}
pub(crate) use id;
