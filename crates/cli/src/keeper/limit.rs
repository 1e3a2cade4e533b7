//! What a program may use of the machine, as the kernel counts it (`setrlimit`).

use rustix::process::{Resource, Rlimit, setrlimit};
use std::collections::BTreeMap;
use std::fmt;
use std::io;

/// One thing that can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Limit {
    /// Seconds of processor time.
    Cpu,
    /// Bytes of address space.
    Memory,
    /// Open files.
    Files,
    /// Bytes of any file it writes.
    FileSize,
    /// Processes of the same user.
    Processes,
}

impl Limit {
    const ALL: [(Limit, &'static str, Resource); 5] = [
        (Limit::Cpu, "cpu", Resource::Cpu),
        (Limit::Memory, "memory", Resource::As),
        (Limit::Files, "files", Resource::Nofile),
        (Limit::FileSize, "file-size", Resource::Fsize),
        (Limit::Processes, "processes", Resource::Nproc),
    ];
}

/// The limits of a program. The keeper binds itself, and the program inherits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits(BTreeMap<Limit, u64>);

impl Limits {
    /// Limits this process and what it starts from now on. Nobody gets a core dump, which would hold the payload.
    pub(super) fn bind(&self) -> io::Result<()> {
        let to = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(Resource::Core, to(0))?;
        for (limit, word, resource) in Limit::ALL {
            if let Some(most) = self.0.get(&limit) {
                setrlimit(resource, to(*most)).map_err(|error| {
                    io::Error::new(io::Error::from(error).kind(), format!("cannot limit {word} to {most}: {error}"))
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn parse<'a>(words: impl Iterator<Item = &'a str>) -> Option<Limits> {
        let one = |word: &str| {
            let (name, most) = word.split_once('=')?;
            let (limit, _, _) = Limit::ALL.into_iter().find(|(_, known, _)| *known == name)?;
            Some((limit, most.parse().ok()?))
        };
        words.map(one).collect::<Option<_>>().map(Limits)
    }
}

impl<I: IntoIterator<Item = (Limit, u64)>> From<I> for Limits {
    fn from(limits: I) -> Limits {
        Limits(limits.into_iter().collect())
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (limit, word, _) in Limit::ALL {
            if let Some(most) = self.0.get(&limit) {
                write!(f, " {word}={most}")?;
            }
        }
        Ok(())
    }
}
