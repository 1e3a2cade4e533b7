//! Heartbeats and started marks: they touch the lease, never the job.

use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{Answers, at_opt, get, rounds, some_word, word};
use tenure_core::LostReason;
use tenure_core::queue::{Beat, Beaten, JobId, Start};
use tenure_store::{Fenced, Result};

pub(super) async fn heartbeat(store: &PostgresStore, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
    let mut answers: Vec<Option<Fenced<Beaten>>> = vec![None; beats.len()];
    let mut refusals: Vec<(usize, Beat)> = Vec::new();
    for round in rounds(beats, |beat| beat.token) {
        let jobs: Vec<Option<i64>> = round.iter().map(|(_, beat)| beat.job.map(|job| job.0)).collect();
        let owners: Vec<&str> = round.iter().map(|(_, beat)| beat.owner.as_str()).collect();
        let tokens: Vec<i64> = round.iter().map(|(_, beat)| beat.token.0).collect();
        let progresses: Vec<Option<&str>> = round.iter().map(|(_, beat)| beat.progress.as_deref()).collect();
        let checkpoints: Vec<Option<&str>> = round.iter().map(|(_, beat)| beat.checkpoint.as_deref()).collect();
        let rows = store
            .urgent
            .write(
                "select ord, lease_expires_at, cancelling from tenure.heartbeat($1, $2, $3, $4, $5)",
                &[&jobs, &owners, &tokens, &progresses, &checkpoints],
            )
            .await?;
        for row in rows {
            let ord = get::<i64>(&row, "ord")? as usize - 1;
            let (i, beat) = &round[ord];
            match at_opt(&row, "lease_expires_at")? {
                Some(lease_expires_at) => {
                    let asked: Vec<i64> = get(&row, "cancelling")?;
                    let cancel_requested = asked.into_iter().map(JobId).collect();
                    answers[*i] = Some(Ok(Beaten { lease_expires_at, cancel_requested }));
                }
                None => refusals.push((*i, beat.clone())),
            }
        }
    }
    // In the order of the call, so that the event of a refusal tells of the last one.
    refusals.sort_by_key(|(i, _)| *i);
    for (i, beat) in refusals {
        answers[i] = Some(Err(refused(store, &beat).await?));
    }
    Answers(answers).all()
}

/// Why a heartbeat was refused; in a statement of its own, which sees what was committed meanwhile.
async fn refused(store: &PostgresStore, beat: &Beat) -> Result<LostReason> {
    let job = beat.job.map(|job| job.0);
    let sql = "select tenure.refuse_heartbeat($1, $2, $3) as lost";
    let row = first(store.urgent.write(sql, &[&job, &beat.owner, &beat.token.0]).await?)?;
    some_word(&row, "lost", LostReason::parse)
}

pub(super) async fn start(store: &PostgresStore, start: Start) -> Result<Fenced<()>> {
    let count = start.count as i32;
    let sql = "select tenure.start($1, $2, $3) as lost";
    let row = first(store.urgent.write(sql, &[&start.token.0, &start.owner, &count]).await?)?;
    Ok(word(&row, "lost", LostReason::parse)?.map_or(Ok(()), Err))
}
