//! What a worker calls itself.

use crate::chance;

/// `host:pid:random`: pids and host names are used again, so a random part keeps two lives apart (A2).
#[must_use]
pub fn worker_name() -> String {
    let host = rustix::system::uname();
    let host: String = host
        .nodename()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '-' })
        // Room for a pid and the rest within the 128 of a name.
        .take(80)
        .collect();
    let host = host.trim_start_matches(['-', '.']);
    let host = if host.is_empty() { "host" } else { host };
    format!("{host}:{}:{:08x}", std::process::id(), chance::bits() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_the_default_name_is_a_name_and_never_the_same() {
        let (one, two) = (worker_name(), worker_name());
        assert!(tenure_core::bounds::name("worker", &one).is_ok(), "{one}");
        assert_ne!(one, two);
    }
}
