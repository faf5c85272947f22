//! Prints what a worker reports.

use std::io::{self, Write as _};

use interlock_core::visible::visible_lines;
use interlock_worker::Note;
use serde_json::{Value, json};

/// Prints a note; what cannot be printed is lost, and stops no run.
pub(crate) fn print(note: &Note, as_json: bool) {
    let line = if as_json {
        value(note).to_string()
    } else {
        visible_lines(&text(note))
    };
    let _ = match note {
        Note::Trouble { .. } if !as_json => writeln!(io::stderr(), "interlock: {line}"),
        _ => {
            let mut out = io::stdout().lock();
            writeln!(out, "{line}").and_then(|()| out.flush())
        }
    };
}

fn value(note: &Note) -> Value {
    match note {
        Note::Ready { address, holder } => {
            json!({ "event": "ready", "listen": address.to_string(), "holder": holder })
        }
        Note::Taken {
            run,
            epoch,
            is_interrupted,
        } => json!({ "event": "taken", "run": run, "epoch": epoch, "interrupted": is_interrupted }),
        Note::Restored {
            run,
            machine,
            aside,
        } => json!({ "event": "restored", "run": run, "machine": machine, "aside": aside }),
        Note::Ended {
            run,
            epoch,
            next,
            why,
        } => json!({ "event": "ended", "run": run, "epoch": epoch, "next": next, "why": why }),
        Note::Trouble { what } => json!({ "event": "trouble", "what": what }),
        _ => Value::Null,
    }
}

fn text(note: &Note) -> String {
    match note {
        Note::Ready { address, holder } => format!("worker {holder} listens on {address}"),
        Note::Taken {
            run,
            epoch,
            is_interrupted: false,
        } => format!("run {run}: carried here, epoch {epoch}"),
        Note::Taken { run, epoch, .. } => {
            format!("run {run}: carried here, epoch {epoch}; its previous carrier was lost")
        }
        Note::Restored {
            run,
            machine,
            aside,
        } => {
            let aside = aside
                .as_ref()
                .map(|aside| format!("; what was here is in `{}`", aside.display()));
            format!(
                "run {run}: its files of {machine} were restored{}",
                aside.unwrap_or_default()
            )
        }
        Note::Ended {
            run,
            epoch,
            next,
            why,
        } => {
            let next = json!(next);
            let next = next.as_str().unwrap_or_default();
            let why = why.as_ref().map(|why| format!(": {why}"));
            format!(
                "run {run}: ended here, epoch {epoch}, next: {next}{}",
                why.unwrap_or_default()
            )
        }
        Note::Trouble { what } => what.clone(),
        _ => String::new(),
    }
}
