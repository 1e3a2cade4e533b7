//! What the roles of a store are called.
//!
//! Roles belong to the whole server, stores to a database: a role that was named after the schema alone would be granted
//! in one database and open the store of every other. So names begin with the database's.

use sha2::{Digest, Sha256};

/// PostgreSQL cuts names at 63 bytes, and what is cut off (`_runtime`) would make it another role's.
const PREFIX_MAX: usize = 63 - "_runtime".len();
/// Of a digest, in place of what a name cannot hold.
const DIGEST_LEN: usize = 8;

/// The names of one store's roles: `DATABASE_SCHEMA_owner` and so on.
#[derive(Debug)]
pub(crate) struct RoleNames {
    prefix: String,
}

impl RoleNames {
    pub(crate) fn of(database: &str, schema: &str) -> RoleNames {
        let whole = format!("{database}_{schema}");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        // Not to be quoted, and not PostgreSQL's own (pg_…).
        let starts_well = !whole.starts_with(|c: char| c.is_ascii_digit()) && !whole.starts_with("pg_");
        if whole.len() <= PREFIX_MAX && starts_well && whole.chars().all(plain) {
            return RoleNames { prefix: whole };
        }
        let digest = Sha256::digest(format!("{database}\0{schema}"));
        let digest: String = digest.iter().take(DIGEST_LEN / 2).map(|byte| format!("{byte:02x}")).collect();
        let start = if starts_well { "" } else { "db_" };
        let readable: String = start.chars().chain(whole.chars()).map(|c| if plain(c) { c } else { '_' }).collect();
        let readable: String = readable.chars().take(PREFIX_MAX - DIGEST_LEN - 1).collect();
        RoleNames { prefix: format!("{readable}_{digest}") }
    }

    pub(crate) fn owner(&self) -> String {
        self.role("owner")
    }

    pub(crate) fn role(&self, what: &str) -> String {
        format!("{}_{what}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_is_what_it_says_and_any_other_fits_and_needs_no_quotes() {
        assert_eq!(RoleNames::of("work", "tenure").owner(), "work_tenure_owner");
        let odd = ["Work", "a\"b", "a$$b", "ä", "7", "pg_work", &"x".repeat(63)];
        let mut seen = std::collections::BTreeSet::new();
        for database in odd {
            let name = RoleNames::of(database, "tenure").role("runtime");
            assert!(name.len() <= 63, "{name}");
            assert!(
                name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') && !name.starts_with("pg_"),
                "{name}"
            );
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{name}");
            assert!(seen.insert(name), "{database} has its own");
        }
        assert_ne!(RoleNames::of("Work", "tenure").owner(), RoleNames::of("wOrk", "tenure").owner());
    }
}
