//! Finish: many endings in one statement, each answered on its own.

use crate::PostgresStore;
use crate::pool::Refused;
use crate::value::{Answers, get, rounds, some_word, word};
use tenure_core::LostReason;
use tenure_core::queue::{Act, Ended, Ending, Status};
use tenure_core::retry::Retry;
use tenure_store::{Fenced, Result};

/// `tenure.finish` reads this delay of a fail as "never again" …
const NEVER: i64 = -1;
/// … this as "by the backoff, it took too long" …
const TIMED_OUT: i64 = -2;
/// … and this as "never again, it is not wanted".
const CANCEL: i64 = -3;

/// Ends claims, and waits for hardly anything …
const SQL: &str = "select * from tenure.finish($1, $2, $3, $4, $5, $6, $7, $8)";
/// … or waits for whoever holds the job.
const SQL_PATIENT: &str = "select * from tenure.finish_patiently($1, $2, $3, $4, $5, $6, $7, $8)";

/// How often an ending that met another change of its job is judged anew.
const TRIES: u32 = 10;

pub(super) async fn finish(store: &PostgresStore, endings: Vec<Ending>) -> Result<Vec<Fenced<Ended>>> {
    let mut answers: Vec<Option<Fenced<Ended>>> = vec![None; endings.len()];
    for round in rounds(endings, |ending| ending.job) {
        if let Err(Refused::Busy(_)) = end(store, SQL, &round, &mut answers).await? {
            // One of them is held, perhaps by a user's transaction that stays open: only that one waits for it, after the
            // others have been ended.
            let mut held = Vec::new();
            for one in round.iter().map(std::slice::from_ref) {
                if round.len() == 1 || end(store, SQL, one, &mut answers).await?.is_err() {
                    held.push(one);
                }
            }
            for one in held {
                patiently(store, one, &mut answers).await?;
            }
        }
    }
    Answers(answers).all()
}

async fn patiently(
    store: &PostgresStore,
    one: &[(usize, Ending)],
    answers: &mut [Option<Fenced<Ended>>],
) -> Result<()> {
    let mut tries = 0;
    while let Err(refused) = end(store, SQL_PATIENT, one, answers).await? {
        tries += 1;
        if tries == TRIES {
            return Err(refused.into());
        }
    }
    Ok(())
}

/// Sends endings of different jobs in one statement; all are answered, or none was carried out.
async fn end(
    store: &PostgresStore,
    sql: &str,
    round: &[(usize, Ending)],
    answers: &mut [Option<Fenced<Ended>>],
) -> Result<std::result::Result<(), Refused>> {
    let jobs: Vec<i64> = round.iter().map(|(_, ending)| ending.job.0).collect();
    let owners: Vec<&str> = round.iter().map(|(_, ending)| ending.owner.as_str()).collect();
    let tokens: Vec<i64> = round.iter().map(|(_, ending)| ending.token.0).collect();
    let verbs: Vec<&str> = round.iter().map(|(_, ending)| ending.act.verb().as_str()).collect();
    let results: Vec<Option<&str>> = round.iter().map(|(_, ending)| result(&ending.act)).collect();
    let errors: Vec<Option<&str>> = round.iter().map(|(_, ending)| error(&ending.act)).collect();
    let delays: Vec<Option<i64>> = round.iter().map(|(_, ending)| delay_ms(&ending.act)).collect();
    let chances: Vec<Option<f64>> = round.iter().map(|(_, ending)| chance(&ending.act)).collect();
    let rows = match store
        .database
        .try_write(sql, &[&jobs, &owners, &tokens, &verbs, &results, &errors, &delays, &chances])
        .await?
    {
        Ok(rows) => rows,
        Err(refused) => return Ok(Err(refused)),
    };
    let mut wakes = Vec::new();
    for row in &rows {
        let ord = get::<i64>(row, "ord")? as usize - 1;
        let (i, _) = round[ord];
        answers[i] = Some(match word(row, "lost", LostReason::parse)? {
            Some(reason) => Err(reason),
            None => Ok(Ended { status: some_word(row, "status", Status::parse)?, already: get(row, "already")? }),
        });
        wakes.extend(get::<Option<&str>>(row, "wakes")?);
    }
    store.wake(wakes);
    Ok(Ok(()))
}

pub(crate) fn result(act: &Act) -> Option<&str> {
    match act {
        Act::Complete { result } => result.as_deref(),
        Act::Fail { .. } | Act::Snooze { .. } | Act::Release => None,
    }
}

pub(crate) fn error(act: &Act) -> Option<&str> {
    match act {
        Act::Fail { error, .. } => Some(error),
        Act::Complete { .. } | Act::Snooze { .. } | Act::Release => None,
    }
}

pub(crate) fn delay_ms(act: &Act) -> Option<i64> {
    match act {
        Act::Fail { retry: Retry::Never, .. } => Some(NEVER),
        Act::Fail { retry: Retry::TimedOut { .. }, .. } => Some(TIMED_OUT),
        Act::Fail { retry: Retry::Cancel, .. } => Some(CANCEL),
        Act::Fail { retry: Retry::In { delay_ms }, .. } | Act::Snooze { delay_ms } => Some(*delay_ms as i64),
        Act::Fail { retry: Retry::Policy { .. }, .. } | Act::Complete { .. } | Act::Release => None,
    }
}

pub(crate) fn chance(act: &Act) -> Option<f64> {
    match act {
        Act::Fail { retry: Retry::Policy { chance } | Retry::TimedOut { chance }, .. } => Some(*chance),
        Act::Fail { .. } | Act::Complete { .. } | Act::Snooze { .. } | Act::Release => None,
    }
}
