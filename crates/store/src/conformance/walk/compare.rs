//! What every comparison of a walk needs.

use super::Wrong;
use crate::StoreError;
use std::fmt::Debug;

/// Lines shown of each side where the two differ.
const LINES_MAX: usize = 40;

/// Equal, or the lines in which the two differ.
pub(in crate::conformance) fn same<T: PartialEq + Debug>(what: &str, theirs: &T, ours: &T) -> Result<(), Wrong> {
    if theirs == ours {
        return Ok(());
    }
    let (theirs, ours) = (format!("{theirs:#?}"), format!("{ours:#?}"));
    let (theirs, ours): (Vec<&str>, Vec<&str>) = (theirs.lines().collect(), ours.lines().collect());
    let common = |a: &[&str], b: &[&str]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    // One line more than differs: the field's name.
    let head = common(&theirs, &ours).saturating_sub(1);
    let backwards = |lines: &[&str]| lines[head..].iter().rev().map(|line| line.to_string()).collect::<Vec<_>>();
    let (theirs_back, ours_back) = (backwards(&theirs), backwards(&ours));
    let tail = theirs_back.iter().zip(&ours_back).take_while(|(a, b)| a == b).count();
    let shown = |side: &str, lines: &[&str]| {
        let lines = lines[head..lines.len() - tail].iter().map(|line| format!("\n    {side} {line}"));
        lines.take(LINES_MAX).collect::<String>()
    };
    Err(format!("{what} differs{}{}", shown("store", &theirs), shown("core ", &ours)))
}

pub(in crate::conformance) fn unwell(error: StoreError) -> Wrong {
    format!("the store failed: {error}")
}

/// As many answers as items of a call.
pub(in crate::conformance) fn whole<T>(
    verb: &str,
    answers: crate::Result<Vec<T>>,
    count: usize,
) -> Result<Vec<T>, Wrong> {
    let answers = answers.map_err(unwell)?;
    if answers.len() == count { Ok(answers) } else { Err(format!("{verb}: {} answers for {count}", answers.len())) }
}

/// The nth most recent of so many.
pub(in crate::conformance) fn nth_back(len: usize, n: usize) -> Option<usize> {
    (len > 0).then(|| len - 1 - n % len)
}

pub(in crate::conformance) fn nth_recent<T>(items: &[T], n: usize) -> Option<&T> {
    nth_back(items.len(), n).map(|index| &items[index])
}

pub(in crate::conformance) fn nth_of<T>(mut items: Vec<T>, n: usize) -> Option<T> {
    let len = items.len();
    (len > 0).then(|| items.swap_remove(n % len))
}
