//! The address of a PostgreSQL store, and the options in it that are ours.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;
use tenure_store::{Address, Result, StoreError};
use tokio_postgres::config::{Config, Host, LoadBalanceHosts, SslMode, SslNegotiation, TargetSessionAttrs};

/// Where the store is and how to use it.
#[derive(Clone)]
pub struct PostgresOptions {
    pub(crate) address: Address,
    /// Where calls go.
    pub(crate) route: Route,
    /// Where to listen; `None` is nowhere, and claims that wait look now and then.
    pub(crate) listen: Option<Route>,
    pub(crate) schema: String,
    pub(crate) connections_max: usize,
    pub(crate) auto_migrate: bool,
    pub(crate) create: bool,
    pub(crate) timeout: Duration,
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Servers of which one is the primary, and whom to believe that they are themselves.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) servers: Vec<Server>,
    /// Asked in any order, not in this one.
    pub(crate) any_order: bool,
    pub(crate) roots: Roots,
}

/// Whose certificates are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    /// The public authorities'.
    Public,
    /// Those by the authorities in this file.
    File(String),
}

/// One host of an address.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) host: Host,
    /// Where it is, if the address says so.
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
    /// All else: whom to greet, as whom, and whether in clear text.
    pub(crate) config: Config,
    /// How long it has to take a connection.
    pub(crate) deadline: Duration,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Tcp(name) => write!(f, "{name}:{}", self.port),
            Host::Unix(folder) => write!(f, "{}:{}", folder.display(), self.port),
        }
    }
}

/// Connections of one process. Claims and finishes are batched, so a few carry a lot of work.
const CONNECTIONS_MAX: usize = 10;

/// No statement of ours takes as long unless the server is in trouble: a third of the default lease, so that a heartbeat
/// sent into a dead connection leaves time for another (C4).
const TIMEOUT: Duration = Duration::from_secs(10);

/// What one host has to take a connection: many times what a busy server on another continent needs, or a pooler that has
/// none to give. Less where several hosts share the time of a call, so that the last of them has its turn within it.
const CONNECT_MAX: Duration = Duration::from_secs(10);
const CONNECT_MIN: Duration = Duration::from_millis(100);

/// What is ours, or said in our own words.
const OURS: [&str; 8] = [
    "schema",
    "listen_url",
    "connections_max",
    "auto_migrate",
    "timeout_ms",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
];

/// What the driver knows. A name that nobody knows is not repeated: it may be part of a password.
const THEIRS: [&str; 17] = [
    "user",
    "password",
    "dbname",
    "options",
    "application_name",
    "sslnegotiation",
    "host",
    "hostaddr",
    "port",
    "connect_timeout",
    "tcp_user_timeout",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "channel_binding",
    "load_balance_hosts",
];

impl PostgresOptions {
    /// Reads `postgres://USER:PASSWORD@HOST/DATABASE`, with `?schema=`, `?listen_url=`, `?connections_max=`,
    /// `?auto_migrate=`, `?timeout_ms=`, `?sslmode=`, `?sslrootcert=` beside what PostgreSQL itself knows.
    pub fn parse(url: &str) -> Result<PostgresOptions> {
        let address = Address::new(url);
        let (mut said, mut listen_url) = (Said::read(&address)?, None);
        let mut schema_name = "tenure".to_owned();
        let (mut connections_max, mut auto_migrate, mut timeout) = (CONNECTIONS_MAX, false, TIMEOUT);
        for (name, value) in std::mem::take(&mut said.others) {
            match name.as_str() {
                "schema" => schema_name = schema(&decoded(&value)?)?,
                "listen_url" => listen_url = Some(decoded(&value)?),
                "connections_max" => connections_max = connections(&value)?,
                "auto_migrate" => {
                    auto_migrate = value.parse().map_err(|_| wrong("`auto_migrate` is true or false"))?;
                }
                "timeout_ms" => timeout = milliseconds(&value)?,
                _ => said.others.push((name, value)),
            }
        }
        let route = said.route(timeout)?;
        let listen = match listen_url.as_deref() {
            None => Some(route.clone()),
            Some("none") => None,
            Some(url) => {
                let heard = Said::read(&Address::new(url)).and_then(|listen| listen.beside(&said).route(timeout));
                Some(heard.map_err(|error| match error {
                    StoreError::Address { message } => wrong(format!("`listen_url`: {message}")),
                    other => other,
                })?)
            }
        };
        let (schema, create) = (schema_name, true);
        Ok(PostgresOptions { address, route, listen, schema, connections_max, auto_migrate, create, timeout })
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

    /// Whether opening may change the database: make the schema, or upgrade an older one where that was asked for. If
    /// not, a database without it is [`StoreError::Absent`], and stays so.
    #[must_use]
    pub fn create(mut self, create: bool) -> PostgresOptions {
        self.create = create;
        self
    }
}

/// What an address says of connections, before anything is concluded from it.
struct Said {
    config: Config,
    sslmode: Option<SslMode>,
    roots: Option<Roots>,
    /// Only a server that takes writes is meant.
    writable: bool,
    others: Vec<(String, String)>,
}

impl Said {
    fn read(address: &Address) -> Result<Said> {
        let address = address.server()?;
        // Whichever of two was believed, somebody meant the other: encryption would be lost by a slip.
        let mut known = OURS.iter().chain(&THEIRS);
        if let Some(twice) = known.find(|known| address.options.iter().filter(|(name, _)| name == *known).count() > 1) {
            return Err(wrong(format!("`{twice}` is said twice: leave one out")));
        }
        let mut theirs = Vec::new();
        let (mut sslmode, mut roots, mut writable, mut others) = (None, None, false, Vec::new());
        for (name, value) in address.options {
            match name {
                "sslmode" => sslmode = Some(ssl_mode(value)?),
                "sslrootcert" => {
                    roots = Some(match decoded(value)?.as_str() {
                        "system" => Roots::Public,
                        file => Roots::File(file.to_owned()),
                    });
                }
                // A store is written to: no other word would do.
                "target_session_attrs" if value == "read-write" => writable = true,
                "target_session_attrs" => return Err(wrong("`target_session_attrs` is read-write, or not said")),
                _ => match THEIRS.iter().find(|known| **known == name) {
                    Some(known) => {
                        // One at a time, so that what is wrong can be named without repeating it.
                        let pair = format!("{known}={value}");
                        config(&format!("postgres://?{pair}"), &format!("`{known}` has a value that makes no sense"))?;
                        theirs.push(pair);
                    }
                    None => others.push((name.to_owned(), value.to_owned())),
                },
            }
        }
        let url = format!("{}?{}", address.base, theirs.join("&"));
        Ok(Said { config: config(&url, "its parts make no sense together")?, sslmode, roots, writable, others })
    }

    /// With what the main address says of encryption, where this one says nothing. A word that does without it is taken
    /// over from a network to a network, but not from a pooler on this very machine.
    fn beside(mut self, main: &Said) -> Said {
        let weak = main.sslmode.is_some_and(|mode| mode != SslMode::Require);
        let main_here = places(&main.config).all(|(host, address)| here(host, address));
        let all_here = places(&self.config).all(|(host, address)| here(host, address));
        if self.sslmode.is_none() && self.roots.is_none() && (!weak || !main_here || all_here) {
            self.sslmode = main.sslmode;
        }
        // Beside a word of its own that does without encryption there is nothing to verify.
        if self.roots.is_none() && self.sslmode.is_none_or(|mode| mode == SslMode::Require) {
            self.roots = main.roots.clone();
        }
        self
    }

    fn route(&self, timeout: Duration) -> Result<Route> {
        if let Some((_, _)) = self.others.first() {
            return Err(wrong(format!(
                "it has an option that is not known here; known are {}, {}",
                OURS.join(", "),
                THEIRS.join(", ")
            )));
        }
        if self.roots.is_some() && self.sslmode.is_some_and(|mode| mode != SslMode::Require) {
            return Err(wrong("`sslrootcert` asks for encryption, which this `sslmode` does without: leave one out"));
        }
        let mut config = self.config.clone();
        let (hosts, ports) = (config.get_hosts().len(), config.get_ports().len());
        if hosts == 0 {
            return Err(wrong("it names no host: use postgres://USER@HOST/DATABASE"));
        }
        if ![0, hosts].contains(&config.get_hostaddrs().len()) || ![0, 1, hosts].contains(&ports) {
            return Err(wrong("`hostaddr` and `port` are as many as hosts"));
        }
        let share = CONNECT_MAX.min(timeout / hosts as u32).max(CONNECT_MIN);
        let deadline = config.get_connect_timeout().copied().unwrap_or(share);
        config.application_name("tenure");
        // A peer that is gone without a word is noticed within about ten seconds (C4).
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(10));
        }
        config.keepalives_idle(Duration::from_secs(5));
        config.keepalives_interval(Duration::from_secs(2));
        config.keepalives_retries(3);
        // Among several hosts the one that takes writes is meant; a single one is used as it is, a standby for reading.
        if hosts > 1 || self.writable {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let direct = config.get_ssl_negotiation() == SslNegotiation::Direct;
        let asked = self.sslmode.or((self.roots.is_some() || direct).then_some(SslMode::Require));
        let servers = places(&self.config).enumerate().map(|(at, (host, address))| {
            let port = config.get_ports().get(at).or(config.get_ports().first()).copied().unwrap_or(5432);
            let mut config = config.clone();
            config.ssl_mode(protection(asked, host, address));
            Server { host: host.clone(), address, port, config, deadline }
        });
        let any_order = config.get_load_balance_hosts() == LoadBalanceHosts::Random;
        let roots = self.roots.clone().unwrap_or(Roots::Public);
        Ok(Route { servers: servers.collect(), any_order, roots })
    }
}

/// The hosts of an address, each with where it is, if that is said.
fn places(config: &Config) -> impl Iterator<Item = (&Host, Option<IpAddr>)> {
    config.get_hosts().iter().enumerate().map(|(at, host)| (host, config.get_hostaddrs().get(at).copied()))
}

/// Whether a server is asked for encryption, and if so, whether it may refuse: never over a network, unless the address
/// says so in so many words.
fn protection(asked: Option<SslMode>, host: &Host, address: Option<IpAddr>) -> SslMode {
    match (host, asked) {
        // PostgreSQL knows no encryption on a socket, which does not leave the machine.
        (Host::Unix(_), _) => SslMode::Disable,
        (Host::Tcp(_), Some(asked)) => asked,
        (Host::Tcp(_), None) if here(host, address) => SslMode::Prefer,
        (Host::Tcp(_), None) => SslMode::Require,
    }
}

/// Whether what is said to a host stays on this machine.
fn here(host: &Host, address: Option<IpAddr>) -> bool {
    match (host, address) {
        (Host::Unix(_), _) => true,
        (Host::Tcp(_), Some(address)) => address.to_canonical().is_loopback(),
        (Host::Tcp(name), None) => {
            let literal = name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
            literal || name.eq_ignore_ascii_case("localhost")
        }
    }
}

fn ssl_mode(word: &str) -> Result<SslMode> {
    match word {
        "disable" => Ok(SslMode::Disable),
        "allow" | "prefer" => Ok(SslMode::Prefer),
        // Encrypted always means verified.
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Require),
        _ => Err(wrong("`sslmode` is disable, prefer, require or verify-full")),
    }
}

/// What the driver reads. What it says of an error may repeat what it was given: `reason` is said instead.
fn config(url: &str, reason: &str) -> Result<Config> {
    url.parse().map_err(|_: tokio_postgres::Error| wrong(reason))
}

fn connections(value: &str) -> Result<usize> {
    let count: usize = value.parse().map_err(|_| wrong("`connections_max` is a number"))?;
    if (3..=1_000).contains(&count) { Ok(count) } else { Err(wrong("`connections_max` must be 3 to 1000")) }
}

fn milliseconds(value: &str) -> Result<Duration> {
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

    fn modes(route: &Route) -> Vec<SslMode> {
        route.servers.iter().map(|server| server.config.get_ssl_mode()).collect()
    }

    #[test]
    fn our_options_are_taken_out_and_theirs_are_passed_on() {
        let url = "postgres://u@h/db?schema=work&application_name=x&auto_migrate=true&options=-c%20role%3Dx";
        let options = PostgresOptions::parse(url).unwrap();
        assert_eq!((options.schema.as_str(), options.auto_migrate), ("work", true));
        let config = &options.route.servers[0].config;
        assert_eq!((config.get_dbname(), config.get_options()), (Some("db"), Some("-c role=x")));
    }

    #[test]
    fn a_host_over_a_network_is_asked_for_encryption_unless_the_address_says_otherwise() {
        use SslMode::{Disable, Prefer, Require};
        for (url, wanted) in [
            ("postgres://u@db.example/db", &[Require][..]),
            ("postgres://u@10.0.0.1/db", &[Require]),
            ("postgres://u@localhost.example/db", &[Require]),
            ("postgres://u@127.0.0.1.example/db", &[Require]),
            ("postgres://u@0.0.0.0/db", &[Require]),
            ("postgres://u@127.1/db", &[Require]),
            ("postgres://u@LocalHost/db", &[Prefer]),
            ("postgres://u@127.0.0.1/db", &[Prefer]),
            ("postgres://u@127.9.9.9/db", &[Prefer]),
            ("postgres://u@[::1]/db", &[Prefer]),
            ("postgres://u@[::ffff:127.0.0.1]/db", &[Prefer]),
            ("postgres://u@%2Ftmp/db", &[Disable]),
            ("postgres://u@%2Ftmp,127.0.0.1,db.example/db", &[Disable, Prefer, Require]),
            ("postgres://u@localhost/db?hostaddr=10.0.0.1", &[Require]),
            ("postgres://u@db.example/db?hostaddr=127.0.0.1", &[Prefer]),
            ("postgres://u@db.example/db?sslmode=disable", &[Disable]),
            ("postgres://u@db.example/db?sslmode=allow", &[Prefer]),
            ("postgres://u@db.example/db?sslmode=prefer", &[Prefer]),
            ("postgres://u@localhost/db?sslmode=require", &[Require]),
            ("postgres://u@localhost/db?sslmode=verify-ca", &[Require]),
            ("postgres://u@localhost/db?sslmode=verify-full", &[Require]),
            ("postgres://u@localhost/db?sslrootcert=ca.pem", &[Require]),
            ("postgres://u@localhost/db?sslrootcert=system", &[Require]),
            ("postgres://u@localhost/db?sslnegotiation=direct", &[Require]),
        ] {
            let options = PostgresOptions::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(modes(&options.route), wanted, "{url}");
            assert_eq!(modes(options.listen.as_ref().unwrap()), wanted, "{url}");
        }
        for weak in ["disable", "allow", "prefer"] {
            PostgresOptions::parse(&format!("postgres://u@h/db?sslmode={weak}&sslrootcert=ca.pem")).unwrap_err();
        }
    }

    #[test]
    fn the_listening_connection_follows_the_same_rules_and_inherits_what_is_said_of_encryption() {
        use SslMode::{Disable, Prefer, Require};
        let file = || Roots::File("ca.pem".to_owned());
        for (main, listen, mode, roots) in [
            ("a.example/db?", "b.example/db", Require, Roots::Public),
            ("localhost/db?", "b.example/db", Require, Roots::Public),
            ("localhost/db?", "127.0.0.1/db", Prefer, Roots::Public),
            ("localhost/db?sslmode=require", "127.0.0.1/db", Require, Roots::Public),
            ("localhost/db?sslrootcert=ca.pem", "127.0.0.1/db", Require, file()),
            ("a.example/db?sslmode=disable", "b.example/db", Disable, Roots::Public),
            // A pooler on this machine is no network.
            ("localhost/db?sslmode=disable", "b.example/db", Require, Roots::Public),
            ("localhost/db?sslmode=prefer", "127.0.0.1/db?sslrootcert=ca.pem", Require, file()),
            ("a.example/db?sslrootcert=ca.pem", "b.example/db?sslmode=prefer", Prefer, Roots::Public),
            ("a.example/db?sslmode=disable", "b.example/db?sslmode=verify-full", Require, Roots::Public),
        ] {
            let listen = format!("postgres://u@{listen}").replace('@', "%40").replace('?', "%3F");
            let url = format!("postgres://u@{main}&listen_url={listen}");
            let route = PostgresOptions::parse(&url).unwrap_or_else(|error| panic!("{url}: {error}")).listen.unwrap();
            assert_eq!((modes(&route), route.roots), (vec![mode], roots), "{url}");
        }
        assert!(PostgresOptions::parse("postgres://u@h/db?listen_url=none").unwrap().listen.is_none());
        PostgresOptions::parse("postgres://u@h/db?listen_url=postgres%3A%2F%2Fu%40h%3Fschema=x").unwrap_err();
    }

    #[test]
    fn every_host_has_its_share_of_a_call_s_time_to_take_a_connection() {
        let share = |url: &str| PostgresOptions::parse(url).unwrap().route.servers[0].deadline.as_millis();
        assert_eq!(share("postgres://u@a/db"), 10_000);
        assert_eq!(share("postgres://u@a/db?timeout_ms=60000"), 10_000);
        assert_eq!(share("postgres://u@a,b/db"), 5_000);
        assert_eq!(share("postgres://u@a,b,c,d/db"), 2_500);
        assert_eq!(share("postgres://u@a,b/db?timeout_ms=600"), 300);
        assert_eq!(share("postgres://u@a,b/db?timeout_ms=100"), 100);
        assert_eq!(share("postgres://u@a,b/db?timeout_ms=600&connect_timeout=3"), 3_000);
    }

    /// Whichever of the two was believed, somebody meant the other.
    #[test]
    fn an_option_that_is_said_twice_is_refused_by_its_name() {
        for (options, name) in [
            ("sslmode=require&sslmode=disable", "sslmode"),
            ("sslmode=require&schema=a&sslmode=require", "sslmode"),
            ("sslrootcert=hunter2&sslrootcert=system", "sslrootcert"),
            ("schema=a&schema=b", "schema"),
            ("timeout_ms=1000&timeout_ms=2000", "timeout_ms"),
            ("listen_url=none&listen_url=none", "listen_url"),
            ("target_session_attrs=read-write&target_session_attrs=read-write", "target_session_attrs"),
            ("password=hunter2&password=hunter3", "password"),
            ("host=a&host=b", "host"),
            ("listen_url=postgres%3A%2F%2Fu%40h%3Fsslmode%3Drequire%26sslmode%3Ddisable", "sslmode"),
        ] {
            let refused = PostgresOptions::parse(&format!("postgres://u@h/db?{options}")).map(drop);
            let error = refused.expect_err(options).to_string();
            assert!(error.contains(&format!("`{name}` is said twice")) && !error.contains("hunter"), "{error}");
        }
        let unknown = PostgresOptions::parse("postgres://u@h/db?hunter=a&hunter=b").unwrap_err().to_string();
        assert!(!unknown.contains("hunter"), "{unknown}");
    }

    #[test]
    fn a_wrong_address_is_refused_without_its_password() {
        for bad in [
            "postgres://u:hunter2@h/db?schema=x;drop",
            "postgres://u:hunter2@h/db?unheard_of=1",
            "postgres://u:hunter2@h/db?connections_max=2",
            "postgres://u:hunter2@h/db?timeout_ms=99",
            "postgres://u:hunter2@h/db?listen_url=nowhere",
            "postgres://u:hunter2@h/db?target_session_attrs=any",
            "postgres://u:hunter2@h,i/db?hostaddr=127.0.0.1",
            "postgres://u:hunter2@h:port/db",
            "postgres:///db",
        ] {
            let error = PostgresOptions::parse(bad).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
