//! What the holder of a unit writes: heartbeats and endings.

use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{Answers, at_opt, get, rounds, some_word, word};
use serde_json::{Value, json};
use tenure_core::LostReason;
use tenure_core::pipeline::{Act, Beat, Beaten, Ended, Ending, Record, Refusal, Status};
use tenure_core::retry::Retry;
use tenure_store::{Fenced, Result, StoreError};

pub(super) async fn heartbeat(store: &PostgresStore, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
    let mut answers = Answers::new(beats.len());
    for round in rounds(beats, |beat| beat.unit.clone()) {
        let asked: Value = round.iter().map(|(_, beat)| asked(beat)).collect();
        let sql = "select ord, lease_expires_at, lost from tenure.beat_units($1)";
        let rows = store.database.write(sql, &[&asked]).await?;
        answers.take(&round, &rows, |_, row| match at_opt(row, "lease_expires_at")? {
            Some(lease_expires_at) => Ok(Ok(Beaten { lease_expires_at })),
            None => some_word(row, "lost", LostReason::parse).map(Err),
        })?;
    }
    answers.all()
}

fn asked(beat: &Beat) -> Value {
    let record = beat.record.clone().map(|record| Record { token: beat.token, ..record }.encode());
    json!({
        "run": beat.unit.run.0,
        "stage": beat.unit.stage,
        "segment": beat.unit.segment.as_deref().unwrap_or(""),
        "owner": beat.owner,
        "token": beat.token.0,
        "progress": beat.progress,
        "record": record,
    })
}

pub(super) async fn finish(store: &PostgresStore, ending: Ending) -> Result<std::result::Result<Ended, Refusal>> {
    let Ending { unit, owner, token, act } = ending;
    let segment = unit.segment.as_deref().unwrap_or("");
    let verb = act.verb().as_str();
    let (mut output, mut record, mut error) = (None, None, None);
    let (mut never, mut delay, mut chance) = (None::<&str>, None::<i64>, None::<f64>);
    let (mut names, mut inputs): (Vec<String>, Vec<Option<String>>) = (Vec::new(), Vec::new());
    match act {
        Act::Complete { output: of, record: brought } => {
            output = of;
            record = brought.map(|record| Record { token, ..record }.encode());
        }
        Act::Fail { error: of, retry } => {
            error = Some(of);
            match retry {
                Retry::Never => never = Some("failed"),
                Retry::Cancel => never = Some("cancelled"),
                Retry::In { delay_ms } => delay = Some(delay_ms as i64),
                Retry::Policy { chance: of } | Retry::TimedOut { chance: of } => chance = Some(of),
            }
        }
        Act::Release => {}
        Act::Split { segments } => {
            (names, inputs) = segments.into_iter().map(|segment| (segment.name, segment.input)).unzip();
        }
    }
    let row = first(
        store
            .database
            .write(
                "select * from tenure.finish_unit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
                &[
                    &unit.run.0,
                    &unit.stage,
                    &segment,
                    &owner,
                    &token.0,
                    &verb,
                    &output,
                    &record,
                    &error,
                    &never,
                    &delay,
                    &chance,
                    &names,
                    &inputs,
                ],
            )
            .await?,
    )?;
    if let Some(reason) = word(&row, "lost", LostReason::parse)? {
        return Ok(Err(Refusal::Lost(reason)));
    }
    match get::<Option<&str>>(&row, "refused")? {
        Some("already_split") => return Ok(Err(Refusal::AlreadySplit)),
        Some("not_segmented") => return Ok(Err(Refusal::NotSegmented)),
        Some(other) => return Err(StoreError::broken(format!("refusal `{other}`"))),
        None => {}
    }
    let status = some_word(&row, "status", Status::parse)?;
    let already: bool = get(&row, "already")?;
    if !already {
        store.wake_pipelines(get::<Option<&str>>(&row, "pipeline")?, true);
    }
    Ok(Ok(Ended { status, already }))
}
