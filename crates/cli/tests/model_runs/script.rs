//! Answers of a case's models, and the requests that the case does not expect.

use std::sync::{Arc, Mutex, PoisonError};

use interlock_testkit::provider::{self, ModelRequest, Reply, Say, Script, Stop};
use serde_json::{Value, json};

use crate::model_runs::{
    case::{Model, Part, Turn, Wanted},
    check,
};

/// Models of one play.
#[derive(Clone)]
pub(crate) struct Models {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    models: Vec<(Model, usize)>,
    wrong: Vec<String>,
}

impl Models {
    pub(crate) fn new(models: &[Model]) -> Self {
        let models = models.iter().map(|model| {
            let turns = model.says.iter().flat_map(|turn| {
                let times = turn.times.unwrap_or(1);
                std::iter::repeat_n(turn.clone(), times)
            });
            let says = turns.collect();
            let text = model.text.clone();
            let may_end = model.may_end;
            let model = Model {
                text,
                says,
                may_end,
            };
            (model, 0)
        });
        Self {
            shared: Arc::new(Mutex::new(Shared {
                models: models.collect(),
                wrong: Vec::new(),
            })),
        }
    }

    pub(crate) fn script(&self) -> Script {
        let models = self.clone();
        Script::new(move |asked| models.reply(asked))
    }

    fn reply(&self, asked: &ModelRequest) -> Reply {
        let text = texts(&asked.body);
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Shared { models, wrong } = &mut *shared;
        let found = models
            .iter_mut()
            .find(|(model, _)| text.contains(&model.text));
        let turn = found.and_then(|(model, next)| {
            let turn = model.says.get(*next)?;
            *next += 1;
            Some((turn, format!("message {next} for `{}`", model.text)))
        });
        let Some((turn, name)) = turn else {
            let from = text.chars().count().saturating_sub(400);
            let end: String = text.chars().skip(from).collect();
            wrong.push(format!("no model answers a request, whose end is {end:?}"));
            return Reply::status(400, &json!({"error": {"message": "the case says nothing"}}));
        };
        if let Some(wanted) = &turn.asked {
            let found = differences(wanted, asked, &text);
            wrong.extend(found.into_iter().map(|found| format!("{name}: {found}")));
        }
        said(turn)
    }

    /// Returns the requests that differ from the case, and the messages that were never requested.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wrong = shared.wrong.clone();
        for (model, used) in &shared.models {
            let left = model.says.len() - used;
            if left > 0 && !model.may_end {
                wrong.push(format!(
                    "{left} messages for `{}` were not asked for",
                    model.text
                ));
            }
        }
        wrong
    }
}

fn said(turn: &Turn) -> Reply {
    let stop = match turn.stop.as_deref() {
        None => Stop::Done,
        Some("length") => Stop::Length,
        Some("refused") => Stop::Refused,
        Some(other) => panic!("no message stops for `{other}`"),
    };
    let mut reply = match turn.status {
        Some(status) => {
            let error = json!({"error": {"type": "scripted", "message": "as the case wants it"}});
            Reply::status(status, &error)
        }
        None => Reply::stopped(turn.say.iter().flat_map(part).collect(), stop),
    };
    for (name, value) in &turn.headers {
        reply = reply.with_header(name, value);
    }
    match turn.broken_at {
        Some(bytes) => reply.broken_at(bytes),
        None => reply,
    }
}

fn part(part: &Part) -> Vec<Say> {
    let say = match (&part.text, &part.thinking, &part.tool) {
        (Some(text), None, None) => provider::text(text),
        (None, Some(text), None) => Say::Thinking(text.clone()),
        (None, None, Some(tool)) => match (&part.input, &part.raw) {
            (Some(input), None) => provider::call(tool, input),
            (None, Some(raw)) => provider::raw_call(tool, raw),
            (None, None) => provider::call(tool, json!({})),
            (Some(_), Some(_)) => panic!("a call has `input` or `raw`"),
        },
        _ => panic!("a part is a `text`, a `thinking` or a `tool`"),
    };
    vec![say; part.times.unwrap_or(1)]
}

fn differences(wanted: &Wanted, asked: &ModelRequest, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let lacking = wanted.has.iter().filter(|part| !text.contains(*part));
    wrong.extend(lacking.map(|part| format!("the request lacks {part:?}")));
    let there = wanted.lacks.iter().filter(|part| text.contains(*part));
    wrong.extend(there.map(|part| format!("the request has {part:?}")));
    if let Some(wanted) = &wanted.tools {
        let (mut wanted, mut found) = (wanted.clone(), tools(&asked.body));
        wanted.sort();
        found.sort();
        if wanted != found {
            wrong.push(format!("its tools are {found:?}"));
        }
    }
    if let Some(wanted) = &wanted.results {
        let found = asked.results();
        let fits = |(wanted, found): (&String, &String)| found.contains(wanted);
        if wanted.len() != found.len() || !wanted.iter().zip(&found).all(fits) {
            wrong.push(format!("its results are {found:?}"));
        }
    }
    if let Some(wanted) = &wanted.body
        && !check::fits(wanted, &asked.body)
    {
        wrong.push(format!("its body is {}", asked.body));
    }
    wrong
}

/// Returns the names of the tools in a request.
fn tools(body: &Value) -> Vec<String> {
    let all = body["tools"].as_array().into_iter().flatten();
    let name = |tool: &Value| {
        let name = tool.get("name").unwrap_or(&tool["function"]["name"]);
        name.as_str().map(str::to_owned)
    };
    all.filter_map(name).collect()
}

/// Returns all texts of the prompt and the messages of a request.
fn texts(body: &Value) -> String {
    let mut all = String::new();
    collect(&body["system"], &mut all);
    collect(&body["messages"], &mut all);
    all
}

fn collect(value: &Value, all: &mut String) {
    match value {
        Value::String(text) => {
            all.push_str(text);
            all.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, all)),
        Value::Object(members) => members.values().for_each(|value| collect(value, all)),
        _ => {}
    }
}
