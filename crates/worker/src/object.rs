//! The object of Restate whose keys are runs: `TENANT/RUN`.

use std::{sync::Arc, time::Duration};

use interlock_core::names::RunId;
use interlock_store::record;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    begin::{Begun, begin},
    look::{Look, look},
    next::{LATER_AFTER, Next},
    shared::Shared,
};

/// Delay before a run is tried again for which there is no slot.
const NO_SLOT: Duration = Duration::from_secs(1);

/// The runs of one tenant, as Restate sees them.
pub(crate) struct RunObject {
    pub(crate) shared: Arc<Shared>,
}

/// Who carries a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Standing {
    status: String,
    holder: Option<String>,
    epoch: u64,
    seq: u64,
}

#[restate_sdk::object(
    name = "Run",
    client_visibility = "pub(crate)",
    journal_retention = "1 hour",
    idempotency_retention = "1 day",
    invocation_retry_policy(initial_interval = "100ms", factor = 2.0, max_interval = "5s")
)]
impl RunObject {
    /// Has a run carried if it is due, and looks again when it is.
    #[handler]
    async fn wake(&self, ctx: ObjectContext<'_>, reason: String) -> HandlerResult<()> {
        // What happened stands in the log; the reason only tells requests apart.
        drop(reason);
        let run = self.run(ctx.key())?;
        let shared = Arc::clone(&self.shared);
        let looked = ctx
            .run(|| async move {
                let looked = blocking(move || look(shared.runs(), &run)).await?;
                Ok(Json(looked))
            })
            .name("look")
            .await?;
        let key = ctx.key();
        match looked.0 {
            Look::Over => {}
            Look::Due { epoch } => {
                ctx.object_client::<RunObjectClient>(key)
                    .carry(epoch)
                    .send();
            }
            Look::After { ms } => again(&ctx, Duration::from_millis(ms)),
        }
        Ok(())
    }

    /// Carries a run whose last carrier had `epoch`, and waits until the carrier has ended.
    #[handler(ingress_private)]
    async fn carry(&self, ctx: ObjectContext<'_>, epoch: u64) -> HandlerResult<()> {
        let run = self.run(ctx.key())?;
        // Made first: its id is the same whenever this is repeated, and tells one claim from another.
        let (awakeable, ended) = ctx.awakeable::<Json<Next>>();
        let shared = Arc::clone(&self.shared);
        let begun = ctx
            .run(|| async move {
                let begun = blocking(move || begin(&shared, &run, epoch, awakeable)).await?;
                Ok(Json(begun))
            })
            .name("begin")
            .await?;
        match begun.0 {
            Begun::Carried => {}
            Begun::Stale => return Ok(()),
            Begun::Held { ms } => {
                again(&ctx, Duration::from_millis(ms));
                return Ok(());
            }
            Begun::NoSlot => {
                again(&ctx, NO_SLOT);
                return Ok(());
            }
        }
        match ended.await?.0 {
            Next::Over | Next::Person | Next::Lost => {}
            Next::Time => again(&ctx, Duration::ZERO),
            Next::Later => again(&ctx, LATER_AFTER),
        }
        Ok(())
    }

    /// Says who carries a run.
    #[handler]
    async fn standing(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Standing>> {
        let run = self.run(ctx.key())?;
        let shared = Arc::clone(&self.shared);
        Ok(Json(blocking(move || standing(&shared, &run)).await?))
    }
}

/// Wakes the run again after some time.
fn again(ctx: &ObjectContext<'_>, after: Duration) {
    let client = ctx.object_client::<RunObjectClient>(ctx.key());
    client.wake("time".to_owned()).send_after(after);
}

impl RunObject {
    /// Returns the run that a key names; a key of another tenant is refused for good.
    fn run(&self, key: &str) -> Result<RunId, TerminalError> {
        let tenant = self.shared.database().tenant().as_str();
        let run = key
            .split_once('/')
            .filter(|(owner, _)| *owner == tenant)
            .map(|(_, run)| RunId::new(run))
            .filter(|run| record::check_run_id(run).is_ok());
        run.ok_or_else(|| TerminalError::new_with_code(404, "these workers carry no such run"))
    }
}

fn standing(shared: &Shared, run: &RunId) -> Result<Standing, interlock_store::StoreError> {
    let carrier = shared.database().carrier(run)?;
    Ok(Standing {
        status: shared.status(run)?,
        holder: carrier.holder,
        epoch: carrier.epoch,
        seq: carrier.seq,
    })
}

/// Runs work that waits for the database; what fails is repeated by Restate.
async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, HandlerError>
where
    T: Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done??)
}
