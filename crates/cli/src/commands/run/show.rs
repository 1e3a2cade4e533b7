//! `tenure run show`: the graph of a run, a line for each stage, under what it waits for.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{Problem, pipeline, text, time};

/// Draw the graph of a run: states, holders, times, progress.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure run show 42")]
pub(crate) struct Show {
    /// The run's id, as `tenure pipeline start` printed it
    id: String,
}

impl Show {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let run = tenure.run(pipeline::run_id(&self.id)).await?;
        let run = run.ok_or_else(|| Problem::absent(&format!("run {}", self.id)))?;
        output.show(&pipeline::Run::whole(run), |output, run| {
            let paused = if run.paused { ", paused" } else { "" };
            output.line(&format!("run {} of {} version {}: {}{paused}", run.id, run.pipeline, run.version, run.status));
            let stages = run.stages.as_deref().unwrap_or_default();
            draw(stages).iter().for_each(|line| output.line(&text::escaped(line)));
        });
        Ok(())
    }
}

/// A line for each stage, indented below the longest way to it.
fn draw(stages: &[pipeline::Unit]) -> Vec<String> {
    let mut depths: Vec<usize> = vec![0; stages.len()];
    // Each round moves what waits below what it waits for; the graph has no cycle, so as many rounds as stages suffice.
    for _ in 0..stages.len() {
        for (i, stage) in stages.iter().enumerate() {
            let needs = stage.needs.iter().filter_map(|need| stages.iter().position(|of| of.name == *need));
            depths[i] = needs.map(|need| depths[need] + 1).max().unwrap_or(0);
        }
    }
    let mut order: Vec<usize> = (0..stages.len()).collect();
    order.sort_by_key(|i| depths[*i]);
    let line = |i: usize| {
        let stage = &stages[i];
        let lead = if depths[i] == 0 { String::new() } else { format!("{}└ ", "  ".repeat(depths[i] - 1)) };
        format!("{:<28} {}", format!("{lead}{}", stage.name), details(stage))
    };
    order.into_iter().map(line).collect()
}

fn details(stage: &pipeline::Unit) -> String {
    let mut parts = vec![format!("{:<7}", stage.status)];
    parts.extend(stage.reason.map(|reason| format!("({reason})")));
    parts.extend(stage.segments.as_ref().map(|of| format!("{}/{} segments", of.done, of.all)));
    parts.extend(stage.progress.as_ref().map(|progress| format!("progress {}", text::cut(progress.text(), 60))));
    if let (Some(worker), Some(until)) = (&stage.worker, stage.lease_expires_at) {
        parts.push(format!("held by {worker} until {}", time::show(until.0)));
    }
    parts.extend(stage.retry_at.map(|at| format!("again at {}", time::show(at.0))));
    if stage.attempt > 0 {
        parts.push(format!("attempt {}/{}", stage.attempt, stage.attempts_max));
    }
    parts.push(format!("since {}", time::show(stage.updated_at.0)));
    if !stage.needs.is_empty() {
        parts.push(format!("needs {}", stage.needs.join(", ")));
    }
    if stage.status == "ERROR" {
        parts.extend(stage.error.as_ref().map(|error| format!("error: {}", text::cut(error, 120))));
    }
    parts.join("  ")
}
