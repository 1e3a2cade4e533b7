//! `tenure run show`: the graph of a run, a line for each stage, under what it waits for.

use crate::commands::found;
use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use std::collections::HashMap;
use tenure::Tenure;
use tenure::pipeline::Status;
use tenure::serial::raw;
use tenure_wire::pipeline::reply::{Run, Unit};
use tenure_wire::pipeline::request::run_id;
use tenure_wire::text;

/// The widest column of names; what is longer pushes its line aside.
const NAMES_MAX: usize = 48;

/// Draw the graph of a run: states, holders, times, progress.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure run show 42")]
pub(crate) struct Show {
    /// The run's id, as `tenure pipeline start` printed it
    id: String,
}

impl Show {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let run = found(&format!("run {}", self.id), tenure.verbs().run(run_id(&self.id)).await?)?;
        output.show(&Run::whole(run), |output, whole| {
            let run = &whole.run;
            let paused = if run.paused { ", paused" } else { "" };
            output.line(&format!("run {} of {} version {}: {}{paused}", run.id, run.pipeline, run.version, run.status));
            let stages = whole.stages.as_deref().unwrap_or_default();
            draw(stages).iter().for_each(|line| output.line(&text::escaped(line)));
        });
        Ok(())
    }
}

/// A line for each stage, drawn below the one of its prerequisites that comes last; `needs` names the others. A stage that
/// is alone below another follows it in the same column.
fn draw(stages: &[Unit]) -> Vec<String> {
    let places: HashMap<&str, usize> = stages.iter().enumerate().map(|(i, stage)| (stage.name.as_str(), i)).collect();
    let needs: Vec<Vec<usize>> = stages
        .iter()
        .map(|stage| stage.needs.iter().filter_map(|need| places.get(need.as_str()).copied()).collect())
        .collect();
    let depths = depths(&needs);
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); stages.len()];
    let mut first = Vec::new();
    for (i, needs) in needs.iter().enumerate() {
        match needs.iter().copied().max_by_key(|need| depths[*need]) {
            Some(last) => below[last].push(i),
            None => first.push(i),
        }
    }
    // What is drawn next is at the end: the lead of a stage, that of what comes below it, and which it is.
    let mut next: Vec<(String, String, usize)> =
        first.iter().rev().map(|i| (String::new(), String::new(), *i)).collect();
    let mut drawn = Vec::with_capacity(stages.len());
    while let Some((lead, under, i)) = next.pop() {
        drawn.push((format!("{lead}{}", stages[i].name), i));
        let below = &below[i];
        for (n, of) in below.iter().enumerate().rev() {
            let (branch, trunk) = match (below.len(), n + 1 == below.len()) {
                (1, _) => ("↓ ", ""),
                (_, false) => ("├─ ", "│  "),
                (_, true) => ("└─ ", "   "),
            };
            next.push((format!("{under}{branch}"), format!("{under}{trunk}"), *of));
        }
    }
    let width = drawn.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(NAMES_MAX);
    drawn.into_iter().map(|(name, i)| format!("{name:<width$}  {}", details(&stages[i]))).collect()
}

/// The length of the longest way to each stage. The graph has no cycle.
fn depths(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    let mut open: Vec<usize> = needs.iter().map(Vec::len).collect();
    needs.iter().enumerate().for_each(|(i, needs)| needs.iter().for_each(|need| after[*need].push(i)));
    let mut depths = vec![0; needs.len()];
    let mut ready: Vec<usize> = (0..needs.len()).filter(|i| open[*i] == 0).collect();
    while let Some(i) = ready.pop() {
        for &of in &after[i] {
            depths[of] = depths[of].max(depths[i] + 1);
            open[of] -= 1;
            if open[of] == 0 {
                ready.push(of);
            }
        }
    }
    depths
}

fn details(stage: &Unit) -> String {
    let mut parts = vec![format!("{:<7}", stage.status.as_str())];
    parts.extend(stage.reason.map(|reason| format!("({reason})")));
    parts.extend(stage.segments.as_ref().map(|of| format!("{}/{} segments", of.done, of.all)));
    parts.extend(stage.progress.as_ref().map(|progress| format!("progress {}", text::cut(raw::shown(progress), 60))));
    if let (Some(worker), Some(until)) = (&stage.worker, stage.lease_expires_at) {
        parts.push(format!("held by {worker} until {}", until));
    }
    parts.extend(stage.retry_at.map(|at| format!("again at {}", at)));
    if stage.attempt > 0 {
        parts.push(format!("attempt {}/{}", stage.attempt, stage.attempts_max));
    }
    parts.push(format!("since {}", stage.updated_at));
    if !stage.needs.is_empty() {
        parts.push(format!("needs {}", stage.needs.join(", ")));
    }
    if stage.status == Status::Error {
        parts.extend(stage.error.as_ref().map(|error| format!("error: {}", text::cut(error, 120))));
    }
    parts.join("  ")
}
