//! What a look at a store's health found, and what to do about it.

use crate::words::words;

words! {
    /// How bad it is.
    Level {
        /// As it should be.
        Fine = "fine",
        /// Worth knowing.
        Note = "note",
        /// Will hurt some day.
        Warning = "warning",
        /// A promise of this software does not hold like this.
        Wrong = "wrong",
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Finding {
    /// What was looked at.
    pub topic: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn fine(topic: &'static str, found: impl Into<String>) -> Finding {
        Finding { topic, level: Level::Fine, found: found.into(), advice: None }
    }

    /// Not as it should be, or worth knowing.
    pub fn advise(topic: &'static str, level: Level, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { topic, level, found: found.into(), advice: Some(advice.into()) }
    }
}
