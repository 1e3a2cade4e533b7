//! Tenure's benches: `cargo run --release -p tenure-bench -- <word>`.

mod pipeline;
mod queue;
mod schema;

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("pipeline") => pipeline::run(args),
        Some("queue") => queue::run(args),
        Some("schema") => schema::run(args),
        _ => anyhow::bail!(
            "usage: tenure-bench schema [--jobs N] [--postgres URL] [--only TEXT]\n       {}\n       {}",
            pipeline::USAGE,
            queue::USAGE.trim_end()
        ),
    }
}
