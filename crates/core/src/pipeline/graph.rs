//! What a pipeline is: named stages and their prerequisites.
//!
//! Always true of a checked definition: no stage twice, no unknown prerequisite, no cycle (P8).

use super::{STAGES_MAX, VERSION_MAX};
use crate::bounds::{self, Code, Invalid};
use crate::retry::Backoff;
use std::collections::{BTreeMap, BTreeSet};

/// A version of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// Which version; runs go on under theirs.
    pub version: u32,
    /// Its stages, in the order in which they are shown.
    pub stages: Vec<Stage>,
}

/// One stage of a pipeline.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = PipelineStage))]
pub struct Stage {
    /// Its name, unlike any other of the pipeline.
    pub name: String,
    /// The stages that must be `DONE` before it.
    pub needs: Vec<String>,
    /// How long a claim lasts unless renewed.
    pub lease_ms: u64,
    /// Attempts it may have; its split, its join and each segment have as many of their own.
    pub attempts_max: u32,
    /// Its own backoff.
    pub backoff: Option<Backoff>,
    /// Higher is claimed first.
    pub priority: i32,
    /// Whether its holder may split it.
    pub segmented: bool,
}

impl Stage {
    /// A stage without prerequisites, with the defaults.
    pub fn new(name: impl Into<String>) -> Stage {
        Stage {
            name: name.into(),
            needs: Vec::new(),
            lease_ms: bounds::LEASE_MS_DEFAULT,
            attempts_max: bounds::ATTEMPTS_DEFAULT,
            backoff: None,
            priority: 0,
            segmented: false,
        }
    }

    /// Not before these are `DONE`.
    #[must_use]
    pub fn needs<S: Into<String>>(mut self, needs: impl IntoIterator<Item = S>) -> Stage {
        self.needs = needs.into_iter().map(Into::into).collect();
        self
    }

    /// How long a claim lasts unless renewed.
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> Stage {
        self.lease_ms = lease_ms;
        self
    }

    /// Attempts it may have.
    #[must_use]
    pub fn attempts_max(mut self, attempts_max: u32) -> Stage {
        self.attempts_max = attempts_max;
        self
    }

    /// Its own backoff.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Stage {
        self.backoff = Some(backoff);
        self
    }

    /// Higher is claimed first.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Stage {
        self.priority = priority;
        self
    }

    /// Its holder may split it.
    #[must_use]
    pub fn segmented(mut self) -> Stage {
        self.segmented = true;
        self
    }
}

impl Definition {
    /// Version 1 of a pipeline without stages yet.
    pub fn new(name: impl Into<String>) -> Definition {
        Definition { name: name.into(), version: 1, stages: Vec::new() }
    }

    /// Which version it is.
    #[must_use]
    pub fn version(mut self, version: u32) -> Definition {
        self.version = version;
        self
    }

    /// With one more stage.
    #[must_use]
    pub fn stage(mut self, stage: Stage) -> Definition {
        self.stages.push(stage);
        self
    }

    /// The stage called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// Refuses what is out of bounds, and a graph that cannot be run (P8).
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::name("name", &self.name)?;
        bounds::within("version", self.version.into(), 1, VERSION_MAX)?;
        bounds::within("stages", self.stages.len() as u64, 1, STAGES_MAX)?;
        let mut names = BTreeSet::new();
        for (i, stage) in self.stages.iter().enumerate() {
            stage.check().map_err(|refused| refused.within(&format!("stages[{i}]")))?;
            if !names.insert(stage.name.as_str()) {
                let limit = "each stage once";
                return Err(Invalid::new(Code::OutOfBounds, format!("stages[{i}].name"), limit, &stage.name));
            }
        }
        for (i, stage) in self.stages.iter().enumerate() {
            let mut seen = BTreeSet::new();
            for need in &stage.needs {
                let field = format!("stages[{i}].needs");
                if !names.contains(need.as_str()) {
                    let limit = format!("stages of this pipeline; `{}` needs `{need}`, which is not one", stage.name);
                    return Err(Invalid::new(Code::OutOfBounds, field, limit, need));
                }
                if !seen.insert(need) {
                    return Err(Invalid::new(Code::OutOfBounds, field, "each prerequisite once", need));
                }
            }
        }
        match self.cycle() {
            None => Ok(()),
            Some(cycle) => {
                let limit = "no cycle: a stage must not wait for itself";
                Err(Invalid::new(Code::OutOfBounds, "stages", limit, cycle.join(" → ")))
            }
        }
    }

    /// Whether both describe the same graph, whatever the order in which it was written.
    #[must_use]
    pub fn same_graph(&self, other: &Definition) -> bool {
        let sorted = |of: &Definition| {
            let mut stages = of.stages.clone();
            stages.iter_mut().for_each(|stage| stage.needs.sort());
            stages.sort_by(|a, b| a.name.cmp(&b.name));
            stages
        };
        sorted(self) == sorted(other)
    }

    /// The stages as one text, as the databases keep them: a line for each.
    #[must_use]
    pub fn encode(&self) -> String {
        let line = |stage: &Stage| {
            let Stage { name, needs, lease_ms, attempts_max, backoff, priority, segmented } = stage;
            let backoff = backoff
                .map_or("-".to_owned(), |of| format!("{},{},{},{}", of.initial_ms, of.factor, of.max_ms, of.jitter));
            let needs = needs.join(",");
            format!("{name}\t{needs}\t{lease_ms}\t{attempts_max}\t{backoff}\t{priority}\t{segmented}\n")
        };
        self.stages.iter().map(line).collect()
    }

    /// Reads what [`encode`](Definition::encode) wrote.
    #[must_use]
    pub fn decode(name: &str, version: u32, text: &str) -> Option<Definition> {
        let stage = |line: &str| {
            let [name, needs, lease_ms, attempts_max, backoff, priority, segmented] =
                line.split('\t').collect::<Vec<_>>().try_into().ok()?;
            let backoff = match backoff {
                "-" => None,
                parts => {
                    let [initial_ms, factor, max_ms, jitter] = parts.split(',').collect::<Vec<_>>().try_into().ok()?;
                    Some(Backoff {
                        initial_ms: initial_ms.parse().ok()?,
                        factor: factor.parse().ok()?,
                        max_ms: max_ms.parse().ok()?,
                        jitter: jitter.parse().ok()?,
                    })
                }
            };
            Some(Stage {
                name: name.to_owned(),
                needs: needs.split(',').filter(|need| !need.is_empty()).map(str::to_owned).collect(),
                lease_ms: lease_ms.parse().ok()?,
                attempts_max: attempts_max.parse().ok()?,
                backoff,
                priority: priority.parse().ok()?,
                segmented: segmented.parse().ok()?,
            })
        };
        let stages = text.lines().map(stage).collect::<Option<_>>()?;
        Some(Definition { name: name.to_owned(), version, stages })
    }

    /// The stages of a cycle, the first of them again at the end.
    fn cycle(&self) -> Option<Vec<String>> {
        let needs: BTreeMap<&str, &[String]> =
            self.stages.iter().map(|stage| (stage.name.as_str(), stage.needs.as_slice())).collect();
        // What can be run is taken away, each prerequisite looked at once; what is left waits for itself.
        let mut left: BTreeSet<&str> = needs.keys().copied().collect();
        let mut open: BTreeMap<&str, usize> = needs.iter().map(|(name, needs)| (*name, needs.len())).collect();
        let mut waiting: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, needs) in &needs {
            needs.iter().for_each(|need| waiting.entry(need).or_default().push(name));
        }
        let mut free: Vec<&str> = left.iter().copied().filter(|name| open[name] == 0).collect();
        while let Some(name) = free.pop() {
            left.remove(name);
            for next in waiting.remove(name).unwrap_or_default() {
                let still = open.entry(next).or_default();
                *still -= 1;
                if *still == 0 {
                    free.push(next);
                }
            }
        }
        let mut at = *left.first()?;
        let mut path: Vec<&str> = Vec::new();
        while !path.contains(&at) {
            path.push(at);
            at = needs[at].iter().map(String::as_str).find(|need| left.contains(need)).unwrap_or(at);
        }
        let begin = path.iter().position(|name| *name == at).unwrap_or(0);
        let cycle = path[begin..].iter().copied().chain([at]);
        Some(cycle.map(str::to_owned).collect())
    }
}

impl Stage {
    fn check(&self) -> Result<(), Invalid> {
        bounds::name("name", &self.name)?;
        bounds::within("lease_ms", self.lease_ms, bounds::LEASE_MS.0, bounds::LEASE_MS.1)?;
        bounds::within("attempts_max", self.attempts_max.into(), 1, bounds::ATTEMPTS_MAX)?;
        bounds::within("needs", self.needs.len() as u64, 0, STAGES_MAX)?;
        for need in &self.needs {
            bounds::name("needs", need)?;
        }
        self.backoff.map_or(Ok(()), |backoff| backoff.check())
    }
}

/// The stages that wait for one of `of`, directly or not; `of` themselves are not among them. `stages` are names and
/// their prerequisites.
#[must_use]
pub fn downstream<'a>(stages: &'a [(String, Vec<String>)], of: &BTreeSet<&str>) -> BTreeSet<&'a str> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    loop {
        let waits =
            |needs: &[String]| needs.iter().any(|need| of.contains(need.as_str()) || found.contains(need.as_str()));
        let more: Vec<&str> = stages
            .iter()
            .filter(|(name, needs)| !of.contains(name.as_str()) && !found.contains(name.as_str()) && waits(needs))
            .map(|(name, _)| name.as_str())
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(stages: Vec<Stage>) -> String {
        Definition { stages, ..Definition::new("p") }.check().unwrap_err().to_string()
    }

    #[test]
    fn p8_a_cycle_is_refused_and_named() {
        let told = refused(vec![
            Stage::new("a"),
            Stage::new("b").needs(["a", "d"]),
            Stage::new("c").needs(["b"]),
            Stage::new("d").needs(["c"]),
        ]);
        assert!(told.contains("b → d → c → b"), "{told}");
        assert!(refused(vec![Stage::new("a").needs(["a"])]).contains("a → a"));
    }

    #[test]
    fn p8_a_thousand_stages_that_all_need_those_before_them_are_looked_at_once_each() {
        let name = |n: usize| format!("s{n}");
        let stages = (0..1_000).map(|n| Stage::new(name(n)).needs((0..n).map(name)));
        let whole = Definition { stages: stages.collect(), ..Definition::new("p") };
        assert_eq!(whole.check(), Ok(()));
    }

    #[test]
    fn p8_an_unknown_prerequisite_is_refused_and_named() {
        let told = refused(vec![Stage::new("a").needs(["zebra"])]);
        assert!(told.contains("`a` needs `zebra`") && told.contains("stages[0].needs"), "{told}");
    }

    #[test]
    fn p8_a_duplicate_name_is_refused_and_named() {
        let told = refused(vec![Stage::new("a"), Stage::new("a")]);
        assert!(told.contains("stages[1].name") && told.contains('a'), "{told}");
    }

    #[test]
    fn the_same_graph_in_another_order_is_the_same() {
        let one = Definition::new("p").stage(Stage::new("a")).stage(Stage::new("b").needs(["a"]));
        let other = Definition::new("p").stage(Stage::new("b").needs(["a"])).stage(Stage::new("a"));
        assert!(one.same_graph(&other));
        assert!(!one.same_graph(&Definition::new("p").stage(Stage::new("a")).stage(Stage::new("b"))));
    }

    #[test]
    fn a_definition_is_read_as_it_was_written() {
        let backoff = Backoff { initial_ms: 5, factor: 1.25, max_ms: 90, jitter: 0.1 };
        let last = Stage::new("b").needs(["a", "c"]).segmented().priority(-3).backoff(backoff).lease_ms(200);
        let definition = Definition::new("p").version(7).stage(Stage::new("a")).stage(Stage::new("c")).stage(last);
        assert_eq!(Definition::decode("p", 7, &definition.encode()), Some(definition));
    }

    #[test]
    fn downstream_is_transitive_and_without_its_beginning() {
        let needs = |name: &str, of: &[&str]| (name.to_owned(), of.iter().map(|need| need.to_string()).collect());
        let stages =
            [needs("a", &[]), needs("b", &["a"]), needs("c", &["b"]), needs("d", &[]), needs("e", &["c", "d"])];
        let found = downstream(&stages, &BTreeSet::from(["b"]));
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["c", "e"]);
    }
}
