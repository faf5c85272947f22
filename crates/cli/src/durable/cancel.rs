//! A person ends a run of steps: whoever carries it out is told, a run that stands ends in its log.

use interlock_core::command::CommandKind;
use interlock_runner::{Embedded, EmbeddedError, LeaseError, Surroundings};

use crate::{
    answer::ask_run,
    app::App,
    failure::{Done, Failure},
    live::Live,
};

/// Cancels the run; what a process that died left running is ended too.
pub(crate) fn cancel(app: &App, mut live: Live, by: String, json: bool) -> Done {
    let held = end_leftovers(&mut live)?;
    let ask = CommandKind::Cancel { by };
    ask_run(app, live, ask, json)?;
    if let (Some(process), false) = (held, json) {
        app.output.remark(&format!(
            "process {process} carries it out and ends what runs now\n"
        ));
    }
    Ok(())
}

/// Ends programs of a runner that died; names the process of one that lives.
fn end_leftovers(live: &mut Live) -> Result<Option<u32>, Failure> {
    let Some(places) = live.run.places().cloned() else {
        return Ok(None);
    };
    let log = live.home.open_run(&live.run.id)?;
    let around = Surroundings::new(live.run.id.to_string(), places, log.directory());
    match Embedded::take(log, around) {
        Ok(mut host) => {
            host.recover(&live.machine)?;
            host.release()?;
            Ok(None)
        }
        Err(EmbeddedError::Lease(LeaseError::Held(holder))) => Ok(holder.map(|holder| holder.pid)),
        Err(error) => Err(error.into()),
    }
}
