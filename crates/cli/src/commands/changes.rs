//! What was changed about settings, as every noun that has some shows it.

use crate::failure::Failure;
use crate::output::Output;
use tenure::Tenure;
use tenure::changes::{Face, Subject};
use tenure_wire::reply::Changes;
use tenure_wire::{Problem, text};

/// Shows what was changed about `of`.
pub(super) async fn show(of: Subject, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    let absent = match of.face {
        Face::Store => "the store".to_owned(),
        Face::Queue | Face::Schedule | Face::Domain | Face::Pipeline => {
            format!("{} {}", of.face, text::cut(&of.name, 128))
        }
    };
    let changes = tenure.verbs().changes(of).await?.ok_or_else(|| Problem::absent(&absent))?;
    output.show(&Changes::from(changes), |output, changes| {
        output.events(changes.events.iter().map(|event| (event.at, event.what.as_str(), &event.message)));
    });
    Ok(())
}
