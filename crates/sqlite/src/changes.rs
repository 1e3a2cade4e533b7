//! What was changed about settings, and by whom (L8).

use crate::column::{self, all};
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use rusqlite::params;
use tenure_core::Actor;
use tenure_core::changes::{CHANGES_KEPT, Changed, Difference, Subject, What};

/// These settings of `subject` were changed.
pub(crate) fn changed(
    step: &Step<'_>,
    subject: &Subject,
    by: &Actor,
    differences: impl IntoIterator<Item = Difference>,
) -> Done<()> {
    differences.into_iter().try_for_each(|difference| add(step, subject, by, What::Changed, Some(&difference)))
}

/// Something was done to `subject`; what was done to it longest ago gives way.
pub(crate) fn add(
    step: &Step<'_>,
    subject: &Subject,
    by: &Actor,
    what: What,
    difference: Option<&Difference>,
) -> Done<()> {
    step.conn.prepare_cached(sql::CHANGED)?.execute(params![
        step.now.0,
        subject.face.as_str(),
        subject.name,
        by.as_str(),
        what.as_str(),
        difference.map(|difference| &difference.setting),
        difference.and_then(|difference| difference.from.as_ref()),
        difference.and_then(|difference| difference.to.as_ref()),
    ])?;
    let kept = (subject.face.as_str(), &subject.name, CHANGES_KEPT as i64);
    step.conn.prepare_cached(sql::CHANGES_TRIM)?.execute(kept)?;
    Ok(())
}

/// What was changed about `subject`, oldest first.
pub(crate) fn of(step: &Step<'_>, subject: &Subject) -> Done<Vec<Changed>> {
    all(step.conn, sql::CHANGES, (subject.face.as_str(), &subject.name), |row| {
        let setting: Option<String> = row.get(3)?;
        let (from, to) = (row.get(4)?, row.get(5)?);
        Ok(Changed {
            at: column::time(row, 0)?,
            by: row.get(1)?,
            what: column::word(row, 2, What::parse)?,
            difference: setting.map(|setting| Difference { setting, from, to }),
        })
    })
}
