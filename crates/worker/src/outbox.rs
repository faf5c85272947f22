//! Delivers what the outbox has to Restate, and frees the runs of carriers whose leases have ended.

use std::{sync::Arc, time::Duration};

use interlock_shared::{OutboxMessage, OutboxRow, SharedError};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::{error::WorkerError, note::Note, restate::Restate, shared::Shared};

/// How often the outbox is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How often leases that have ended are looked for.
const EXPIRE: Duration = Duration::from_secs(1);
/// Delay after something failed.
const REST: Duration = Duration::from_secs(1);

/// Delivers until `ended` is set, and then once more.
pub(crate) async fn deliver(
    shared: Arc<Shared>,
    restate: Restate,
    mut ended: watch::Receiver<bool>,
) {
    let mut expired = None;
    let mut trouble = None;
    loop {
        let is_last = *ended.borrow();
        let now = Instant::now();
        let is_due = expired.is_none_or(|at: Instant| now.duration_since(at) >= EXPIRE);
        if is_due {
            expired = Some(now);
        }
        let said = match round(&shared, &restate, is_due).await {
            Ok(()) => None,
            Err(error) => Some(error.to_string()),
        };
        if let Some(what) = said.clone().filter(|_| said != trouble) {
            // The same trouble is told once.
            shared.note(&Note::Trouble { what });
        }
        let rest = if said.is_some() { REST } else { LOOK };
        trouble = said;
        if is_last {
            return;
        }
        let nudged = shared.nudged();
        tokio::pin!(nudged);
        if trouble.is_some() {
            let _ = timeout(rest, ended.changed()).await;
        } else {
            let _ = timeout(rest, nudged).await;
        }
    }
}

async fn round(shared: &Arc<Shared>, restate: &Restate, expire: bool) -> Result<(), WorkerError> {
    if expire {
        blocking(shared, |shared| shared.database().expire()).await?;
        blocking(shared, |shared| shared.database().wake_overdue()).await?;
    }
    let mut first = Ok(());
    for row in blocking(shared, |shared| shared.database().outbox()).await? {
        // One that is refused does not keep the others back.
        match send(shared, restate, &row).await {
            Ok(()) => {
                blocking(shared, move |shared| shared.database().delivered(&row)).await?;
            }
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

async fn send(shared: &Shared, restate: &Restate, row: &OutboxRow) -> Result<(), WorkerError> {
    match &row.message {
        OutboxMessage::Wake { reason } => {
            let tenant = shared.database().tenant();
            let object = format!("{tenant}/{}", row.run);
            restate
                .wake(&object, reason, &format!("{tenant}/{}", row.key()))
                .await
        }
        OutboxMessage::Carried { awakeable, next } => restate.resolve(awakeable, next).await,
    }
}

async fn blocking<T: Send + 'static>(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Shared) -> Result<T, SharedError> + Send + 'static,
) -> Result<T, WorkerError> {
    let shared = Arc::clone(shared);
    match tokio::task::spawn_blocking(move || work(&shared)).await {
        Ok(done) => Ok(done?),
        Err(error) => {
            sleep(REST).await;
            Err(WorkerError::Start(std::io::Error::other(error)))
        }
    }
}
