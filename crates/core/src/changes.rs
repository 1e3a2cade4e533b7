//! What was changed about a queue, a schedule, a domain, a pipeline or the whole store: which setting, from what to what,
//! when and by whom (L8).
//!
//! Always true: of one subject the last [`CHANGES_KEPT`] changes are kept, and none longer than [`CHANGES_KEPT_MS`]; what
//! was set to the value it had is no change.

use crate::actor::Actor;
use crate::time::Time;
use crate::words::words;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Changes kept of one subject.
pub const CHANGES_KEPT: usize = 100;

/// How long a change is kept at most: ninety days.
pub const CHANGES_KEPT_MS: u64 = 90 * 24 * 3_600 * 1_000;

/// Characters of a value that a change repeats.
const VALUE_CHARS: usize = 200;

words! {
    /// What kind of thing has settings.
    Face {
        /// A queue.
        Queue = "queue",
        /// A schedule.
        Schedule = "schedule",
        /// A domain.
        Domain = "domain",
        /// A pipeline.
        Pipeline = "pipeline",
        /// The store as a whole: its limit and its epoch.
        Store = "store",
    }
}

words! {
    /// What was done.
    What {
        /// It was put on record.
        Created = "created",
        /// A setting was changed.
        Changed = "changed",
        /// It was removed.
        Removed = "removed",
    }
}

/// Whose settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// What kind of thing it is.
    pub face: Face,
    /// Its name; empty for the store.
    pub name: String,
}

impl Subject {
    /// A thing of its kind.
    pub fn new(face: Face, name: impl Into<String>) -> Subject {
        Subject { face, name: name.into() }
    }

    /// The store as a whole.
    #[must_use]
    pub fn store() -> Subject {
        Subject::new(Face::Store, "")
    }
}

/// A setting that two versions do not have in common. Values are text as people would write them; `None` is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which setting.
    pub setting: String,
    /// What it was.
    pub from: Option<String>,
    /// What it is.
    pub to: Option<String>,
}

impl Difference {
    /// The difference, if there is one.
    pub fn between<T: PartialEq>(
        setting: &str,
        from: &T,
        to: &T,
        show: impl Fn(&T) -> Option<String>,
    ) -> Option<Difference> {
        let shown = |value: &T| show(value).map(|text| text.chars().take(VALUE_CHARS).collect());
        (from != to).then(|| Difference { setting: setting.to_owned(), from: shown(from), to: shown(to) })
    }

    /// The version of a pipeline that was put on record.
    #[must_use]
    pub fn version(version: u32) -> Difference {
        Difference { setting: "version".to_owned(), from: None, to: Some(version.to_string()) }
    }

    /// The limit of the engine, as it was and is.
    #[must_use]
    pub fn limit(from: Option<u32>, to: Option<u32>) -> Option<Difference> {
        Difference::between("max_running", &from, &to, |max| max.map(|max| max.to_string()))
    }

    /// The epoch, as it was and is.
    #[must_use]
    pub fn epoch(from: u32, to: u32) -> Option<Difference> {
        Difference::between("epoch", &from, &to, |count| Some(count.to_string()))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.as_deref().unwrap_or("none").to_owned();
        write!(f, "{} from {} to {}", self.setting, shown(&self.from), shown(&self.to))
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// When, by the store's clock.
    pub at: Time,
    /// By whom.
    pub by: String,
    /// What was done.
    pub what: What,
    /// Which setting, from what to what.
    pub difference: Option<Difference>,
}

impl Changed {
    /// The change as a sentence for an operator.
    #[must_use]
    pub fn message(&self) -> String {
        let by = &self.by;
        match (&self.what, &self.difference) {
            (What::Created, Some(Difference { setting, to: Some(to), .. })) => format!("{by} made {setting} {to}"),
            (What::Created, _) => format!("{by} made it"),
            (What::Removed, _) => format!("{by} removed it"),
            (What::Changed, None) => format!("{by} changed it"),
            (What::Changed, Some(difference)) => format!("{by} changed {difference}"),
        }
    }
}

/// The changes of one engine: the reference that every backend is compared with.
#[derive(Clone, Debug, Default)]
pub struct Changes(BTreeMap<Subject, VecDeque<Changed>>);

impl Changes {
    /// These settings of `subject` were changed.
    pub fn changed(&mut self, subject: Subject, by: &Actor, differences: Vec<Difference>, now: Time) {
        for difference in differences {
            self.add(&subject, by, What::Changed, Some(difference), now);
        }
    }

    /// Something was done to `subject`.
    pub fn add(&mut self, subject: &Subject, by: &Actor, what: What, difference: Option<Difference>, at: Time) {
        let kept = self.0.entry(subject.clone()).or_default();
        kept.push_back(Changed { at, by: by.as_str().to_owned(), what, difference });
        if kept.len() > CHANGES_KEPT {
            kept.pop_front();
        }
    }

    /// What was changed about `subject`, oldest first.
    #[must_use]
    pub fn of(&self, subject: &Subject) -> Vec<Changed> {
        self.0.get(subject).map_or_else(Vec::new, |kept| kept.iter().cloned().collect())
    }

    /// Removes what is no longer kept, at most `max`.
    pub fn prune(&mut self, max: usize, now: Time) {
        let mut left = max;
        self.0.retain(|_, kept| {
            let past = kept.iter().take(left).take_while(|changed| changed.at.plus_ms(CHANGES_KEPT_MS) <= now).count();
            left -= past;
            kept.drain(..past);
            !kept.is_empty()
        });
    }
}
