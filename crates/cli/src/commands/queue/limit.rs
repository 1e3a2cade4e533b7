//! `tenure queue limit`.

use crate::commands::{found, named};
use crate::failure::Failure;
use crate::output::Output;
use crate::span;
use clap::Args;
use tenure::{Change, LaneOnFailure, Rate, Tenure};
use tenure_wire::queue::reply;

/// Limit what runs of a queue, or without a queue in the whole engine; without a flag, show the limits.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure queue limit images --max-running 16 --per-key 2
  tenure queue limit mail --rate 100/s --rate-per-key 10/1m30s
  tenure queue limit mail --rate none --retention default
  tenure queue limit --max-running 200

A limit binds claims that begin after it. Lowering one takes nothing away: it stops new claims until fewer run.")]
pub(crate) struct Limit {
    /// The queue; the whole engine if left out
    queue: Option<String>,

    /// At most so many jobs running; or none
    #[arg(long, value_name = "N|none", value_parser = limit)]
    max_running: Option<Given<u32>>,

    /// At most so many jobs running for each limit key; or none
    #[arg(long, value_name = "N|none", value_parser = limit, requires = "queue")]
    per_key: Option<Given<u32>>,

    /// Claims in each period, such as 100/s, 50/m or 500/10s; or none
    #[arg(long, value_name = "N/PERIOD|none", value_parser = rate, requires = "queue")]
    rate: Option<Given<Rate>>,

    /// Claims of each limit key in each period; or none
    #[arg(long, value_name = "N/PERIOD|none", value_parser = rate, requires = "queue")]
    rate_per_key: Option<Given<Rate>>,

    /// How long finished jobs are kept, such as 7d; 0 is not at all; or default
    #[arg(long, value_name = "SPAN|default", value_parser = retention, requires = "queue")]
    retention: Option<Given<u64>>,

    /// What the jobs of an ordering key do after one failed for good: continue or block
    #[arg(long, value_name = "continue|block", value_parser = lane, requires = "queue")]
    lane_on_failure: Option<LaneOnFailure>,
}

/// A value, or the word that unsets it. (Not an `Option`, which clap would read as a flag that may be left out.)
#[derive(Clone, Copy, Debug, PartialEq)]
struct Given<T>(Option<T>);

impl Limit {
    pub(super) fn only_reads(&self) -> bool {
        self.change() == Change::default()
    }

    /// What was said to be set.
    fn change(&self) -> Change {
        let given = |set: Option<Given<u32>>| set.map(|Given(limit)| limit);
        Change {
            paused: None,
            max_running: given(self.max_running),
            max_running_per_key: given(self.per_key),
            lane_on_failure: self.lane_on_failure.map(Some),
            retention_ms: self.retention.map(|Given(ms)| ms),
            rate_limit: self.rate.map(|Given(rate)| rate),
            rate_limit_per_key: self.rate_per_key.map(|Given(rate)| rate),
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let change = self.change();
        let Some(queue) = self.queue else {
            if let Some(Given(max_running)) = self.max_running {
                tenure.verbs().set_limit(max_running).await?;
            }
            let limits = reply::Limits { max_running: tenure.verbs().limit().await? };
            output.show(&limits, |output, limits| {
                let limit = limits.max_running.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
                output.line(&format!("{:<20}  {limit}", "max_running"));
            });
            return Ok(());
        };
        if change != Change::default() {
            return super::change(tenure, output, &queue, change).await;
        }
        let queue = found(&named("queue", &queue), tenure.verbs().queue(&queue).await?)?;
        output.show(&reply::Queue::from(queue), super::settings);
        Ok(())
    }
}

fn limit(text: &str) -> Result<Given<u32>, String> {
    if text == "none" {
        return Ok(Given(None));
    }
    text.parse().map(|limit| Given(Some(limit))).map_err(|_| "use a whole number, or none".to_owned())
}

fn rate(text: &str) -> Result<Given<Rate>, String> {
    if text == "none" {
        return Ok(Given(None));
    }
    let wrong = || "use claims in a period, such as 100/s, 50/m or 500/10s; or none".to_owned();
    let (max, period) = text.split_once('/').ok_or_else(wrong)?;
    // `100/s` is `100/1s`.
    let period =
        if period.starts_with(|c: char| c.is_ascii_digit()) { period.to_owned() } else { format!("1{period}") };
    let max = max.parse().map_err(|_| wrong())?;
    Ok(Given(Some(Rate { max, period_ms: span::ms(&period).map_err(|_| wrong())? })))
}

/// A rate as [`rate`] reads it.
pub(super) fn show_rate(rate: Rate) -> String {
    let period = span::show(rate.period_ms);
    let period = if matches!(period.as_str(), "1s" | "1m" | "1h" | "1d") { &period[1..] } else { &period };
    format!("{}/{period}", rate.max)
}

fn retention(text: &str) -> Result<Given<u64>, String> {
    match text {
        "default" => Ok(Given(None)),
        "0" => Ok(Given(Some(0))),
        span => span::ms(span).map(|ms| Given(Some(ms))).map_err(|wrong| format!("{wrong}; or 0, or default")),
    }
}

fn lane(text: &str) -> Result<LaneOnFailure, String> {
    LaneOnFailure::parse(text).ok_or_else(|| "use continue or block".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_and_shown_as_people_write_it() {
        for (text, max, period_ms, shown) in [
            ("100/s", 100, 1_000, "100/s"),
            ("50/1m", 50, 60_000, "50/m"),
            ("500/10s", 500, 10_000, "500/10s"),
            ("7/1m30s", 7, 90_000, "7/90s"),
            ("1/d", 1, 86_400_000, "1/d"),
            ("3/250ms", 3, 250, "3/250ms"),
        ] {
            assert_eq!(rate(text), Ok(Given(Some(Rate { max, period_ms }))), "{text}");
            assert_eq!(show_rate(Rate { max, period_ms }), shown);
        }
        assert_eq!(rate("none"), Ok(Given(None)));
        for bad in ["", "100", "100/", "/s", "-1/s", "1.5/s", "100/parsec", "100/s/s"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_word_unsets_a_limit() {
        assert_eq!((limit("none"), limit("3")), (Ok(Given(None)), Ok(Given(Some(3)))));
        assert_eq!((retention("default"), retention("0")), (Ok(Given(None)), Ok(Given(Some(0)))));
        assert_eq!(retention("7d"), Ok(Given(Some(604_800_000))));
        assert!(limit("-1").is_err() && retention("7").is_err() && lane("stop").is_err());
    }
}
