//! `tenure completions`.

use crate::output::Output;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure completions bash > /etc/bash_completion.d/tenure
  tenure completions zsh > \"${fpath[1]}/_tenure\"
  tenure completions fish > ~/.config/fish/completions/tenure.fish")]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, output: &Output) {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Cli::command(), "tenure", &mut script);
        output.line(String::from_utf8_lossy(&script).trim_end());
    }
}
