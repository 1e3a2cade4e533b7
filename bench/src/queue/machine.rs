//! The machine: what it is, and what processes on it have cost. Linux only; elsewhere figures are missing, not wrong.

use std::fs;
use std::process::Command;

/// The kernel counts processor time in hundredths of a second for every program, whatever its own tick is.
const TICK_MS: u64 = 10;

/// Cores, kernel and processor, in one line.
pub(crate) fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown processor");
    format!("{cores} cores, {}, kernel {}", model.trim_start_matches([' ', '\t', ':']), kernel.trim())
}

/// The commit this was built at, with a mark if the tree differed from it.
pub(crate) fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short", "HEAD"]) else { return "unknown".to_owned() };
    let clean = git(&["status", "--porcelain"]).is_some_and(|changes| changes.is_empty());
    if clean { commit } else { format!("{commit} with changes") }
}

/// Processor time of this process.
pub(crate) fn own_ms() -> u64 {
    stat("self").map_or(0, |stat| stat.own_ms)
}

/// Processor time of the parent of `backend` and of all its children, living and gone.
pub(crate) fn family_ms(backend: i32) -> Option<u64> {
    let parent = stat(&backend.to_string())?.parent;
    let head = stat(&parent.to_string())?;
    let living = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| stat(entry.file_name().to_str()?));
    let children: u64 = living.filter(|process| process.parent == parent).map(|process| process.own_ms).sum();
    Some(head.own_ms + head.gone_ms + children)
}

/// The most memory this process has had since [`forget_peak`], or since it began.
pub(crate) fn peak_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1024.0)
}

/// Begins [`peak_mb`] anew.
pub(crate) fn forget_peak() {
    // Where the kernel does not know this, the peak is of the whole process: higher, never lower.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

struct Stat {
    parent: i32,
    own_ms: u64,
    /// Of children that ended and were waited for.
    gone_ms: u64,
}

fn stat(process: &str) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the name in brackets, which may hold anything; the fields after it are counted from there.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        own_ms: (ticks(11)? + ticks(12)?) * TICK_MS,
        gone_ms: (ticks(13)? + ticks(14)?) * TICK_MS,
    })
}
