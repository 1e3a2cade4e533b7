//! The examples run, and what the README shows of them is what they say.

#[path = "../examples/first_job.rs"]
mod first_job;
#[path = "../examples/order.rs"]
mod order;
#[path = "../examples/shared_lease.rs"]
mod shared_lease;
#[path = "../examples/stale_writer.rs"]
mod stale_writer;
#[path = "../examples/worker.rs"]
mod worker;

#[test]
fn a_first_job_is_completed_once() -> tenure::Result<()> {
    first_job::main()
}

#[test]
fn a_stale_writer_is_refused() -> tenure::Result<()> {
    stale_writer::main()
}

#[test]
fn a_worker_runs_a_typed_job() -> tenure::Result<()> {
    worker::main()
}

#[test]
fn prefetched_neighbours_keep_their_attempts() -> tenure::Result<()> {
    shared_lease::main()
}

#[test]
fn an_order_and_its_job_are_committed_together() -> Result<(), Box<dyn std::error::Error>> {
    order::main()
}

#[test]
fn the_readme_shows_the_worker_as_it_is() {
    let readme = include_str!("../../../README.md");
    let example = include_str!("../examples/worker.rs");
    let (_, shown) = readme.split_once("```rust\n").expect("the README shows some Rust");
    let (shown, _) = shown.split_once("```").expect("and its block ends");
    let mut lines = example.lines().map(str::trim);
    for line in shown.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert!(lines.any(|known| known == line), "not in worker.rs, or not in this order: {line}");
    }
}
