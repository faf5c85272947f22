//! Cancels a run of steps: its process is told, or else the cancellation is written to its log.

use interlock_core::command::CommandKind;
use interlock_runner::{BuildError, Builder, EmbeddedError, LeaseError};

use super::world::failed;
use crate::{
    answer::ask_run,
    app::App,
    failure::{Done, Failure},
    live::Live,
};

/// Cancels the run; the leftovers of a crashed runner are ended, too.
pub(crate) fn cancel(app: &App, live: Live, by: String, json: bool) -> Done {
    let held = end_leftovers(app, &live)?;
    let ask = CommandKind::Cancel { by };
    ask_run(app, live, ask, json)?;
    if let (Some(process), false) = (held, json) {
        app.output.remark(&format!(
            "process {process} is running it and ends its programs now\n"
        ));
    }
    Ok(())
}

/// Ends the programs of a crashed runner; returns the process of one that is alive.
fn end_leftovers(app: &App, live: &Live) -> Result<Option<u32>, Failure> {
    let Some(places) = live.run.places() else {
        return Ok(None);
    };
    let log = live.home.open_run(&live.run.id)?;
    let builder = Builder::new(app.environment()?.clone(), places.project.as_ref());
    match builder.take(log, &live.machine) {
        Ok(mut host) => {
            host.recover(&live.machine)?;
            host.release()?;
            host.log().tidy_up();
            Ok(None)
        }
        Err(BuildError::Take(EmbeddedError::Lease(LeaseError::Held(holder)))) => {
            Ok(holder.map(|holder| holder.pid))
        }
        Err(error) => Err(failed(error)),
    }
}
