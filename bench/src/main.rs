//! Tenure's benches: `cargo run --release -p tenure-bench -- <word>`.

mod domain;
mod pipeline;
mod queue;
mod size;
mod sync;

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("domain") => domain::run(args),
        Some("pipeline") => pipeline::run(args),
        Some("queue") => queue::run(args),
        Some("size") => size::run(args),
        Some("sync") => sync::run(args),
        _ => anyhow::bail!(
            "usage: {}\n       {}\n       {}\n       {}\n       {}",
            queue::USAGE.trim_end(),
            size::USAGE.trim_end(),
            domain::USAGE,
            sync::USAGE,
            pipeline::USAGE
        ),
    }
}
