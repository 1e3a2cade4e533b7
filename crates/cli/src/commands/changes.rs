//! What was changed about settings, as every noun that has some shows it.

use crate::failure::Failure;
use crate::output::Output;
use tenure::Tenure;
use tenure::changes::{Face, Subject};
use tenure_wire::{Problem, reply, text, time};

/// Shows what was changed about `of`.
pub(super) async fn show(of: Subject, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    let absent = match of.face {
        Face::Store => "the store".to_owned(),
        Face::Queue | Face::Schedule | Face::Domain | Face::Pipeline => {
            format!("{} {}", of.face, text::cut(&of.name, 128))
        }
    };
    let changes = tenure.changes(of).await?.ok_or_else(|| Problem::absent(&absent))?;
    output.show(&reply::Changes::from(changes), |output, changes| {
        let rows = changes.events.iter();
        let rows = rows.map(|event| [time::show(event.at.0), event.what.to_owned(), event.message.clone()]);
        output.table(["AT", "WHAT", "MESSAGE"], rows);
    });
    Ok(())
}
