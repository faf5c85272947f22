//! Sends a person's command to a run, and prints the answer.

use interlock_clients::forget_markers;
use interlock_core::{command::CommandKind, run::Run};
use serde_json::{Value, json};

use crate::{
    app::{self, App, indented},
    failure::{Done, Exit, Failure},
    live::{self, Live},
    review, standing, telemetry,
};

/// Applies the consequences of an answer that a run accepted.
pub(crate) fn after(run: &Run) {
    telemetry::nudge();
    if run.is_over() {
        // The next hook checks a marker that could not be removed.
        let _ = forget_markers(app::configuration().as_deref(), run.id.as_str());
    }
}

/// Sends a command to the run, prints its answer, and turns a refusal into the exit code.
pub(crate) fn ask_run(app: &App, mut live: Live, command: CommandKind, as_json: bool) -> Done {
    let (word, meant) = match &command {
        CommandKind::Approve(answer) => ("approved", review::meant(&live, answer.path.as_deref())),
        CommandKind::Reject(answer) => ("denied", review::meant(&live, answer.path.as_deref())),
        _ => ("", Vec::new()),
    };
    let before = live.run.clone();
    let decision = live.ask(command)?;
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
                // The exit code of an ended run must not hide the reason of the refusal.
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
