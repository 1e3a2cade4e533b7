//! The config file: where the work is kept, for those who do not want to say it each time.
//!
//! Looked for, in this order: `--config FILE`, `./tenure.toml`, `tenure/tenure.toml` in the user's config folder. What is
//! said on the command line or in `TENURE_STORE` comes first. A word it does not know is refused: a typo must not pass.
//!
//! A file that nobody named is believed only if nobody else can have written it: in a folder that others write to, it
//! would decide where our work goes.

use crate::failure::Failure;
use serde::Deserialize;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
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
        Some(file) => Some(read(file, |_| Ok(()))?.ok_or_else(|| {
            Failure::unreadable(&file.display().to_string(), &std::io::Error::from(ErrorKind::NotFound))
        })?),
        None => {
            let files = looked_for(|name| std::env::var_os(name));
            files.iter().find_map(|file| read(file, |opened| check_ours(file, opened)).transpose()).transpose()?
        }
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

/// What `file` says, if it passes `check`; `None` if it is not there.
fn read(file: &Path, check: impl Fn(&Metadata) -> Result<(), Failure>) -> Result<Option<Config>, Failure> {
    let unreadable = |error: std::io::Error| Failure::unreadable(&file.display().to_string(), &error);
    let mut opened = match open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let found = opened.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err(unreadable(std::io::Error::other("it is not a plain file")));
    }
    check(&found)?;
    let mut text = String::new();
    opened.read_to_string(&mut text).map_err(unreadable)?;
    // The parser would quote what it stumbled over, and a store's address may hold a password.
    toml::from_str(&text).map(Some).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        Failure::usage(format!("{}, line {line}: it may say `store = \"ADDRESS\"`, and nothing else", file.display()))
    })
}

/// Without waiting for whoever might write to a pipe of that name.
fn open(file: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(file)
}

/// Refuses a file that somebody else put there, or can write to. Whose link it is counts too: it says which file is meant.
fn check_ours(file: &Path, opened: &Metadata) -> Result<(), Failure> {
    let shown = file.display();
    let link = std::fs::symlink_metadata(file).map_err(|error| Failure::unreadable(&shown.to_string(), &error))?;
    let me = rustix::process::geteuid().as_raw();
    let Some(doubt) =
        doubt_of_owner(link.uid(), me).or_else(|| doubt_of(opened.uid(), opened.gid(), opened.mode(), me))
    else {
        return Ok(());
    };
    Err(Failure::not_allowed(format!(
        "{shown} is not used: {doubt}; name it with --config if you mean it, or say --store"
    )))
}

/// Why a file with this owner, group and mode is not to be believed by user `me`.
fn doubt_of(owner: u32, group: u32, mode: u32, me: u32) -> Option<String> {
    doubt_of_owner(owner, me).or_else(|| {
        if mode & 0o002 != 0 {
            return Some("others can write to it (chmod go-w)".to_owned());
        }
        // A user's own group commonly has the user's number, and what they make can be written by it.
        (mode & 0o020 != 0 && group != owner).then(|| format!("group {group} can write to it (chmod g-w)"))
    })
}

fn doubt_of_owner(owner: u32, me: u32) -> Option<String> {
    (owner != me && owner != 0).then(|| format!("it belongs to user {owner}, and you are user {me}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_only_its_user_or_root_can_write_is_believed() {
        for (owner, group, mode) in [(1000, 1000, 0o600), (1000, 100, 0o644), (0, 0, 0o644), (1000, 1000, 0o664)] {
            assert_eq!(doubt_of(owner, group, mode, 1000), None, "{owner} {group} {mode:o}");
        }
        for (owner, group, mode, me) in [
            (1001, 1001, 0o600, 1000),
            (1000, 1000, 0o600, 0),
            (1000, 1000, 0o602, 1000),
            (1000, 100, 0o664, 1000),
            (0, 100, 0o664, 1000),
        ] {
            assert!(doubt_of(owner, group, mode, me).is_some(), "{owner} {group} {mode:o} {me}");
        }
    }

    #[test]
    fn the_users_own_folder_comes_after_this_one() {
        let files = looked_for(|name| (name == "HOME").then(|| "/home/ada".into()));
        assert_eq!(files, [Path::new("tenure.toml"), Path::new("/home/ada/.config/tenure/tenure.toml")]);
    }
}
