//! `state_processor_node`: what ended states gave, put together.

use interlock_expr::template::{Missing, Values};
use serde_json::{Value, json};

use crate::{Inputs, NodeError, NodeOutput, RecordsNode, tool::TEMPLATE};
use interlock_core::{
    data::parse_output,
    dialogue::Conversation,
    event::Event,
    evolve,
    machine::{Activity, Machine, Object},
    names::{FramePath, RunId, StateName},
    run::{Frame, Run},
};

/// How a state ended that gave an output.
pub const SUCCEEDED: &str = "succeeded";
/// How a state ended otherwise.
pub const FAILED: &str = "failed";

/// What an ended state gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The state, as paths show it.
    pub state: StateName,
    /// Whether it succeeded.
    pub ok: bool,
    /// Its output; of one that failed, the sentence of its error.
    pub output: Value,
    /// Where it stood.
    path: FramePath,
    /// Sequence number of its entry.
    entered: u64,
}

impl Record {
    /// Returns the word for how it ended.
    #[must_use]
    pub const fn status(&self) -> &'static str {
        if self.ok { SUCCEEDED } else { FAILED }
    }
}

/// Collects what the states of a run gave that programs and models carried out, in the order they began.
///
/// An output that a person has changed is the changed one.
#[must_use]
pub fn all(machine: &Machine, events: &[Event]) -> Vec<Record> {
    let mut run = Run::new(RunId::new(""));
    let mut records: Vec<Record> = Vec::new();
    for event in events {
        match event {
            Event::ActivityEnded {
                path,
                output,
                error,
                ..
            } => {
                let failed = error.as_ref().map(|error| error.message.as_str());
                records.extend(record(machine, &run, path, output, failed));
            }
            Event::StageExited {
                path,
                payload,
                error,
                again: false,
                ..
            } => {
                let failed = error.as_ref().map(|error| error.message.as_str());
                records.extend(record(machine, &run, path, payload, failed));
            }
            Event::OutputChanged {
                path, state, text, ..
            } => {
                let mut before = records.iter_mut().rev();
                let changed = before.find(|one| one.path == *path && one.state == *state);
                if let Some(changed) = changed {
                    changed.output = Value::String(text.clone());
                }
            }
            _ => {}
        }
        run = evolve(run, event);
    }
    // Which of several lines is first at its end is chance, at its beginning it is not.
    records.sort_by_cached_key(|record| (record.entered, places(&record.path)));
    records
}

/// Returns the names of a path, numbers by their value.
fn places(path: &FramePath) -> Vec<(u64, String)> {
    let names = path.names().iter();
    let place = |name: &str| (name.parse().unwrap_or(u64::MAX), name.to_owned());
    names.map(|name| place(name)).collect()
}

fn record(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    output: &Value,
    failed: Option<&str>,
) -> Option<Record> {
    let frame: &Frame = run.frame(path)?;
    let machine = machine.called(frame.machine.as_ref())?;
    let activity = &machine.states.get(&frame.at)?.activity;
    matches!(activity, Activity::Task(_) | Activity::Stage(_)).then(|| Record {
        state: machine.shown(&frame.at).clone(),
        ok: failed.is_none(),
        output: failed.map_or_else(|| output.clone(), Value::from),
        path: path.clone(),
        entered: frame.stay.entered_seq,
    })
}

/// Returns those that a node wants: of states that begin with its `state`, none of its own.
#[must_use]
pub fn wanted(records: Vec<Record>, node: &RecordsNode, own: &StateName) -> Vec<Record> {
    let wants = |record: &Record| {
        record.state != *own
            && record.state.as_str().starts_with(&node.state)
            && node.statuses.iter().any(|status| status == record.status())
    };
    records.into_iter().filter(wants).collect()
}

/// Makes the item of a record, the `number`-th from 1.
///
/// `said` is what a model made of it; `None`: its own output is taken.
#[must_use]
pub fn item(record: &Record, number: usize, said: Option<&str>) -> Value {
    let parse = |text: &str| parse_output(text);
    let output = match &record.output {
        Value::String(text) => parse(text),
        other => other.clone(),
    };
    let base = said.map_or_else(|| output.clone(), parse);
    let mut fields = match base {
        Value::Object(fields) => fields,
        other => {
            let mut fields = Object::new();
            fields.insert("result".to_owned(), other);
            fields
        }
    };
    fields.insert("state_id".to_owned(), json!(record.state));
    fields.insert("status".to_owned(), json!(record.status()));
    fields.insert("index".to_owned(), json!(number));
    fields.insert("output".to_owned(), output);
    Value::Object(fields)
}

/// Writes what a model is asked of a record.
///
/// # Errors
/// `template_error`.
pub fn request(
    node: &RecordsNode,
    record: &Record,
    number: usize,
    given: &Inputs,
) -> Result<String, NodeError> {
    let mut given = given.clone();
    let item = item(record, number, None);
    given.beside.insert("item".to_owned(), item);
    let task = match &node.task {
        Some(task) => crate::tool::fill(task, given.values(), node.strict)?.0,
        None => String::new(),
    };
    let output = Conversation::text_of(&record.output);
    Ok(format!(
        "{task}\n\nThe output of the state `{}`:\n{output}",
        record.state
    ))
}

/// Makes the output of the node of its items.
///
/// # Errors
/// `template_error`.
pub fn output(
    node: &RecordsNode,
    items: Vec<Value>,
    given: &Inputs,
) -> Result<NodeOutput, NodeError> {
    let Some(template) = &node.output else {
        return Ok(NodeOutput {
            output: Value::Array(items),
            warnings: Vec::new(),
        });
    };
    let mut context = (*given.context).clone();
    context.insert("items".to_owned(), Value::Array(items));
    let values = Values {
        context: &context,
        beside: &given.beside,
    };
    let missing = match node.strict {
        true => Missing::Fails,
        false => Missing::Stays,
    };
    let rendered = template
        .render(values, missing)
        .map_err(|failure| NodeError::new(TEMPLATE, failure.reason))?;
    let left = rendered.left.iter();
    Ok(NodeOutput {
        output: Value::String(rendered.result),
        warnings: left
            .map(|left| format!("`{}` stays as it is written: {}", left.block, left.reason))
            .collect(),
    })
}
