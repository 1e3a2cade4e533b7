//! `tenure pipeline apply`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use std::io::Read;
use tenure::Tenure;
use tenure::pipeline::Applied;
use tenure_wire::{Body, Kind, Problem, pipeline};

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
        let definition = pipeline::definition(Body::parse(json.as_bytes())?)?;
        let (name, version) = (definition.name.clone(), definition.version);
        let applied = tenure.apply_pipeline(definition).await?;
        let info = tenure.pipeline(&name, Some(version)).await?;
        let info = info.ok_or_else(|| Problem::absent(&format!("pipeline {name}")))?;
        output.show(&pipeline::Pipeline::from(info), |output, pipeline| {
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
