//! The workers' verbs: claim, heartbeat, finish.

use super::row;
use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{at, at_opt, get, in_order, rounds, some_word, word};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tenure_core::pipeline::{
    Act, Beat, Beaten, Claim, ClaimedUnit, Claims, Ended, Ending, RECOVERED_PER_CLAIM, Record, Refusal, RunId, Status,
    compose_input,
};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Token};
use tenure_store::{Fenced, Result, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

pub(super) async fn claim(store: &PostgresStore, claim: Claim) -> Result<Option<Claims>> {
    let stages: Vec<&str> = claim.stages.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
    let (max, lease_ms) = (claim.max as i32, claim.lease_ms.map(|ms| ms as i64));
    let recover = RECOVERED_PER_CLAIM as i32;
    let rows = store
        .database
        .write(
            "select * from tenure.claim_units($1, $2, $3, $4, $5, $6)",
            &[
                (&claim.pipeline, Type::TEXT),
                (&stages, Type::TEXT_ARRAY),
                (&claim.owner, Type::TEXT),
                (&max, Type::INT4),
                (&lease_ms, Type::INT8),
                (&recover, Type::INT4),
            ],
        )
        .await?;
    if let [row] = rows.as_slice()
        && get::<bool>(row, "absent")?
    {
        return Ok(None);
    }
    let units = rows.iter().map(|row| claimed(row, &claim)).collect::<Result<_>>()?;
    Ok(Some(Claims { units }))
}

fn claimed(row: &Row, claim: &Claim) -> Result<ClaimedUnit> {
    let segment: Option<String> = get(row, "segment")?;
    let input = match segment {
        Some(_) => get::<Option<String>>(row, "own_input")?.unwrap_or_else(|| "null".to_owned()),
        None => {
            let (names, outputs): (Vec<String>, Vec<Option<String>>) = (get(row, "needs")?, get(row, "outputs")?);
            let needs: Vec<_> = names.into_iter().zip(outputs).collect();
            compose_input(get::<Option<&str>>(row, "run_input")?.unwrap_or("null"), &needs)
        }
    };
    Ok(ClaimedUnit {
        run: RunId(get(row, "run")?),
        pipeline: claim.pipeline.clone(),
        version: get::<i32>(row, "version")? as u32,
        stage: get(row, "stage")?,
        segment,
        join: get(row, "join_now")?,
        segmented: get(row, "segmented")?,
        input,
        attempt: get::<i32>(row, "attempt")? as u32,
        attempts_max: get::<i32>(row, "attempts_max")? as u32,
        token: Token(get(row, "token")?),
        lease_expires_at: at(row, "lease_expires_at")?,
        lease_ms: get::<i64>(row, "lease_ms")? as u64,
        record: row::record(row)?,
    })
}

pub(super) async fn heartbeat(store: &PostgresStore, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
    let mut answers: Vec<Option<Fenced<Beaten>>> = vec![None; beats.len()];
    for round in rounds(beats, |beat| beat.unit.clone()) {
        let asked: Value = round.iter().map(|(_, beat)| asked(beat)).collect();
        let sql = "select ord, lease_expires_at, lost from tenure.beat_units($1)";
        let rows = store.database.write(sql, &[(&asked, Type::JSONB)]).await?;
        for row in &rows {
            let ord: i64 = get(row, "ord")?;
            let slot = usize::try_from(ord - 1).ok().and_then(|at| round.get(at)).map(|(at, _)| *at);
            let slot = slot.ok_or_else(|| StoreError::broken(format!("an answer to heartbeat {ord}")))?;
            answers[slot] = Some(match at_opt(row, "lease_expires_at")? {
                Some(lease_expires_at) => Ok(Beaten { lease_expires_at }),
                None => Err(some_word(row, "lost", LostReason::parse)?),
            });
        }
    }
    in_order(answers)
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
                    (&unit.run.0, Type::INT8),
                    (&unit.stage, Type::TEXT),
                    (&segment, Type::TEXT),
                    (&owner, Type::TEXT),
                    (&token.0, Type::INT8),
                    (&verb, Type::TEXT),
                    (&output, Type::TEXT),
                    (&record, Type::TEXT),
                    (&error, Type::TEXT),
                    (&never, Type::TEXT),
                    (&delay, Type::INT8),
                    (&chance, Type::FLOAT8),
                    (&names, Type::TEXT_ARRAY),
                    (&inputs, Type::TEXT_ARRAY),
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
