//! `state_processor_node`: combines the outputs of ended states.

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

/// The status of a state that gave an output.
pub const SUCCEEDED: &str = "succeeded";
/// The status of a state that failed.
pub const FAILED: &str = "failed";

/// The output of an ended state.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The state, as paths show it.
    pub state: StateName,
    /// Whether it succeeded.
    pub ok: bool,
    /// Its output; the message of its error if it failed.
    pub output: Value,
    /// The path of its frame.
    path: FramePath,
    /// Sequence number of its entry.
    entered: u64,
}

impl Record {
    /// Returns the word for its status.
    #[must_use]
    pub const fn status(&self) -> &'static str {
        if self.ok { SUCCEEDED } else { FAILED }
    }
}

/// Collects the outputs of a run's states with a task or a stage, in the order in which the states were entered.
///
/// If a person has changed an output, the changed one is taken.
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
    // Which of several threads ends first is chance; the order in which they begin is not.
    records.sort_by_cached_key(|record| (record.entered, places(&record.path)));
    records
}

/// Returns a sort key for a path: names that are numbers sort by their value.
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

/// Returns the records that a node selects: of states whose names begin with its `state`, except its own.
#[must_use]
pub fn wanted(records: Vec<Record>, node: &RecordsNode, own: &StateName) -> Vec<Record> {
    let wants = |record: &Record| {
        record.state != *own
            && record.state.as_str().starts_with(&node.state)
            && node.statuses.iter().any(|status| status == record.status())
    };
    records.into_iter().filter(wants).collect()
}

/// Returns the item for a record; `number` counts from 1.
///
/// `said` is a model's answer about the record; `None` takes the record's own output.
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

/// Returns the request to a model about a record.
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

/// Returns the output of the node from its items.
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
