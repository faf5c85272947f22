//! `log`: prints the events of a run, and verifies that they are as recorded.

mod messages;
mod people;

use std::time::Duration;

use interlock_console::signed_answers;
use interlock_core::visible::visible;
use interlock_passkeys::SignedAnswer;
use interlock_store::{EventLog as _, Recorded};
use serde_json::json;

use crate::{
    app::App,
    args::LogArgs,
    failure::{Done, Exit, Failure},
    live::put,
    log_line::line,
};

/// How long to wait for new events before the run is checked again.
const FOLLOW_WAIT: Duration = Duration::from_secs(1);

pub(crate) fn run(app: &App, args: &LogArgs) -> Done {
    let home = app.home()?;
    let id = app.find_run(args.run.as_deref())?;
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

/// Prints the requests to a run's models and their answers.
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
    let count = match log.verify() {
        Ok(count) => count,
        Err(broken) => return refuse(app, &broken.to_string(), as_json),
    };
    let signed = match signed_answers(log)? {
        Ok(signed) => signed,
        Err(broken) => return refuse(app, &broken.to_string(), as_json),
    };
    if as_json {
        let mut line = json!({ "ok": true, "verified": count });
        if !signed.is_empty() {
            put(&mut line, "passkeys", json!(signed.len()));
        }
        return app.output.json(&line);
    }
    let events = if count == 1 { "event" } else { "events" };
    app.output.line(&format!("verified {count} {events}"))?;
    let known = app.home()?.passkeys()?;
    for SignedAnswer {
        seq,
        credential,
        name,
    } in signed
    {
        let is_known = known.iter().any(|one| one.credential == credential);
        let gone = if is_known {
            ""
        } else {
            ", which is not enrolled here (any more)"
        };
        let name = visible(&name);
        app.output.line(&format!(
            "event {seq} is signed by the passkey `{name}`{gone}"
        ))?;
    }
    Ok(())
}

fn refuse(app: &App, broken: &str, as_json: bool) -> Done {
    if as_json {
        app.output
            .json(&json!({ "ok": false, "message": broken }))?;
    } else {
        app.output.error(&format!("interlock: {broken}\n"))?;
    }
    Err(Failure::Said(Exit::Failed))
}
