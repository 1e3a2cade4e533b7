//! Files below a root, and nowhere else.
//!
//! A path is walked folder by folder, each opened inside the one before, and no link on the way is followed: whoever
//! can write below the root cannot lead us out of it, not even by swapping a folder for a link meanwhile. Only regular
//! files are opened, and nothing is waited for, as a FIFO would have us do.

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, fsync, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::path::Path;

/// The longest path: what may be recorded, and what a temporary name adds to it.
const PATH_BYTES_MAX: usize = 1_024 + 64;

/// Where a file is: its folder, opened, and its name in there.
struct Place<'a> {
    folder: OwnedFd,
    name: &'a str,
}

/// Opens a file to be read.
pub(super) fn open(root: &Path, path: &str) -> Result<File> {
    let Place { folder, name } = walk(root, path, false)?;
    // To open a device may already do something.
    regular(&statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(&folder, name, flags, Mode::empty())?;
    // It may have been swapped in between.
    regular(&fstat(&file)?)?;
    Ok(file.into())
}

/// Makes a new file, in place of what is there, and the folders that it needs.
pub(super) fn create(root: &Path, path: &str) -> Result<File> {
    let Place { folder, name } = walk(root, path, true)?;
    // What is there is left to whoever else has it under another name; a FIFO or a link is not opened.
    absent_is_fine(unlinkat(&folder, name, AtFlags::empty()))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(&folder, name, flags, Mode::from_raw_mode(0o666))?.into())
}

/// Moves a file to another path in one step, durably.
pub(super) fn rename(root: &Path, from: &str, to: &str) -> Result<()> {
    let (from, to) = (walk(root, from, false)?, walk(root, to, false)?);
    renameat(&from.folder, from.name, &to.folder, to.name)?;
    // The entry of a file in its folder is durable only once the folder is synced.
    Ok(fsync(&to.folder)?)
}

/// Removes a file, if it is there.
pub(super) fn remove(root: &Path, path: &str) -> Result<()> {
    let Place { folder, name } = walk(root, path, false)?;
    Ok(absent_is_fine(unlinkat(&folder, name, AtFlags::empty()))?)
}

fn absent_is_fine(removed: rustix::io::Result<()>) -> rustix::io::Result<()> {
    if removed == Err(Errno::NOENT) { Ok(()) } else { removed }
}

/// Walks to the folder of a file; makes the missing ones, if told so.
fn walk<'a>(root: &Path, path: &'a str, make: bool) -> Result<Place<'a>> {
    let part_is_odd = |part: &str| matches!(part, "" | "." | "..") || part.contains('\0');
    if path.len() > PATH_BYTES_MAX {
        return Err(refused(format!("the path is too long: {} bytes, at most {PATH_BYTES_MAX}", path.len())));
    }
    if path.split('/').any(part_is_odd) {
        return Err(refused("the path must be relative, without empty parts, . and ..".to_owned()));
    }
    if make {
        std::fs::create_dir_all(root)?;
    }
    // The root is the operator's own word, and may be a link.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, root, flags, Mode::empty())?;
    let (parents, name) = path.rsplit_once('/').map_or((None, path), |(parents, name)| (Some(parents), name));
    for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
        if make && mkdirat(&folder, part, Mode::from_raw_mode(0o777)).is_ok() {
            fsync(&folder)?;
        }
        folder = match openat(&folder, part, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(opened) => opened,
            Err(Errno::LOOP | Errno::NOTDIR) => {
                let found = statat(&folder, part, AtFlags::SYMLINK_NOFOLLOW)?;
                return Err(refused(format!("{part} on its path is {}, not a folder", kind(&found))));
            }
            Err(error) => return Err(error.into()),
        };
    }
    Ok(Place { folder, name })
}

fn regular(found: &Stat) -> Result<()> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(()),
        _ => Err(refused(format!("it is {}, not a file", kind(found)))),
    }
}

fn kind(found: &Stat) -> &'static str {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }
}

fn refused(why: String) -> Error {
    Error::new(ErrorKind::InvalidInput, why)
}
