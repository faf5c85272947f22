//! The conversations of a run: the request of each attempt of a stage, its model's messages, and the results of its calls.
//!
//! They are assembled from the events and the messages stored by digest: everything shown is named by the log.

use interlock_core::{
    event::{About, AllowSource, Event},
    evolve,
    machine::{BEGIN, Machine},
    names::{Digest, FramePath},
    place::{shown_path, stage_of},
    run::Run,
    stage_task, stage_text, text_digest,
    visible::visible,
};
use interlock_runner::{KeptAnswer, KeptResult, Transcript};
use interlock_store::{EventLog as _, Messages, RunLog};
use interlock_view::narrator::cost;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{failure::Failure, live::put};

/// The conversation of one attempt of a stage.
#[derive(Debug)]
pub(super) struct Conversation {
    path: FramePath,
    /// Path as shown to people.
    pub(super) shown: String,
    pub(super) attempt: u32,
    /// Messages in order, each with its `role`.
    pub(super) entries: Vec<Value>,
    /// Transcript that determines the reminders to the model.
    transcript: Transcript,
    is_over: bool,
}

/// Reads the conversations of a run, in the order in which they began.
pub(super) fn conversations(log: &RunLog) -> Result<Vec<Conversation>, Failure> {
    let mut reading = Reading {
        machine: log.machine()?,
        kept: log.messages(),
        run: Run::new(log.run().clone()),
        all: Vec::new(),
    };
    for recorded in log.events(0) {
        let event = recorded?.event;
        reading.run = evolve(reading.run, &event);
        reading.take(&event)?;
    }
    Ok(reading.all)
}

struct Reading {
    machine: Machine,
    kept: Messages,
    /// The run after the event that was read.
    run: Run,
    all: Vec<Conversation>,
}

impl Reading {
    fn take(&mut self, event: &Event) -> Result<(), Failure> {
        match event {
            Event::StageEntered { path, attempt, .. } => self.open(path, *attempt),
            Event::ActivityEnded { path, .. } | Event::AttemptFailed { path, .. } => {
                self.close(path);
            }
            Event::StageStarted { path, body } => self.begin(path, body),
            Event::ModelCalled {
                path,
                turn,
                provider,
                model,
                ..
            } => {
                if self.find(path).is_none() {
                    // A node that calls models has no attempts apart from those of its effect.
                    let effect = self.run.frame(path).and_then(|frame| frame.stay.effect());
                    self.open(path, effect.map_or(1, |effect| effect.attempt));
                }
                let model = format!("{provider}/{model}");
                self.say(path, "request", json!({ "turn": turn, "model": model }));
            }
            Event::ModelResponded { path, .. } => self.model(path, event)?,
            Event::ModelFailed {
                path,
                code,
                message,
                ..
            } => self.say(path, "failure", json!({ "code": code, "message": message })),
            Event::ToolAllowed {
                path, call, source, ..
            } => self.say(
                path,
                "verdict",
                json!({ "call": call.id, "tool": call.tool, "verdict": "allow", "source": source_word(source) }),
            ),
            Event::ToolDenied {
                path,
                call,
                source,
                refusal,
            } => self.say(
                path,
                "verdict",
                json!({
                    "call": call.id, "tool": call.tool, "verdict": "deny", "source": source,
                    "code": refusal.code.as_str(), "message": refusal.message,
                }),
            ),
            Event::RequestOpened {
                path,
                about: About::Call(grant),
                ..
            } => self.say(
                path,
                "verdict",
                json!({ "call": grant.call.id, "tool": grant.call.tool, "verdict": "ask" }),
            ),
            Event::ToolEnded { path, .. } => self.result(path, event)?,
            Event::CompletionRejected {
                path,
                call,
                findings,
            } => self.say(
                path,
                "completion",
                json!({ "call": call, "ok": false, "findings": findings }),
            ),
            Event::CompletionAccepted { path, call, .. } => {
                self.say(path, "completion", json!({ "call": call, "ok": true }));
            }
            Event::StageExited {
                path,
                outcome,
                turns,
                usage,
                error,
                ..
            } => {
                let message = error.as_ref().map(|error| error.message.clone());
                self.say(
                    path,
                    "end",
                    json!({ "outcome": outcome, "turns": turns, "usage": usage, "message": message }),
                );
                self.close(path);
            }
            _ => {}
        }
        self.remind(event)
    }

    fn close(&mut self, path: &FramePath) {
        if let Some(open) = self.find(path) {
            open.is_over = true;
        }
    }

    fn find(&mut self, path: &FramePath) -> Option<&mut Conversation> {
        let mut newest = self.all.iter_mut().rev();
        newest.find(|one| one.path == *path && !one.is_over)
    }

    fn say(&mut self, path: &FramePath, role: &str, mut what: Value) {
        if let Some(open) = self.find(path) {
            let mut line = json!({ "path": open.shown, "attempt": open.attempt, "role": role });
            if let Value::Object(fields) = &mut what {
                for (key, value) in std::mem::take(fields) {
                    if !value.is_null() {
                        put(&mut line, &key, value);
                    }
                }
            }
            open.entries.push(line);
        }
    }

    fn open(&mut self, path: &FramePath, attempt: u32) {
        let frame = self.run.frame(path);
        let stage = frame.and_then(|frame| stage_of(&self.machine, frame));
        let tool = stage.and_then(|stage| stage.completion_tool());
        self.all.push(Conversation {
            path: path.clone(),
            shown: shown_path(&self.machine, &self.run, path),
            attempt,
            entries: Vec::new(),
            transcript: Transcript::new(None, tool),
            is_over: false,
        });
    }

    /// Fills the texts of a stage again; a body with a different digest is not shown.
    fn begin(&mut self, path: &FramePath, digest: &Digest) {
        let (machine, run) = (&self.machine, &self.run);
        let stage = run.frame(path).and_then(|frame| stage_of(machine, frame));
        let body = stage.and_then(|stage| stage_text(machine, run, path, &stage.body));
        let body = body
            .and_then(Result::ok)
            .filter(|body| text_digest(body) == *digest);
        let task = match stage.map(|_| stage_task(machine, run, path)) {
            Some(Some(task)) => task.ok(),
            Some(None) => Some(BEGIN.to_owned()),
            None => None,
        };
        self.say(path, "system", json!({ "text": body }));
        self.say(path, "person", json!({ "text": task }));
    }

    fn model(&mut self, path: &FramePath, event: &Event) -> Result<(), Failure> {
        let Event::ModelResponded {
            turn,
            digest,
            finish,
            calls,
            usage,
            ms,
            ..
        } = event
        else {
            return Ok(());
        };
        let kept: KeptAnswer = read(&self.kept, digest)?;
        let calls: Vec<Value> = kept
            .answer
            .calls()
            .enumerate()
            .map(|(at, call)| {
                let id = calls.get(at).map(|call| &call.id);
                json!({ "call": id, "tool": call.name, "arguments": call.arguments })
            })
            .collect();
        self.say(
            path,
            "model",
            json!({
                "turn": turn, "text": kept.answer.text(), "calls": calls, "finish": finish,
                "usage": usage, "ms": ms,
            }),
        );
        Ok(())
    }

    fn result(&mut self, path: &FramePath, event: &Event) -> Result<(), Failure> {
        let Event::ToolEnded {
            call,
            ok,
            code,
            told,
            text,
            ..
        } = event
        else {
            return Ok(());
        };
        let text = match text {
            Some(text) => text.clone(),
            None => read::<KeptResult>(&self.kept, told)?.text,
        };
        self.say(
            path,
            "result",
            json!({ "call": call, "ok": ok, "code": code, "text": text }),
        );
        Ok(())
    }

    /// Adds the reminder at the end of a turn, if there was one.
    fn remind(&mut self, event: &Event) -> Result<(), Failure> {
        let kept = self.kept.clone();
        let mut said = Vec::new();
        for open in self.all.iter_mut().filter(|open| !open.is_over) {
            if Transcript::frame_of(event) != Some(&open.path) {
                continue;
            }
            let before = open.transcript.messages().len();
            let taken = open.transcript.take(event, &kept);
            taken.map_err(|error| anyhow::anyhow!("{error}"))?;
            let new = open.transcript.messages().iter().skip(before);
            let told = new.filter_map(|message| match message {
                interlock_models::Message::User { text } => Some(text.clone()),
                _ => None,
            });
            said.extend(told.map(|text| (open.path.clone(), text)));
        }
        for (path, text) in said {
            self.say(&path, "reminder", json!({ "text": text }));
        }
        Ok(())
    }
}

fn read<T: DeserializeOwned>(kept: &Messages, digest: &Digest) -> Result<T, Failure> {
    let bytes = kept.read(digest)?;
    Ok(serde_json::from_slice(&bytes)?)
}

fn source_word(source: &AllowSource) -> Value {
    serde_json::to_value(source).unwrap_or_default()
}

/// Formats a conversation for people.
pub(super) fn text(conversation: &Conversation) -> String {
    let mut text = format!("{}, attempt {}\n", conversation.shown, conversation.attempt);
    let mut model = String::new();
    for entry in &conversation.entries {
        let get = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        if get("role") == "request" {
            get("model").clone_into(&mut model);
            continue;
        }
        text.push_str(&format!("  {}\n", heading(entry, &model)));
        let said = match get("role") {
            "verdict" | "failure" | "end" => "",
            _ => get("text"),
        };
        for line in said.lines() {
            text.push_str(&format!("    {}\n", visible(line)));
        }
        for call in list(entry, "calls") {
            let get = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
            let line = format!("{} {} {}", get("call"), get("tool"), get("arguments"));
            text.push_str(&format!("    {}\n", visible(&line)));
        }
        for finding in list(entry, "findings").filter_map(Value::as_str) {
            text.push_str(&format!("    {}\n", visible(finding)));
        }
    }
    text
}

/// Formats the speaker and further details in one line.
fn heading(entry: &Value, model: &str) -> String {
    let get = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| entry.get(key).and_then(Value::as_u64).unwrap_or_default();
    let usage = entry
        .get("usage")
        .and_then(|usage| serde_json::from_value(usage.clone()).ok())
        .map_or_else(String::new, |usage| cost(&usage));
    let (call, code) = (get("call"), get("code"));
    let line = match get("role") {
        "model" => {
            let (turn, ms) = (number("turn"), number("ms"));
            format!("model {model}, message {turn} ({usage}, {ms} ms)")
        }
        "verdict" => match get("verdict") {
            "allow" => format!("{call} allowed by {}", get("source")),
            "ask" => format!("{call} asked of a person"),
            _ => format!(
                "{call} denied by {} ({code}): {}",
                get("source"),
                get("message")
            ),
        },
        "result" if code.is_empty() => format!("{call} result"),
        "result" => format!("{call} failed ({code})"),
        "completion" => {
            let fits = entry.get("ok") == Some(&Value::Bool(true));
            let what = if fits {
                "handed in"
            } else {
                "submitted, but does not match the schema"
            };
            format!("{call} {what}").trim_start().to_owned()
        }
        "failure" => format!("no message ({code}): {}", get("message")),
        "end" => {
            let why = match get("message") {
                "" => String::new(),
                why => format!(": {why}"),
            };
            let turns = number("turns");
            let messages = if turns == 1 { "message" } else { "messages" };
            format!("{} after {turns} {messages}, {usage}{why}", get("outcome"))
        }
        other => other.to_owned(),
    };
    visible(&line)
}

fn list<'v>(entry: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    entry
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}
