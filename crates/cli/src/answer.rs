//! A run is asked something by a person, and answers them.

use interlock_clients::forget_held;
use interlock_core::{command::Ask, run::Run};
use serde_json::{Value, json};

use crate::{
    app::{self, App, indented},
    failure::{Done, Exit, Failure},
    live::{self, Live},
    review, standing, telemetry,
};

/// Does what follows from an answer that a run took.
pub(crate) fn after(run: &Run) {
    telemetry::nudge();
    if run.is_over() {
        // A mark that stays is looked at again by the next hook.
        let _ = forget_held(app::configuration().as_deref(), run.id.as_str());
    }
}

/// Asks the run, prints its answer, and makes a refusal the exit code.
pub(crate) fn ask_run(app: &App, mut live: Live, ask: Ask, as_json: bool) -> Done {
    let (word, meant) = match &ask {
        Ask::Approve(answer) => ("approved", review::meant(&live, answer.path.as_deref())),
        Ask::Reject(answer) => ("denied", review::meant(&live, answer.path.as_deref())),
        _ => ("", Vec::new()),
    };
    let before = live.run.clone();
    let decision = live.ask(ask)?;
    after(&live.run);
    let (ok, code, mut message) = live::reply(&decision.reply);
    if ok && !meant.is_empty() {
        let seen = (&live.machine, &before);
        message = review::answered(word, seen, &meant, &decision.events).join("\n");
    }
    let status = live.status(Some(&decision))?;
    if as_json {
        let mut line = json!({ "ok": ok, "code": code, "message": message });
        if let Value::Object(status) = status {
            for (key, value) in status {
                // The code of a run that is over does not hide why it was refused.
                if ok || key != "code" {
                    live::put(&mut line, &key, value);
                }
            }
        }
        let log: Vec<&str> = decision
            .events
            .iter()
            .map(interlock_core::event::Event::name)
            .collect();
        live::put(&mut line, "log", json!(log));
        app.output.json(&line)?;
    } else if ok {
        if !message.is_empty() {
            app.output.lines(&message)?;
        }
        standing::print(app, &status)?;
    } else {
        app.output.error(&format!(
            "refused ({}): {}\n",
            code.unwrap_or_default(),
            indented(&message)
        ))?;
    }
    if ok {
        Ok(())
    } else {
        Err(Failure::Said(Exit::Failed))
    }
}
