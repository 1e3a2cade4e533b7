//! Tenure's benches: `cargo run --release -p tenure-bench -- <word>`.

mod queue;
mod schema;
mod sync;

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("queue") => queue::run(args),
        Some("schema") => schema::run(args),
        Some("sync") => sync::run(args),
        _ => anyhow::bail!(
            "usage: tenure-bench schema [--jobs N] [--postgres URL] [--only TEXT]\n       {}\n       {}",
            sync::USAGE,
            queue::USAGE.trim_end()
        ),
    }
}
