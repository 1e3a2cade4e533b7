//! `cargo xtask soak`: the stress of the queue on PostgreSQL, for as long as one likes.
//!
//! The stress is a test of `tenure-postgres`, which starts a server of its own; here its length, clients and seed are
//! chosen. It prints the seed first, then its progress, and at the end what was done, what was found, and how to repeat it.

use crate::Failure;
use crate::cargo::{cargo, run as run_command};

const TEST: &str = "stress::the_queue_keeps_its_contract_under_a_stress_of_any_seed";

/// The options, and the variables by which the test knows them.
const OPTIONS: [(&str, &str); 3] =
    [("--seconds", "TENURE_STRESS_SECONDS"), ("--clients", "TENURE_STRESS_CLIENTS"), ("--seed", "TENURE_STRESS_SEED")];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut command = cargo(["test", "--locked", "--package", "tenure-postgres", "--test", "it", "--"]);
    command.args(["--exact", TEST, "--nocapture"]);
    for (variable, number) in chosen(arguments)? {
        command.env(variable, number.to_string());
    }
    run_command(&mut command)
}

/// The variables for `arguments`. Without `--seconds` it lasts ten minutes: some races take that long to meet.
fn chosen(arguments: &[String]) -> Result<Vec<(&'static str, u64)>, Failure> {
    let mut chosen = vec![("TENURE_STRESS_SECONDS", 600)];
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let names: Vec<&str> = OPTIONS.iter().map(|(option, _)| *option).collect();
        let (option, variable) =
            OPTIONS.iter().find(|(option, _)| option == argument).ok_or_else(|| Failure::usage(argument, &names))?;
        let number = rest.next().and_then(|number| number.parse().ok());
        let number = number.ok_or_else(|| Failure::Usage { problem: format!("`{option}` takes a number") })?;
        chosen.push((*variable, number));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_soak_is_chosen_by_its_options() {
        assert_eq!(chosen(&[]).unwrap(), [("TENURE_STRESS_SECONDS", 600)]);
        let chosen = chosen(&words("--seconds 60 --seed 7")).unwrap();
        assert_eq!(chosen.last(), Some(&("TENURE_STRESS_SEED", 7)));
        assert!(chosen.contains(&("TENURE_STRESS_SECONDS", 60)));
    }

    #[test]
    fn what_is_no_option_or_no_number_is_refused() {
        for text in ["--minutes 3", "--seed", "--seed x"] {
            assert!(matches!(chosen(&words(text)), Err(Failure::Usage { .. })), "{text}");
        }
    }
}
