//! `tenure man`.

use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, Command, CommandFactory};
use std::path::{Path, PathBuf};

/// Print the manual page, or write the pages of all commands into a folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure man | man -l -
  tenure man --out /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// Write one page for each command here
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let mut root = crate::Cli::command();
        root.build();
        let Some(folder) = &self.out else {
            output.line(String::from_utf8_lossy(&page(&root)?).trim_end());
            return Ok(());
        };
        std::fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
        let mut written = 0;
        write(folder, "tenure", &root, &mut written)?;
        output.note(&format!("{written} pages in {}", folder.display()));
        Ok(())
    }
}

/// The page of a command and of those below it: `tenure-job-list.1`.
fn write(folder: &Path, name: &str, command: &Command, written: &mut u32) -> Result<(), Failure> {
    let file = folder.join(format!("{name}.1"));
    std::fs::write(&file, page(command)?).map_err(|error| cannot(&file, &error))?;
    *written += 1;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        write(folder, &format!("{name}-{}", below.get_name()), below, written)?;
    }
    Ok(())
}

fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
    rendered.map_err(|error| Failure::unavailable(format!("cannot write the page: {error}")))?;
    Ok(page)
}

fn cannot(file: &Path, error: &std::io::Error) -> Failure {
    Failure::unavailable(format!("cannot write {}: {error}", file.display()))
}
