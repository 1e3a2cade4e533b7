//! Why a command did not do what was asked, and the exit code that says so to scripts.

use crate::secrecy;
use std::process::ExitCode;
use tenure::Address;
use tenure_server::ServeError;
use tenure_wire::{Kind, Problem, text};

/// A command that was not carried out.
#[derive(Debug)]
pub(crate) struct Failure {
    problem: Problem,
    exit: u8,
}

impl Failure {
    /// Something outside does not answer.
    pub(crate) fn unavailable(message: impl Into<String>) -> Failure {
        Failure { problem: Problem::new(Kind::Unavailable, "unavailable", message), exit: 69 }
    }

    /// The command line is wrong in a way that only we can tell.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure { problem: Problem::new(Kind::Invalid, "usage", message), exit: 2 }
    }

    /// The person at the terminal said no.
    pub(crate) fn declined() -> Failure {
        Failure { problem: Problem::new(Kind::Denied, "declined", "nothing was changed"), exit: 1 }
    }

    /// Somebody stopped it half-way.
    pub(crate) fn stopped() -> Failure {
        Failure { problem: Problem::new(Kind::Denied, "stopped", "stopped half-way"), exit: 1 }
    }

    /// The doctor found what breaks a promise.
    pub(crate) fn unwell() -> Failure {
        let message = "a promise does not hold on this store: see what is `wrong`";
        Failure { problem: Problem::new(Kind::Broken, "unwell", message), exit: 1 }
    }

    /// Artifacts are not what was recorded of them.
    pub(crate) fn artifacts(damaged: usize, unreadable: usize) -> Failure {
        let of = |count: usize| if count == 1 { "artifact" } else { "artifacts" };
        let damage = format!(
            "{damaged} {} missing or corrupt; --repair has what is missing or corrupt made again once the run has ended",
            of(damaged)
        );
        let unread = format!("{unreadable} {} unreadable: see why", of(unreadable));
        let message = match (damaged, unreadable) {
            (_, 0) => damage,
            (0, _) => unread,
            _ => format!("{unread}; {damage}"),
        };
        Failure { problem: Problem::new(Kind::Conflict, "artifacts_damaged", message), exit: 65 }
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(file: &str, error: &std::io::Error) -> Failure {
        Failure { problem: Problem::new(Kind::Absent, "not_found", format!("cannot read {file}: {error}")), exit: 66 }
    }

    /// Something that is not there.
    pub(crate) fn missing(message: impl Into<String>) -> Failure {
        Failure { problem: Problem::new(Kind::Absent, "not_found", message), exit: 66 }
    }

    /// Something that may not be used so.
    pub(crate) fn not_allowed(message: impl Into<String>) -> Failure {
        Failure { problem: Problem::new(Kind::Denied, "not_allowed", message), exit: 77 }
    }

    /// The store at `address` cannot be opened.
    pub(crate) fn opening(address: &Address, error: tenure::Error) -> Failure {
        let mut failure = Failure::from(error);
        let said = failure.problem.detail.take().unwrap_or_else(|| failure.problem.message.clone());
        failure.problem.message = format!("cannot open {address}: {said}");
        failure
    }

    /// With what was being done, in front.
    pub(crate) fn while_doing(mut self, what: &str) -> Failure {
        self.problem.message = format!("{what}: {}", self.said());
        self.problem.detail = None;
        self
    }

    /// The code for the shell.
    pub(crate) fn exit(&self) -> ExitCode {
        ExitCode::from(self.exit)
    }

    /// One line for people, without control characters.
    pub(crate) fn line(&self) -> String {
        text::escaped(&secrecy::hidden(self.said()))
    }

    /// `{"error": {…}}`, for programs.
    pub(crate) fn json(&self) -> String {
        let mut problem = Problem { message: secrecy::hidden(self.said()), ..self.problem.clone() };
        for (_, fact) in &mut problem.facts {
            if let Some(told) = fact.as_str() {
                *fact = secrecy::hidden(told).into();
            }
        }
        text::escaped_json(&problem.to_json().to_string())
    }

    /// Here the caller is the store's operator: what the store said is for their eyes.
    fn said(&self) -> &str {
        self.problem.detail.as_deref().unwrap_or(&self.problem.message)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        let exit = match problem.kind {
            Kind::Malformed | Kind::Invalid | Kind::TooLarge | Kind::LeaseLost | Kind::Conflict => 65,
            Kind::Absent | Kind::NoStore => 66,
            Kind::UnknownOutcome => 75,
            Kind::Denied => 77,
            Kind::Address => 2,
            Kind::Schema | Kind::Unavailable | Kind::Full | Kind::Broken => 69,
        };
        Failure { problem, exit }
    }
}

impl From<tenure::Error> for Failure {
    fn from(error: tenure::Error) -> Failure {
        Problem::from(error).into()
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Failure {
        let exit = if matches!(error, ServeError::NotLoopback(_)) { 77 } else { 69 };
        let code = if exit == 77 { "not_allowed" } else { "unavailable" };
        Failure { problem: Problem::new(Kind::Denied, code, error.to_string()), exit }
    }
}
