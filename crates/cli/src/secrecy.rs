//! What others on this machine may learn of this process. A store's address may hold a password, and `tenure work` runs
//! programs as the very user that it runs as itself.
//!
//! Always true: memory, environment and open files of this process are closed to every other process but root's. Its
//! command line is not, and cannot be: a password on it is warned of.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tenure::Address;

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
