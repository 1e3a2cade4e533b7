//! The config file: where the work is kept, for those who do not want to say it each time.
//!
//! Looked for, in this order: `--config FILE`, `./tenure.toml`, `tenure/tenure.toml` in the user's config folder. What is
//! said on the command line or in `TENURE_STORE` comes first. A word it does not know is refused: a typo must not pass.

use crate::failure::Failure;
use serde::Deserialize;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tenure::Address;

/// Where the work is kept, unless anyone says otherwise.
const STORE: &str = "sqlite:tenure.db";

/// What a config file may say.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The store's address.
    store: Option<String>,
}

/// The store to use: what was said, else what a config file says, else the default.
pub(crate) fn store(said: Option<Address>, file: Option<&Path>) -> Result<Address, Failure> {
    if let Some(said) = said {
        return Ok(said);
    }
    let found = match file {
        // Named: it must be there.
        Some(file) => Some(read(file)?.ok_or_else(|| {
            Failure::unreadable(&file.display().to_string(), &std::io::Error::from(ErrorKind::NotFound))
        })?),
        None => looked_for(|name| std::env::var_os(name)).iter().find_map(|file| read(file).transpose()).transpose()?,
    };
    Ok(found.and_then(|config| config.store).map_or_else(|| Address::new(STORE), Address::new))
}

fn looked_for(var: impl Fn(&str) -> Option<std::ffi::OsString>) -> Vec<PathBuf> {
    let user = var("XDG_CONFIG_HOME")
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
        .or_else(|| var("HOME").map(|home| PathBuf::from(home).join(".config")));
    let mut files = vec![PathBuf::from("tenure.toml")];
    files.extend(user.map(|folder| folder.join("tenure").join("tenure.toml")));
    files
}

/// What `file` says; `None` if it is not there.
fn read(file: &Path) -> Result<Option<Config>, Failure> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::unreadable(&file.display().to_string(), &error)),
    };
    // The parser would quote what it stumbled over, and a store's address may hold a password.
    toml::from_str(&text).map(Some).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        Failure::usage(format!("{}, line {line}: it may say `store = \"ADDRESS\"`, and nothing else", file.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_folder_comes_after_this_one() {
        let files = looked_for(|name| (name == "HOME").then(|| "/home/ada".into()));
        assert_eq!(files, [Path::new("tenure.toml"), Path::new("/home/ada/.config/tenure/tenure.toml")]);
    }
}
