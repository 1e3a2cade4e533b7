//! The address of a PostgreSQL store, and the options in it that are ours.

use std::time::Duration;
use tenure_store::{Result, StoreError};
use tokio_postgres::config::{Config, SslMode};

/// Where the store is and how to use it.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    pub(crate) config: Config,
    /// Where to listen; `None` is nowhere, and claims that wait look now and then.
    pub(crate) listen: Option<Config>,
    pub(crate) schema: String,
    pub(crate) connections_max: usize,
    pub(crate) auto_migrate: bool,
    pub(crate) timeout: Duration,
    pub(crate) root_certificate: Option<String>,
}

/// Connections of one process. Claims and finishes are batched, so a few carry a lot of work.
const CONNECTIONS_MAX: usize = 10;

/// No statement of ours takes as long unless the server is in trouble: a third of the default lease, so that a heartbeat
/// sent into a dead connection leaves time for another (C4).
const TIMEOUT: Duration = Duration::from_secs(10);

impl PostgresOptions {
    /// Reads `postgres://USER:PASSWORD@HOST/DATABASE`, with `?schema=`, `?listen_url=`, `?connections_max=`,
    /// `?auto_migrate=`, `?timeout_ms=`, `?sslrootcert=` beside what PostgreSQL itself knows.
    pub fn parse(url: &str) -> Result<PostgresOptions> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut options = PostgresOptions {
            config: Config::new(),
            listen: None,
            schema: "tenure".to_owned(),
            connections_max: CONNECTIONS_MAX,
            auto_migrate: false,
            timeout: TIMEOUT,
            root_certificate: None,
        };
        let mut theirs = Vec::new();
        let mut listen_url = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| wrong(format!("option `{pair}` has no value")))?;
            match name {
                "schema" => options.schema = schema(&decoded(value)?)?,
                "listen_url" => listen_url = Some(decoded(value)?),
                "connections_max" => options.connections_max = connections(value)?,
                "auto_migrate" => {
                    options.auto_migrate = value.parse().map_err(|_| wrong("`auto_migrate` is true or false"))?;
                }
                "timeout_ms" => options.timeout = timeout(value)?,
                "sslrootcert" => options.root_certificate = Some(decoded(value)?),
                _ => theirs.push(pair),
            }
        }
        let rest = if theirs.is_empty() { base.to_owned() } else { format!("{base}?{}", theirs.join("&")) };
        options.config = config(&rest)?;
        options.listen = match listen_url.as_deref() {
            None => Some(options.config.clone()),
            Some("none") => None,
            Some(url) => Some(config(url)?),
        };
        Ok(options)
    }

    /// Uses this schema.
    pub fn schema(mut self, name: &str) -> Result<PostgresOptions> {
        self.schema = schema(name)?;
        Ok(self)
    }

    /// Upgrades an older schema on opening.
    #[must_use]
    pub fn auto_migrate(mut self) -> PostgresOptions {
        self.auto_migrate = true;
        self
    }

    pub(crate) fn encrypted(&self) -> bool {
        self.config.get_ssl_mode() != SslMode::Disable
    }
}

fn config(url: &str) -> Result<Config> {
    // The driver's message names what it did not understand, never the password.
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        wrong(cause)
    })?;
    if config.get_hosts().is_empty() {
        return Err(wrong("it names no host: use postgres://USER@HOST/DATABASE"));
    }
    config.application_name("tenure");
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(5));
    }
    // A peer that is gone without a word is noticed within about ten seconds (C4).
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(10));
    }
    config.keepalives_idle(Duration::from_secs(5));
    config.keepalives_interval(Duration::from_secs(2));
    config.keepalives_retries(3);
    config.target_session_attrs(tokio_postgres::config::TargetSessionAttrs::ReadWrite);
    Ok(config)
}

fn connections(value: &str) -> Result<usize> {
    let count: usize = value.parse().map_err(|_| wrong("`connections_max` is a number"))?;
    if (3..=1_000).contains(&count) { Ok(count) } else { Err(wrong("`connections_max` must be 3 to 1000")) }
}

fn timeout(value: &str) -> Result<Duration> {
    let ms: u64 = value.parse().map_err(|_| wrong("`timeout_ms` is a number"))?;
    if (100..=600_000).contains(&ms) {
        Ok(Duration::from_millis(ms))
    } else {
        Err(wrong("`timeout_ms` must be 100 to 600000"))
    }
}

fn schema(name: &str) -> Result<String> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if starts_well && name.len() <= 63 && name.chars().all(allowed) {
        return if reserved(name) {
            Err(wrong(format!("`schema` cannot be `{name}`: {RESERVED}")))
        } else {
            Ok(name.to_owned())
        };
    }
    Err(wrong("`schema` must be 1 to 63 of a-z 0-9 _, not starting with a digit"))
}

const RESERVED: &str = "it is PostgreSQL's own or everybody's, and what others keep there would be Tenure's to grant";

/// Where others keep their things: a store in such a schema would own them by its name alone.
fn reserved(schema: &str) -> bool {
    schema == "public" || schema == "information_schema" || schema.starts_with("pg_")
}

fn decoded(value: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next(), rest.next()].map(|digit| digit.and_then(|digit| (digit as char).to_digit(16)));
        match digits {
            [Some(high), Some(low)] => bytes.push((high * 16 + low) as u8),
            _ => return Err(wrong("a `%` must be followed by two hexadecimal digits")),
        }
    }
    String::from_utf8(bytes).map_err(|_| wrong("an option is not UTF-8"))
}

fn wrong(message: impl Into<String>) -> StoreError {
    StoreError::Address { message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_options_are_taken_out_and_theirs_are_passed_on() {
        let options =
            PostgresOptions::parse("postgres://u@h/db?schema=work&application_name=x&auto_migrate=true").unwrap();
        assert_eq!((options.schema.as_str(), options.auto_migrate), ("work", true));
        assert_eq!(options.config.get_dbname(), Some("db"));
    }

    #[test]
    fn a_wrong_address_is_refused_without_its_password() {
        for bad in [
            "postgres://u:hunter2@h/db?schema=x;drop",
            "postgres://u:hunter2@h/db?unheard_of=1",
            "postgres://u:hunter2@h/db?connections_max=2",
            "postgres://u:hunter2@h/db?timeout_ms=99",
            "postgres://u:hunter2@h/db?listen_url=nowhere",
            "postgres://u:hunter2@h:port/db",
            "postgres:///db",
        ] {
            let error = PostgresOptions::parse(bad).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
