//! Sizes and counts on the command line.

use crate::span;

/// A keeper needs this much itself before its program is there.
const MEMORY_MIN: u64 = 64 << 20;
/// A keeper has about ten open while it starts its program.
const FILES_MIN: u64 = 16;

/// Bytes: `1000`, `64K`, `512M`, `2G`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "use a size such as 64K, 512M or 2G".to_owned();
    let unit = match text.chars().last().ok_or_else(wrong)?.to_ascii_uppercase() {
        'K' => 1 << 10,
        'M' => 1 << 20,
        'G' => 1 << 30,
        _ => 1,
    };
    let digits = if unit == 1 { text } else { &text[..text.len() - 1] };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(unit).ok_or_else(wrong)
}

/// Memory that a program can at least be started with.
pub(super) fn memory(text: &str) -> Result<u64, String> {
    let size = bytes(text)?;
    if size < MEMORY_MIN { Err("no program starts with less than 64M".to_owned()) } else { Ok(size) }
}

/// Files that a program can at least be started with.
pub(super) fn files(text: &str) -> Result<u64, String> {
    let count: u64 = text.parse().map_err(|_| "use a number".to_owned())?;
    if count < FILES_MIN { Err(format!("no program starts with fewer than {FILES_MIN}")) } else { Ok(count) }
}

/// A span in whole seconds, as the kernel counts processor time.
pub(super) fn seconds(text: &str) -> Result<u64, String> {
    match span::ms(text)?.div_ceil(1_000) {
        0 => Err("no program runs in no time".to_owned()),
        seconds => Ok(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let sizes = ["1000", "64K", "512m", "2G"].map(|text| bytes(text).unwrap());
        assert_eq!(sizes, [1_000, 64 << 10, 512 << 20, 2 << 30]);
        for bad in ["", "K", "-1", "1.5G", "lots", "99999999999G", "2é"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
        assert!(memory("1M").is_err() && files("3").is_err() && seconds("0s").is_err());
        assert_eq!(seconds("1500ms"), Ok(2));
    }
}
