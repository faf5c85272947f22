//! Folds the events that change a region's conversation.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{enter, region_mut};
use crate::{
    data::{apply, contribution, parse_output},
    dialogue::{Conversation, Message, RunInput, Speaker, condense},
    event::Event,
    machine::DataFlags,
    names::StateName,
    run::{BeforeOutput, Frame, Run, RunKind},
};

/// Context key of the names of files that were attached to the run.
const FILE_NAMES: &str = "file_names";

/// Begins the conversation of the root frame.
pub(super) fn open(frame: &mut Frame, input: &RunInput) {
    frame.before = Some(Box::new(before(frame, StateName::new(""))));
    let parsed = parse_output(&input.text);
    let mut context = (*frame.line.context).clone();
    if let Value::Object(fields) = &parsed {
        for (key, value) in fields {
            // What was set by name counts.
            if !context.contains_key(key) {
                context.insert(key.clone(), value.clone());
            }
        }
    }
    if !input.attached.is_empty() {
        context.insert(FILE_NAMES.to_owned(), json!(input.attached));
    }
    let said = Message {
        by: Speaker::Person,
        text: input.text.clone(),
    };
    frame.line.context = Arc::new(context);
    frame.line.dialogue = Some(Arc::new(Conversation {
        history: if input.text.is_empty() {
            Vec::new()
        } else {
            vec![said]
        },
        task: Value::from(input.text.as_str()),
        ..Conversation::default()
    }));
    frame.line.output = Arc::new(parsed);
}

/// Folds an event of a conversation.
pub(super) fn apply_conversation(run: &mut Run, event: &Event) {
    let seq = run.seq;
    match event {
        Event::OutputKept {
            path,
            state,
            flags,
            may_change,
            spoken,
        } => {
            if let Some(frame) = run.frame_mut(path) {
                let undo = may_change.then(|| Box::new(before(frame, state.clone())));
                keep(frame, flags);
                if let (true, Some(dialogue)) = (*spoken, &mut frame.line.dialogue) {
                    Arc::make_mut(dialogue).last_speaker = Some(state.clone());
                }
                frame.before = undo;
                frame.stay.before_join = None;
            }
            if let Some(region) = region_mut(run, path) {
                region.before_join = None;
            }
        }
        Event::OutputChanged {
            path,
            state,
            text,
            at_ms,
            ..
        } => {
            if state.as_str().is_empty() {
                change_input(run, text, *at_ms);
                return;
            }
            if let Some(frame) = run.frame_mut(path)
                && let Some(before) = frame.before.take()
            {
                let steps = before.line.steps;
                frame.line = before.line;
                enter(frame, state, seq, *at_ms);
                // The line has entered that state already.
                frame.line.steps = steps;
                frame.line.output = Arc::new(Value::from(text.as_str()));
            }
        }
        Event::PersonSaid { path, text, .. } => {
            if let Some(frame) = run.frame_mut(path) {
                if let Value::Object(fields) = parse_output(text) {
                    frame.line.captured.extend(fields.keys().cloned());
                    Arc::make_mut(&mut frame.line.context).extend(fields);
                }
                let dialogue = Arc::make_mut(frame.line.dialogue.get_or_insert_default());
                dialogue.history.push(Message {
                    by: Speaker::Person,
                    text: text.clone(),
                });
            }
        }
        Event::HistoryCondensed {
            path,
            summary,
            usage,
            ..
        } => {
            run.spent = run.spent.plus(*usage);
            if let Some(frame) = run.frame_mut(path) {
                if let Some(progress) = frame.stay.stage_attempt_mut() {
                    progress.condensed = true;
                    progress.usage = progress.usage.plus(*usage);
                }
                if let (Some(summary), Some(dialogue)) = (summary, &mut frame.line.dialogue) {
                    let dialogue = Arc::make_mut(dialogue);
                    dialogue.history = condense::condensed(&dialogue.history, summary);
                }
            }
        }
        _ => {}
    }
}

fn before(frame: &Frame, state: StateName) -> BeforeOutput {
    BeforeOutput {
        state,
        line: frame.line.clone(),
    }
}

fn change_input(run: &mut Run, text: &str, at_ms: u64) {
    let seq = run.seq;
    let input = RunInput {
        text: text.to_owned(),
        attached: run
            .input()
            .map(|input| input.attached.clone())
            .unwrap_or_default(),
    };
    if let Some(before) = run.root.before.take() {
        run.root.line = before.line;
    }
    let at = run.root.at.clone();
    // The run has entered that state already.
    let steps = run.root.line.steps;
    enter(&mut run.root, &at, seq, at_ms);
    run.root.line.steps = steps;
    open(&mut run.root, &input);
    if let RunKind::Durable(durable) = &mut run.kind {
        Arc::make_mut(durable).input = Some(input);
    }
}

/// Adds the output of the current state to the context and the conversation.
fn keep(frame: &mut Frame, flags: &DataFlags) {
    let text = Conversation::text_of(&frame.line.output);
    let parsed = match frame.line.output.as_ref() {
        Value::String(text) => parse_output(text),
        other => other.clone(),
    };
    let mut context = (*frame.line.context).clone();
    let dialogue = Arc::make_mut(frame.line.dialogue.get_or_insert_default());
    let said = Message {
        by: if flags.as_person {
            Speaker::Person
        } else {
            Speaker::Model
        },
        text: text.clone(),
    };
    apply(
        flags,
        &mut context,
        &mut dialogue.history,
        said,
        (&parsed, &text),
    );
    dialogue.task = Value::String(text);
    dialogue.gathered = false;
    let mut given: Vec<String> = if flags.store {
        contribution(&parsed).keys().cloned().collect()
    } else {
        Vec::new()
    };
    given.extend(flags.output_key.clone());
    given.retain(|key| context.contains_key(key));
    let gone = frame
        .line
        .context
        .keys()
        .filter(|key| !context.contains_key(*key));
    frame.line.removed.extend(gone.cloned());
    if flags.append {
        frame.line.appended.extend(given.iter().cloned());
    }
    frame.line.captured.extend(given);
    frame.line.context = Arc::new(context);
    frame.line.output = Arc::new(parsed);
}
