//! `log`: the events of a run, and whether they are as they were recorded.

mod messages;
mod people;

use std::time::Duration;

use interlock_store::{EventLog as _, Recorded};
use serde_json::json;

use crate::{
    app::App,
    args::LogArgs,
    failure::{Done, Exit, Failure},
    log_line::line,
};

/// How long one look for new events lasts before the run is looked at again.
const FOLLOW_WAIT: Duration = Duration::from_secs(1);

pub(crate) fn run(app: &App, args: &LogArgs) -> Done {
    let home = app.home()?;
    let id = app.find_run(&home, args.run.as_deref())?;
    let log = home.open_run(&id)?;
    if args.verify {
        return verify(app, &log, args.json);
    }
    if args.messages {
        return conversations(app, &log, args.json);
    }
    let mut next = 0;
    let mut page = people::Page::default();
    loop {
        let new: Vec<Recorded> = log.events(next).collect::<Result<_, _>>()?;
        next = new.last().map_or(next, |last| last.seq + 1);
        if args.json {
            for recorded in &new {
                app.output.json(&line(recorded)?)?;
            }
        } else {
            page.show(app, &new)?;
        }
        if !args.follow || log.load()?.is_over() {
            return Ok(());
        }
        while !log.wait(next, FOLLOW_WAIT)? {}
    }
}

/// Prints what the models of a run were told and what they said.
fn conversations(app: &App, log: &interlock_store::RunLog, as_json: bool) -> Done {
    for conversation in messages::conversations(log)? {
        if as_json {
            for entry in &conversation.entries {
                app.output.json(entry)?;
            }
        } else {
            app.output.text(&messages::text(&conversation))?;
        }
    }
    Ok(())
}

fn verify(app: &App, log: &interlock_store::RunLog, as_json: bool) -> Done {
    match log.verify() {
        Ok(count) => {
            if as_json {
                return app.output.json(&json!({ "ok": true, "verified": count }));
            }
            app.output.line(&format!("verified {count} events"))
        }
        Err(broken) => {
            if as_json {
                app.output
                    .json(&json!({ "ok": false, "message": broken.to_string() }))?;
            } else {
                app.output.error(&format!("interlock: {broken}\n"))?;
            }
            Err(Failure::Said(Exit::Failed))
        }
    }
}
