//! Looking at pipelines, runs and units.

use super::super::request::{Filter, History};
use super::super::unit::{PipelineInfo, Run, RunId, SegmentCounts, StageInfo, Unit};
use super::Pipelines;
use crate::page::Page;
use std::collections::BTreeSet;

impl Pipelines {
    /// A version of a pipeline; the highest unless named.
    #[must_use]
    pub fn pipeline(&self, name: &str, version: Option<u32>) -> Option<PipelineInfo> {
        let low = version.unwrap_or(0);
        let high = version.unwrap_or(u32::MAX);
        let found = self.definitions.range((name.to_owned(), low)..=(name.to_owned(), high)).next_back();
        found.map(|(_, (definition, at))| PipelineInfo { definition: definition.clone(), created_at: *at })
    }

    /// The highest version of each pipeline, by name, from after `after`.
    #[must_use]
    pub fn pipelines(&self, after: Option<&str>, limit: usize) -> Page<PipelineInfo> {
        let names: BTreeSet<&String> = self.definitions.keys().map(|(name, _)| name).collect();
        let names = names.into_iter().filter(|name| after.is_none_or(|after| name.as_str() > after));
        Page::cut(names.filter_map(|name| self.pipeline(name, None)), limit)
    }

    /// One run.
    #[must_use]
    pub fn run(&self, id: RunId) -> Option<Run> {
        self.runs.get(&id).map(|row| row.run.clone())
    }

    /// The stages of a run, in the order of its definition.
    #[must_use]
    pub fn stages(&self, id: RunId) -> Vec<StageInfo> {
        let stages = self.runs.get(&id).into_iter().flat_map(|row| &row.stages);
        stages
            .map(|stage| {
                let mut segments = SegmentCounts::default();
                let of = self.segments.get(stage).into_iter().flat_map(|of| &of.ids);
                of.for_each(|id| segments.add(self.units[id].status, 1));
                StageInfo { unit: self.units[stage].clone(), segments }
            })
            .collect()
    }

    /// The segments of a stage in the order of the split, from after the one with the number `after`.
    #[must_use]
    pub fn segments(&self, id: RunId, stage: &str, after: Option<i64>, limit: usize) -> Page<Unit> {
        let of = self.stage(id, stage).and_then(|stage| self.segments.get(&stage.id));
        let ids = of.map(|of| of.ids.as_slice()).unwrap_or_default();
        let ids = ids.iter().filter(|id| after.is_none_or(|after| **id > after));
        Page::cut(ids.map(|id| self.units[id].clone()), limit)
    }

    /// Runs that match, newest first, from below `before`.
    #[must_use]
    pub fn runs(&self, filter: &Filter, before: Option<RunId>, limit: usize) -> Page<Run> {
        let matches = |run: &&Run| {
            filter.pipeline.as_ref().is_none_or(|pipeline| run.pipeline == *pipeline)
                && filter.status.is_none_or(|status| run.status == status)
        };
        let runs = self.runs.range(..before.unwrap_or(RunId(i64::MAX))).rev().map(|(_, row)| &row.run);
        let runs = runs.filter(matches);
        Page::cut(runs.cloned(), limit)
    }

    /// What is remembered of a run's past: the last `limit` claims and events.
    #[must_use]
    pub fn history(&self, id: RunId, limit: usize) -> History {
        let attempts: Vec<_> = self.attempts.get(&id).into_iter().flat_map(|of| of.values()).cloned().collect();
        let events: Vec<_> = self.events.get(&id).cloned().unwrap_or_default();
        let last = |len: usize| len.saturating_sub(limit);
        History { attempts: attempts[last(attempts.len())..].to_vec(), events: events[last(events.len())..].to_vec() }
    }
}
