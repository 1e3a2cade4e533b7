//! What a program sees of the worker's environment: a short list, and what the job adds.

use crate::failure::Failure;
use std::ffi::OsString;
use tenure::Context;

/// Seen by every program, where the worker has it.
const ALWAYS: [&str; 5] = ["HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/// Where programs are looked for if the worker itself has no PATH.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Never handed on, not even when asked for: addresses and passwords of databases, which may be the store's own. A program
/// that needs a database is given it under another name.
const NEVER: &str = "DATABASE_URL";
/// Nor is what begins like this: `PGPASSWORD`, `PGPASSFILE` and the like for the same reason; `TENURE_STORE` is an address,
/// the others are the job's own to set; `LD_PRELOAD` changes what a program is.
const NEVER_BEGINNING: [&str; 3] = ["PG", "TENURE_", "LD_"];

/// The kernel takes no longer string in an environment; the rest is room for the name.
const VALUE_BYTES_MAX: usize = (128 << 10) - 64;

/// The part of the environment that is the same for all jobs.
#[derive(Debug)]
pub(super) struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// The list, and `more` by name.
    pub(super) fn allowed(more: &[String]) -> Result<Environment, Failure> {
        let mut variables = vec![(OsString::from("PATH"), path())];
        for name in more {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(Failure::usage(format!("--env takes the name of a variable, not {name:?}")));
            }
            if name == NEVER || NEVER_BEGINNING.iter().any(|beginning| name.starts_with(beginning)) {
                return Err(Failure::usage(format!(
                    "{name} is never handed to programs: give them what they need under another name"
                )));
            }
        }
        for name in ALWAYS.into_iter().chain(more.iter().map(String::as_str)) {
            variables.extend(std::env::var_os(name).map(|value| (OsString::from(name), value)));
        }
        Ok(Environment(variables))
    }

    /// The whole environment of the program for one job.
    pub(super) fn of(&self, cx: &Context, lease_ms: u128) -> Vec<(OsString, OsString)> {
        let job = cx.job();
        let mut said = vec![
            ("TENURE_JOB_ID", cx.id().to_string()),
            ("TENURE_TOKEN", cx.token().to_string()),
            ("TENURE_ATTEMPT", job.attempt.to_string()),
            ("TENURE_ATTEMPTS_MAX", job.attempts_max.to_string()),
            ("TENURE_QUEUE", job.queue.clone()),
            ("TENURE_KIND", job.kind.clone()),
            ("TENURE_WORKER", cx.owner().to_owned()),
            ("TENURE_LEASE_MS", lease_ms.to_string()),
        ];
        let checkpoint = job.checkpoint.clone().filter(|json| json.len() <= VALUE_BYTES_MAX);
        said.extend(checkpoint.map(|json| ("TENURE_CHECKPOINT", json)));
        let said = said.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.0.iter().cloned().chain(said).collect()
    }
}

/// The worker's own PATH, or a safe one.
pub(super) fn path() -> OsString {
    std::env::var_os("PATH").filter(|path| !path.is_empty()).unwrap_or_else(|| PATH.into())
}
