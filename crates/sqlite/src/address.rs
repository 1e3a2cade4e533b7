//! Where a store lives: `sqlite:FILE` or `sqlite::memory:`, and how it is kept.
//!
//! An address is refused rather than guessed at: an option that is not known is never passed over.

use crate::fault::{Done, Fault};
use std::path::PathBuf;
use tenure_store::Clock;

/// How a store is opened, where its address says nothing else.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    pub(crate) clock: Clock,
    pub(crate) synchronous: Synchronous,
    pub(crate) create: bool,
}

impl SqliteOptions {
    /// The machine's clock, every commit on disk before it is answered, and a store where there was none.
    #[must_use]
    pub fn new() -> SqliteOptions {
        SqliteOptions { clock: Clock::default(), synchronous: Synchronous::default(), create: true }
    }

    /// The clock that judges leases.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> SqliteOptions {
        self.clock = clock;
        self
    }

    /// What survives a power failure.
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> SqliteOptions {
        self.synchronous = synchronous;
        self
    }

    /// Whether opening may change the file: make it, lay it out, bring it up to date, switch its journal. If not, what is
    /// not there is [`StoreError::Absent`], and is left so.
    ///
    /// [`StoreError::Absent`]: tenure_store::StoreError::Absent
    #[must_use]
    pub fn create(mut self, create: bool) -> SqliteOptions {
        self.create = create;
        self
    }
}

impl Default for SqliteOptions {
    fn default() -> SqliteOptions {
        SqliteOptions::new()
    }
}

/// What survives a power failure. A killed process loses nothing under any of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Everything that was answered.
    #[default]
    Full,
    /// All but the last moments.
    Normal,
    /// Nothing for certain: for tests that never cut the power.
    Off,
}

impl Synchronous {
    /// The word used in addresses and in `describe`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Synchronous::Full => "full",
            Synchronous::Normal => "normal",
            Synchronous::Off => "off",
        }
    }
}

/// Where the database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this file, spelled absolutely: a later change of directory must not move the store.
    File(PathBuf),
    /// In the memory of this one store.
    Memory,
}

impl Place {
    /// For people.
    pub(crate) fn shown(&self) -> String {
        match self {
            Place::File(path) => path.display().to_string(),
            Place::Memory => ":memory:".to_owned(),
        }
    }
}

/// Reads an address; its options overrule `options`.
pub(crate) fn parse(url: &str, mut options: SqliteOptions) -> Done<(Place, SqliteOptions)> {
    let refuse = |why: &str| Err(Fault::Address(format!("{why}; use sqlite:FILE or sqlite::memory:")));
    let Some(rest) = url.strip_prefix("sqlite:") else {
        return refuse("it does not begin with sqlite:");
    };
    let (file, query) = rest.split_once('?').map_or((rest, None), |(file, query)| (file, Some(query)));
    for (at, option) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        options.synchronous = match option.split_once('=') {
            Some(("synchronous", "full")) => Synchronous::Full,
            Some(("synchronous", "normal")) => Synchronous::Normal,
            Some(("synchronous", _)) => return refuse("synchronous is full or normal"),
            // Not repeated: what stands there may be part of a password.
            _ => return refuse("it has an option that is not known, only synchronous is"),
        };
        if at > 0 {
            return refuse("synchronous is said twice");
        }
    }
    match file {
        "" => refuse("it names no file"),
        ":memory:" => Ok((Place::Memory, options)),
        // `sqlite://tenure.db` would mean /tenure.db, which nobody who writes it expects.
        _ if file.starts_with("//") => refuse("a file is named right after sqlite:, without //"),
        _ if file.contains("://") => refuse("it has the address of another store in it"),
        _ if file.contains('\0') => refuse("a file name holds no NUL"),
        _ => {
            let path = std::path::absolute(file).map_err(|error| Fault::Address(error.to_string()))?;
            Ok((Place::File(path), options))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Done<(Place, SqliteOptions)> {
        parse(url, SqliteOptions::new())
    }

    #[test]
    fn an_address_names_a_file_or_memory() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(read("sqlite:a.db").unwrap().0, Place::File(here.join("a.db")));
        assert_eq!(read("sqlite:/a/b.db").unwrap().0, Place::File("/a/b.db".into()));
        assert_eq!(read("sqlite::memory:").unwrap().0, Place::Memory);
        assert_eq!(read("sqlite:a.db?synchronous=normal").unwrap().1.synchronous, Synchronous::Normal);
    }

    #[test]
    fn an_address_that_makes_no_sense_is_refused() {
        for bad in [
            "",
            "a.db",
            "sqlite:",
            "sqlite://a.db",
            "sqlite:a.db?mode=ro",
            "sqlite:a.db?",
            "sqlite:a.db?synchronous=off",
            "sqlite:a.db?synchronous=full&synchronous=normal",
        ] {
            assert!(matches!(read(bad), Err(Fault::Address(_))), "{bad}");
        }
    }
}
