//! `log`: the events of a run, and whether they are as they were recorded.

mod messages;
mod people;
mod stages;
mod steps;

use std::time::{Duration, UNIX_EPOCH};

use interlock_core::{
    event::{Event, ProtectedChange},
    names::ApprovalId,
};
use interlock_store::{EventLog as _, Recorded};
use serde_json::{Value, json};

use crate::{
    app::App,
    args::LogArgs,
    failure::{Done, Exit, Failure},
    live,
    output::Style,
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

/// Writes a recorded event as one flat object.
pub(crate) fn line(recorded: &Recorded) -> Result<Value, Failure> {
    let mut line =
        json!({ "seq": recorded.seq, "at": time(recorded.at_ms), "event": recorded.event.name() });
    if let Value::Object(tagged) = serde_json::to_value(&recorded.event)?
        && let Some((_, Value::Object(fields))) = tagged.into_iter().next()
    {
        let path = fields.get("path").map(path_text).unwrap_or_default();
        live::put(&mut line, "path", json!(path));
        for (key, value) in fields.into_iter().filter(|(key, _)| key != "path") {
            let key = match (key.as_str(), recorded.event.name()) {
                // The event's own `event` is the name a workflow gives it.
                ("event", _) => "name",
                ("how", "TransitionTaken") => "kind",
                (key, _) => key,
            };
            live::put(&mut line, key, value);
        }
    }
    if stages::is_verdict(&recorded.event) {
        put_verdict(&mut line);
    }
    live::put(&mut line, "prev", json!(recorded.prev.to_string()));
    live::put(&mut line, "hash", json!(recorded.hash.to_string()));
    Ok(line)
}

/// Puts what was proposed and the code of a refusal beside the rest, where they are easy to filter by.
fn put_verdict(line: &mut Value) {
    let of = |key: &str| line.pointer(key).cloned();
    let proposal = of("/call/id").and_then(|id| {
        let (_, proposal) = id.as_str()?.split_once(".t")?;
        Some(json!(format!("t{proposal}")))
    });
    let beside = [
        ("tool", of("/call/tool")),
        ("proposal", proposal),
        ("digest", of("/call/digest")),
        ("code", of("/refusal/code")),
    ];
    for (key, value) in beside {
        if let Some(value) = value {
            live::put(line, key, value);
        }
    }
}

/// Joins a list of names, or of paths as they lie in the project.
fn names(list: Option<&Value>) -> String {
    let all = list.and_then(Value::as_array).into_iter().flatten();
    let texts = all.filter_map(|item| item.as_str().or_else(|| item.get("relative")?.as_str()));
    texts.collect::<Vec<_>>().join(", ")
}

fn path_text(path: &Value) -> String {
    let names = path
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    names.collect::<Vec<_>>().join("/")
}

/// Writes a recorded event as a person reads it, with its exact time.
pub(crate) fn sentence(app: &App, recorded: &Recorded) -> Result<String, Failure> {
    let told = told(app, recorded)?;
    let at = time(recorded.at_ms);
    Ok(format!("{:>4} {at} {told}", recorded.seq))
}

/// Says what a recorded event tells, without its number and time.
fn told(app: &App, recorded: &Recorded) -> Result<String, Failure> {
    let line = line(recorded)?;
    let get = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
    let call = |key: &str| {
        line.get("call")
            .and_then(|call| call.get(key))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let refusal = |key: &str| {
        line.get("refusal")
            .and_then(|refusal| refusal.get(key))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let asked = match &recorded.event {
        Event::ApprovalRequested { at_ms: Some(_), .. }
        | Event::GrantRequested { at_ms: Some(_), .. } => {
            format!("{} ", ApprovalId::of(recorded.seq))
        }
        _ => String::new(),
    };
    let what = match recorded.event.name() {
        "TransitionTaken" | "InterruptRaised" => {
            format!(
                "{} {} -> {}",
                [get("name"), get("interrupt")].concat(),
                get("from"),
                get("to")
            )
        }
        "CallAllowed" => format!("{} {}", call("tool"), call("summary")),
        "CallDenied" => format!("{} {} ({})", call("tool"), call("summary"), refusal("code")),
        "GrantRequested" => format!("{asked}{} {}", call("tool"), call("summary")),
        "PromptClosed" => match &recorded.event {
            Event::PromptClosed { id, why, .. } => format!("{id} ({})", why.sentence()),
            _ => String::new(),
        },
        "TransitionRejected" => format!(
            "{} ({}: {})",
            get("name"),
            refusal("code"),
            refusal("message")
        ),
        "LineConfined" => {
            let not_held = names(line.get("not_held"));
            let but = if not_held.is_empty() {
                String::new()
            } else {
                format!(", not held: {not_held}")
            };
            format!("{} held at level `{}`{but}", get("call"), get("level"))
        }
        "LineEnded" => {
            let exit = line.get("exit").and_then(Value::as_i64);
            let exit = exit.map_or("not known".to_owned(), |exit| exit.to_string());
            let wrote = names(line.get("wrote"));
            let wrote = if wrote.is_empty() {
                String::new()
            } else {
                format!(", wrote {wrote}")
            };
            format!("{} exit {exit}{wrote}", get("call"))
        }
        "ApprovalRequested" => format!("{asked}{}: {}", get("name"), get("message")),
        _ if steps::is_one(&recorded.event) => steps::sentence(&recorded.event),
        _ if stages::is_one(&recorded.event) => stages::sentence(&recorded.event),
        "FilesChanged" => format!(
            "{}: no call was seen to change them",
            names(line.get("files"))
        ),
        "ProtectedChanged" => changes(&recorded.event),
        "ToolChanged" | "ToolAccepted" => tool_of_server(&recorded.event),
        "TokenSeen" => token_seen(&recorded.event),
        "TrustDecided" => format!("{} {} by {}", get("word"), get("project"), get("by")),
        _ => ["id", "agent", "by", "outcome", "reason", "note"]
            .map(get)
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
    };
    let path = get("path");
    let place = if path.is_empty() {
        String::new()
    } else {
        format!(" [{path}]")
    };
    let style = match recorded.event.name() {
        "ProtectedChanged" | "TokenSeen" | "ToolChanged" | "CallDenied" | "TransitionRejected"
        | "ApprovalRejected" | "GrantDenied" | "ToolDenied" | "ModelFailed" | "StageFailed"
        | "RunFailed" => Style::Red,
        "CallAllowed" | "LineConfined" | "LineEnded" | "ModelCalled" | "ToolAllowed"
        | "ToolStarted" | "ToolEnded" | "TurnEnded" => Style::Dim,
        _ => Style::Bold,
    };
    let name = app.output.styled(style, recorded.event.name());
    Ok(format!("{name}{place} {what}").trim_end().to_owned())
}

/// Names what changed of protected things.
fn changes(event: &Event) -> String {
    let Event::ProtectedChanged { changes } = event else {
        return String::new();
    };
    let sentences: Vec<String> = changes.iter().map(ProtectedChange::sentence).collect();
    sentences.join(", ")
}

/// Says where the person's token was.
fn token_seen(event: &Event) -> String {
    match event {
        Event::TokenSeen { place } => format!("INTERLOCK_TOKEN {}", place.as_str()),
        _ => String::new(),
    }
}

/// Names a tool of a server, and what became of it.
fn tool_of_server(event: &Event) -> String {
    match event {
        Event::ToolChanged(change) => {
            let parts = change.parts.join(", ");
            format!("{} {}: {parts}", change.server, change.tool)
        }
        Event::ToolAccepted {
            server, tool, by, ..
        } => format!("{server} {tool} by {by}"),
        _ => String::new(),
    }
}

/// The last millisecond that RFC 3339 can write.
const LAST_MS: u64 = 253_402_300_799_999;

/// Writes a time as RFC 3339 in UTC, to the millisecond.
pub(crate) fn time(at_ms: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(at_ms.min(LAST_MS));
    humantime::format_rfc3339_millis(at).to_string()
}
