//! What to measure, from the command line.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::place::Backend;

pub(crate) const USAGE: &str = "\
tenure-bench queue [--jobs N] [--stores memory,sqlite,postgres] [--only enqueue,bulk,drain,hold,worker,pickup,heartbeat]
                          [--batches 10,100,500] [--try FILE.sql,…] [--peers graphile_worker] [--million] [--json FILE]
       PostgreSQL is the server named by TENURE_BENCH_POSTGRES. Each FILE is run in a new store's database before it is
       measured, as a column of its own beside the others: a change is tried before it is made.
";

/// Enough that a drain at the best rate takes about a second.
const JOBS: u64 = 100_000;

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    Enqueue,
    Bulk,
    Drain,
    Hold,
    Worker,
    Pickup,
    Heartbeat,
}

impl Measure {
    /// In the order of the table. A hold comes after the drain it is compared with.
    pub(crate) const ALL: [Measure; 7] = [
        Measure::Enqueue,
        Measure::Bulk,
        Measure::Drain,
        Measure::Hold,
        Measure::Worker,
        Measure::Pickup,
        Measure::Heartbeat,
    ];

    fn word(self) -> &'static str {
        match self {
            Measure::Enqueue => "enqueue",
            Measure::Bulk => "bulk",
            Measure::Drain => "drain",
            Measure::Hold => "hold",
            Measure::Worker => "worker",
            Measure::Pickup => "pickup",
            Measure::Heartbeat => "heartbeat",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What the caller asked for.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) jobs: u64,
    pub(crate) stores: Vec<Backend>,
    only: Option<Vec<Measure>>,
    pub(crate) peers: Vec<String>,
    /// Jobs in one claim of a drain.
    pub(crate) batches: Vec<u32>,
    /// Files of SQL, each tried on PostgreSQL.
    pub(crate) tries: Vec<PathBuf>,
    pub(crate) million: bool,
    pub(crate) json: Option<PathBuf>,
    pub(crate) postgres: Option<String>,
}

impl Settings {
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Settings> {
        let mut settings = Settings {
            jobs: JOBS,
            stores: Backend::ALL.to_vec(),
            only: None,
            peers: Vec::new(),
            batches: vec![10, 100, 500],
            tries: Vec::new(),
            million: false,
            json: None,
            postgres: std::env::var("TENURE_BENCH_POSTGRES").ok(),
        };
        while let Some(argument) = args.next() {
            let (flag, inline) = match argument.split_once('=') {
                Some((flag, value)) => (flag, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            if flag == "--million" {
                settings.million = true;
                continue;
            }
            let mut value = || inline.clone().or_else(|| args.next()).with_context(|| format!("{flag} needs a value"));
            match flag {
                "--jobs" => settings.jobs = value()?.parse().context("--jobs needs a number")?,
                "--stores" => settings.stores = list(&value()?, &Backend::ALL)?,
                "--only" => settings.only = Some(list(&value()?, &Measure::ALL)?),
                "--peers" => settings.peers = value()?.split(',').map(str::to_owned).collect(),
                "--batches" => settings.batches = batches(&value()?)?,
                "--try" => settings.tries = value()?.split(',').map(PathBuf::from).collect(),
                "--json" => settings.json = Some(value()?.into()),
                _ => bail!("unknown flag {flag}\nusage: {USAGE}"),
            }
        }
        settings.stores.extend((0..settings.tries.len()).map(Backend::Tried));
        if settings.jobs < 1_000 {
            bail!("--jobs: fewer than 1000 jobs measure the clock");
        }
        Ok(settings)
    }

    pub(crate) fn wants(&self, measure: Measure) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&measure))
    }

    /// The name of a store's column.
    pub(crate) fn column(&self, backend: Backend) -> String {
        match backend {
            Backend::Tried(file) => {
                let name = self.tries[file].file_stem().unwrap_or(self.tries[file].as_os_str());
                format!("postgres + {}", name.display())
            }
            Backend::Memory | Backend::Sqlite | Backend::Postgres => backend.to_string(),
        }
    }

    /// Single enqueues are some twenty times slower than the others.
    pub(crate) fn singles(&self) -> u64 {
        self.jobs / 20
    }
}

fn batches(text: &str) -> Result<Vec<u32>> {
    text.split(',').map(|word| word.parse().with_context(|| format!("--batches: `{word}` is not a number"))).collect()
}

/// The words of `text`, parted by commas, each one of `known`. An empty text names none.
fn list<T: Copy + fmt::Display>(text: &str, known: &[T]) -> Result<Vec<T>> {
    let words = text.split(',').filter(|word| !word.is_empty());
    words
        .map(|word| {
            known.iter().copied().find(|one| one.to_string() == word).with_context(|| {
                let known: Vec<String> = known.iter().map(ToString::to_string).collect();
                format!("no `{word}` here, only {}", known.join(", "))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings> {
        Settings::parse(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn only_what_is_named_is_wanted() {
        let settings = parse("--only drain,pickup --stores=memory --jobs 2000").unwrap();
        let wanted: Vec<Measure> = Measure::ALL.into_iter().filter(|measure| settings.wants(*measure)).collect();
        assert_eq!(wanted, [Measure::Drain, Measure::Pickup]);
        assert_eq!((settings.stores, settings.jobs), (vec![Backend::Memory], 2000));
    }

    #[test]
    fn a_word_that_is_not_known_is_refused_with_those_that_are() {
        for (text, known) in [("--only drian", "drain"), ("--stores mysql", "sqlite"), ("--fast", "--jobs")] {
            let refusal = format!("{:#}", parse(text).unwrap_err());
            assert!(refusal.contains(known), "{refusal}");
        }
    }
}
