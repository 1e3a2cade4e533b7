//! `tenure pipeline`.

use super::{changes, found};
use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, Subcommand};
use std::io::Read;
use tenure::changes::{Face, Subject};
use tenure::pipeline::{Applied, NewRun};
use tenure::{Tenure, bounds};
use tenure_wire::pipeline::{reply, request};
use tenure_wire::{Kind, Problem};

/// Put pipelines on record and start runs of them.
#[derive(Debug, Subcommand)]
pub(crate) enum Pipeline {
    /// Put a version of a pipeline on record, from a TOML or JSON file
    Apply(Apply),
    /// List pipelines by name
    List(List),
    /// Start a run
    Start(Start),
    /// Show the stages of a pipeline
    Show(Show),
    /// Tell which versions of a pipeline were put on record, and by whom
    Timeline(Timeline),
}

impl Pipeline {
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Pipeline::List(_) | Pipeline::Show(_) | Pipeline::Timeline(_) => true,
            Pipeline::Apply(_) | Pipeline::Start(_) => false,
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Pipeline::Apply(apply) => apply.run(tenure, output).await,
            Pipeline::List(list) => list.run(tenure, output).await,
            Pipeline::Start(start) => start.run(tenure, output).await,
            Pipeline::Show(show) => show.run(tenure, output).await,
            Pipeline::Timeline(timeline) => timeline.run(tenure, output).await,
        }
    }
}

/// Put a version of a pipeline on record. The same graph again changes nothing; another graph needs a higher version.
#[derive(Debug, Args)]
#[command(after_help = "\
Example, video.toml:
  name = \"video\"
  version = 1
  [[stages]]
  name = \"fetch\"
  [[stages]]
  name = \"encode\"
  needs = [\"fetch\"]
  segmented = true
  lease_ms = 60000

  tenure pipeline apply video.toml")]
pub(crate) struct Apply {
    /// The definition, as TOML (*.toml) or JSON; `-` reads JSON from standard input
    file: String,
}

impl Apply {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let bytes = match self.file.as_str() {
            "-" => {
                let mut bytes = Vec::new();
                std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
            }
            file => std::fs::read(file),
        };
        let bytes = bytes.map_err(|error| Failure::unreadable(&self.file, &error))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Problem::new(Kind::Malformed, "not_utf8", format!("{} is not UTF-8", self.file)))?;
        let json = if self.file.ends_with(".toml") { from_toml(&text)? } else { text };
        let definition = request::APPLY.read(json.as_bytes(), ())?;
        let (name, version) = (definition.name.clone(), definition.version);
        let applied = tenure.verbs().apply_pipeline(definition).await?;
        let info = found(&format!("pipeline {name}"), tenure.verbs().pipeline(&name, Some(version)).await?)?;
        output.show(&reply::Pipeline::from(info), |output, pipeline| {
            output.line(&format!("{} {}", pipeline.name, pipeline.version));
            output.note(match applied {
                Applied::Created => "applied",
                Applied::Same => "this version was there already, with the same graph",
            });
        });
        Ok(())
    }
}

fn from_toml(text: &str) -> Result<String, Failure> {
    let value: serde_json::Value = toml::from_str(text).map_err(|error| {
        let place = error.span().map_or(String::new(), |span| {
            let before = &text[..span.start.min(text.len())];
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            format!(" at line {} column {column}", before.matches('\n').count() + 1)
        });
        let message = format!("the file is not valid TOML: {}{place}", error.message());
        Failure::from(Problem::new(Kind::Malformed, "toml_syntax", message))
    })?;
    Ok(value.to_string())
}

/// List pipelines by name, each with its highest version.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure pipeline list")]
pub(crate) struct List {
    /// Where an earlier page said that the next begins
    #[arg(long)]
    cursor: Option<String>,

    /// Pipelines in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let page = tenure.verbs().pipelines(self.cursor.as_deref(), self.limit).await?;
        output.show(&reply::Pipelines::from(page), |output, page| {
            let rows = page.pipelines.iter().map(|of| {
                [of.name.clone(), of.version.to_string(), of.stages.len().to_string(), of.created_at.to_string()]
            });
            output.table(["NAME", "VERSION", "STAGES", "APPLIED"], rows);
            output.more(&page.next_cursor);
        });
        Ok(())
    }
}

/// Start a run, and print its id. Its stages are made READY by an orchestrator: `tenure serve` runs one.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure pipeline start video '{\"file\":\"holiday.mov\"}'")]
pub(crate) struct Start {
    /// The pipeline
    name: String,

    /// What its first stages work on, as JSON
    #[arg(default_value = "null")]
    input: String,

    /// Under which version; default the highest
    #[arg(long)]
    version: Option<u32>,

    /// The same key and input is the same run, as long as it is kept
    #[arg(long)]
    key: Option<String>,
}

impl Start {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let new = NewRun { pipeline: self.name, version: self.version, input: self.input, key: self.key };
        let id = tenure.verbs().start_run(new).await?;
        let run = found(&format!("run {id}"), tenure.verbs().run(id).await?)?;
        output.show(&reply::Run::whole(run), |output, whole| output.line(&whole.run.id.to_string()));
        Ok(())
    }
}

/// Show the stages of a pipeline.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure pipeline show video --version 2")]
pub(crate) struct Show {
    /// The pipeline
    name: String,

    /// Which version; default the highest
    #[arg(long)]
    version: Option<u32>,
}

impl Show {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let info = tenure.verbs().pipeline(&self.name, self.version).await?;
        let which = self.version.map_or(String::new(), |version| format!(" in version {version}"));
        let info = found(&format!("pipeline {}{which}", self.name), info)?;
        output.show(&reply::Pipeline::from(info), |output, of| {
            let rows = of.stages.iter().map(|stage| {
                [
                    stage.name.clone(),
                    stage.needs.join(", "),
                    stage.lease_ms.to_string(),
                    stage.attempts_max.to_string(),
                    stage.priority.to_string(),
                    if stage.segmented { "yes" } else { "no" }.to_owned(),
                ]
            });
            output.table(["STAGE", "NEEDS", "LEASE MS", "ATTEMPTS", "PRIORITY", "SEGMENTED"], rows);
        });
        Ok(())
    }
}

/// Tell which versions of a pipeline were put on record, and by whom.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure pipeline timeline video")]
pub(crate) struct Timeline {
    /// The pipeline
    pipeline: String,
}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        changes::show(Subject::new(Face::Pipeline, self.pipeline), tenure, output).await
    }
}
