//! What a look at a store's health found, and what to do about it.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// Will hurt some day.
    Warning,
    /// A promise of this software does not hold like this.
    Wrong,
}

impl Level {
    /// The word used on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Fine => "fine",
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Wrong => "wrong",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
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
