//! What others on this machine may learn of this process. A store's address may hold a password, and `tenure work` runs
//! programs as the very user that it runs as itself.
//!
//! Always true: memory, environment and open files of this process are closed to every other process but root's. Its
//! command line is not, and cannot be: a password on it is warned of.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tenure::Address;
use tenure_wire::text;

/// Said where a password is on the command line.
pub(crate) const WARNING: &str = "warning: every user of this machine can read the store's password on the command line: \
     put the address into TENURE_STORE, or as `store` into a config file";

/// Closes this process to others of the same user: the kernel gives what is in `/proc` of it to root, lets nobody trace
/// it, and writes no core dump.
pub(crate) fn begin() {
    // It fails only where the kernel has no such thing.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Whether this address has a secret, and was said where everybody reads it.
pub(crate) fn on_the_command_line(store: &Address) -> bool {
    store.has_password() && std::env::args_os().any(|word| word.to_string_lossy().contains(store.as_str()))
}

/// `told` as it may be shown: an address that somebody put in the place of another argument is repeated without its
/// secrets, be it escaped or cut.
pub(crate) fn hidden(told: &str) -> String {
    let given =
        std::env::args_os().skip(1).chain(["TENURE_CONFIG", "TENURE_ARTIFACTS"].iter().filter_map(std::env::var_os));
    hiding(told, given.filter_map(|arg| arg.into_string().ok()))
}

fn hiding(told: &str, given: impl Iterator<Item = String>) -> String {
    let address =
        |text: &&str| text.contains("://") || text.starts_with("postgres:") || text.starts_with("postgresql:");
    let mut told = told.to_owned();
    for arg in given {
        let value = arg.split_once('=').map_or("", |(_, value)| value);
        for secret in [arg.as_str(), value].into_iter().filter(address) {
            let shown = Address::new(secret).to_string();
            // As it is, as we show it, and as the parser of the command line does.
            for said in [secret.to_owned(), text::escaped(secret), secret.replace(char::is_control, "")] {
                told = without_cut(told.replace(&said, &shown), &said, &shown);
            }
        }
    }
    told
}

/// `told` with `shown` in the place of each beginning of `said` that was cut.
fn without_cut(told: String, said: &str, shown: &str) -> String {
    const CUT: &str = "…";
    let parts: Vec<&str> = told.split(CUT).collect();
    let Some((last, before)) = parts.split_last() else { return told };
    let clean = before.iter().map(|part| {
        let begins = part.char_indices().find(|(at, _)| part[*at..].contains(':') && said.starts_with(&part[*at..]));
        match begins {
            Some((at, _)) => format!("{}{shown}{CUT}", &part[..at]),
            None => format!("{part}{CUT}"),
        }
    });
    clean.chain([(*last).to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_hidden_whole_escaped_or_cut() {
        let address = "postgres://u:\u{7}hunter2@h/db";
        let hide = |told: &str| hiding(told, ["job".to_owned(), format!("--config={address}")].into_iter());
        for told in [
            format!("cannot read {address}: it is not there"),
            format!("cannot read {}: it is not there", text::escaped(address)),
            format!("cannot read {}: it is not there", address.replace('\u{7}', "")),
            format!("`queue` must be short; got {}, and {}", text::cut(address, 22), text::cut(address, 25)),
        ] {
            assert!(told.contains("hunter"), "{told}");
            let shown = hide(&told);
            assert!(!shown.contains("hunter") && shown.contains("postgres://"), "{shown}");
        }
        assert_eq!(hide("job 7 … is not on record"), "job 7 … is not on record");
    }
}
