//! Open files that somebody handed to this worker, and that every program would see too.
//!
//! What the worker opens itself is closed when a program starts. What it inherited it cannot close without `unsafe`, so
//! it says so.

/// `O_CLOEXEC` as `/proc` writes it.
const CLOSED_ON_EXEC: u32 = 0o2_000_000;

/// One line for each.
pub(super) fn warnings() -> Vec<String> {
    let open = match std::fs::read_dir("/proc/self/fdinfo") {
        Ok(open) => open,
        Err(error) => return vec![format!("cannot tell which files were handed to this worker: {error}")],
    };
    let numbers = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let mut handed: Vec<u32> = numbers.filter(|number| *number > 2 && !closed_on_exec(*number)).collect();
    handed.sort_unstable();
    let line =
        |number| format!("file descriptor {number} was handed to this worker, and programs see it: close it first");
    handed.into_iter().map(line).collect()
}

fn closed_on_exec(number: u32) -> bool {
    // Closed again meanwhile: it was the folder being read.
    let Ok(info) = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else { return true };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_none_or(|flags| flags & CLOSED_ON_EXEC != 0)
}
