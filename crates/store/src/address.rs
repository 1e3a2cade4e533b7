//! Store addresses: kept whole, shown without secrets.
//!
//! Always true: an [`Address`] is shown, by `Display` and by `Debug`, as scheme, host and database, and no more of it is
//! where it cannot be read to the letter: a password that was not encoded as it should be makes parts of itself look like
//! a host or an option. What is wrong with an address is said in words of our own.

use crate::StoreError;
use std::fmt;

/// The address of a store, as somebody gave it.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(String);

/// More than any address needs, with another inside.
const LENGTH_MAX: usize = 16_384;

/// Between a scheme and what is not shown.
const HIDDEN: &str = "…";

impl Address {
    /// Whatever it is: what is wrong with it is found when it is used.
    pub fn new(url: impl Into<String>) -> Address {
        Address(url.into())
    }

    /// All of it, secrets too: to open the store with, not to show.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it holds a password, as far as can be told: one that cannot be read to the letter may.
    #[must_use]
    pub fn has_password(&self) -> bool {
        if !self.0.starts_with("postgres") {
            return false;
        }
        ServerAddress::read(&self.0).map_or(true, |server| {
            let user = server.base.rsplit_once('@').map_or("", |(user, _)| user);
            let in_user = user.split_once("://").is_some_and(|(_, user)| user.contains(':'));
            // An address inside one, of where to listen, is encoded.
            let holds = |(name, value): &(&str, &str)| match *name {
                "listen_url" => value.to_ascii_lowercase().contains("%40"),
                name => name.contains("pass"),
            };
            in_user || server.options.iter().any(holds)
        })
    }

    /// Reads `postgres://USER:PASSWORD@HOST:PORT,…/DATABASE?NAME=VALUE&…`.
    pub fn server(&self) -> Result<ServerAddress<'_>, StoreError> {
        ServerAddress::read(&self.0).map_err(|wrong| StoreError::Address { message: wrong.to_owned() })
    }
}

impl From<String> for Address {
    fn from(url: String) -> Address {
        Address(url)
    }
}

impl From<&str> for Address {
    fn from(url: &str) -> Address {
        Address(url.to_owned())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((scheme, rest)) = self.0.split_once(':') else { return f.write_str(HIDDEN) };
        match scheme {
            "postgres" | "postgresql" => match ServerAddress::read(&self.0) {
                Ok(server) => {
                    let database = if server.database.chars().all(plain) { server.database } else { HIDDEN };
                    write!(f, "{scheme}://{}/{database}", server.hosts.join(","))
                }
                Err(_) => write!(f, "{scheme}://{HIDDEN}"),
            },
            "sqlite" => {
                let file = rest.split('?').next().unwrap_or_default();
                let another = file.starts_with("//") || file.contains("://") || file.contains(char::is_control);
                write!(f, "sqlite:{}", if another { HIDDEN } else { file })
            }
            "memory" if rest.is_empty() => f.write_str("memory:"),
            _ => f.write_str(HIDDEN),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// The parts of a server's address, still encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Split<'a> {
    /// Before the options: scheme, user, password, hosts and database.
    base: &'a str,
    authority: &'a str,
    path: &'a str,
    query: &'a str,
}

/// A server's address that can be read to the letter. Not shown: see [`Address`].
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress<'a> {
    /// All before the options: scheme, user, password, hosts and database.
    pub base: &'a str,
    /// Hosts with their ports; empty where an option names them.
    pub hosts: Vec<&'a str>,
    /// The database, still encoded; empty is the user's own.
    pub database: &'a str,
    /// Names and values of options, in their order, the values still encoded.
    pub options: Vec<(&'a str, &'a str)>,
}

impl<'a> ServerAddress<'a> {
    fn read(url: &'a str) -> Result<ServerAddress<'a>, &'static str> {
        if url.len() > LENGTH_MAX {
            return Err("it is too long");
        }
        if url.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err("it holds a space or a control character: write it percent-encoded");
        }
        let Split { base, authority, path, query } = split(url)?;
        // Otherwise a password with such a character is taken for something else, and shown.
        if path.contains(['@', '/']) || query.contains('@') {
            return Err("a `/`, `?` or `@` in a user, password, database or option is written %2F, %3F, %40");
        }
        let (user, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        if user.contains('@') {
            return Err("an `@` in a user or password is written %40");
        }
        if !encoded_well(url) {
            return Err("a `%` must be followed by two hexadecimal digits");
        }
        let hosts: Vec<&str> = place.split(',').filter(|_| !place.is_empty()).collect();
        hosts.iter().try_for_each(|host| check_host(host))?;
        let options = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| match pair.split_once('=') {
            Some((name, value)) if name.chars().all(|c| c.is_ascii_lowercase() || c == '_') => Ok((name, value)),
            Some(_) => Err("an option's name is of a-z and _"),
            None => Err("an option has no value: options are NAME=VALUE, with & between them"),
        });
        Ok(ServerAddress { base, hosts, database: path, options: options.collect::<Result<_, _>>()? })
    }
}

fn split(url: &str) -> Result<Split<'_>, &'static str> {
    let place = ["postgres://", "postgresql://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let place = place.ok_or("use postgres://USER@HOST/DATABASE")?;
    let (before, query) = place.split_once('?').unwrap_or((place, ""));
    let (authority, path) = before.split_once('/').unwrap_or((before, ""));
    Ok(Split { base: &url[..url.len() - place.len() + before.len()], authority, path, query })
}

/// Whether every `%` begins a byte.
fn encoded_well(url: &str) -> bool {
    let hexadecimal = |digit: Option<&u8>| digit.is_some_and(u8::is_ascii_hexdigit);
    let bytes = url.as_bytes();
    let mut percents = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%');
    percents.all(|(at, _)| hexadecimal(bytes.get(at + 1)) && hexadecimal(bytes.get(at + 2)))
}

fn check_host(host: &str) -> Result<(), &'static str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']').ok_or("a `[` before a host has no `]` after it")?;
            name.parse::<std::net::Ipv6Addr>().map_err(|_| "what stands in brackets is no IPv6 address")?;
            (name, port)
        }
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    if name.is_empty() || !name.chars().all(|c| plain(c) || c == ':') {
        return Err("a host is a name, an address, or a socket's folder, percent-encoded");
    }
    if port.is_empty() {
        return Ok(());
    }
    let number = port.strip_prefix(':').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    match number.and_then(|digits| digits.parse::<u16>().ok()) {
        Some(1..) => Ok(()),
        _ => Err("a port is a number from 1 to 65535, and a `/`, `?` or `#` in a password is written %2F, %3F, %23"),
    }
}

/// What names of hosts and databases mostly consist of, and what an encoded one does.
fn plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '~' | '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_noticed_wherever_it_stands() {
        let unreadable = "postgres://u:p@ss@h/db";
        let listening = "postgres://u@h/db?listen_url=postgres%3A%2F%2Fu%3Ap%40h";
        for with in ["postgres://u:p@h/db", "postgresql://u@h/db?password=p", unreadable, listening] {
            assert!(Address::new(with).has_password(), "{with}");
        }
        for without in ["postgres://u@h:5432/db?x=1", "sqlite:a:b@c.db", "memory:", ""] {
            assert!(!Address::new(without).has_password(), "{without}");
        }
    }

    #[test]
    fn an_address_is_shown_as_scheme_host_and_database() {
        let check = |url: &str, shown: &str| {
            assert_eq!(Address::new(url).to_string(), shown);
            assert_eq!(format!("{:?}", Address::new(url)), format!("Address({shown})"));
        };
        check("postgres://app:s3cret@h:5432/db", "postgres://h:5432/db");
        check("postgresql://app:s3cret@h,[::1]:5433/db?x=1", "postgresql://h,[::1]:5433/db");
        check("postgres://app@h/db?password=s3cret&x=1", "postgres://h/db");
        check("postgres://app@%2Ftmp%2Fpg:5432/db", "postgres://%2Ftmp%2Fpg:5432/db");
        check("postgres:///db?host=/tmp", "postgres:///db");
        check("postgres://app@h/d\u{202e}b", "postgres://h/…");
        check("sqlite:tenure.db?synchronous=normal", "sqlite:tenure.db");
        check("sqlite::memory:", "sqlite::memory:");
        check("memory:", "memory:");
        for hidden in ["postgres://app:p@ss@h/db", "postgres://app:p/ss@h/db", "postgres://app:p?s@h/db", "postgres://"]
        {
            let shown = Address::new(hidden).to_string();
            assert!(shown == "postgres://…" || hidden == "postgres://", "{hidden}: {shown}");
        }
        for hidden in ["", "s3cret", "s3cret:x", "mysql://u:s3cret@h/db", "memory:s3cret"] {
            assert_eq!(Address::new(hidden).to_string(), "…");
        }
        check("sqlite://u:s3cret@h/db", "sqlite:…");
        check("sqlite:postgres://u:s3cret@h/db", "sqlite:…");
    }

    #[test]
    fn the_parts_of_a_server_s_address_are_told_apart() {
        let address = Address::new("postgres://u:p%40@a:1,b/db?schema=work&&options=-c%20x%3D1");
        let server = address.server().unwrap();
        assert_eq!(server.base, "postgres://u:p%40@a:1,b/db");
        assert_eq!((server.hosts, server.database), (vec!["a:1", "b"], "db"));
        assert_eq!(server.options, [("schema", "work"), ("options", "-c%20x%3D1")]);
        let address = Address::new("postgres://?host=/tmp");
        assert!(address.server().unwrap().hosts.is_empty());
    }
}
