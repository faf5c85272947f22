//! Folds the events of activities that Interlock runs: effects, items, variables.

use std::sync::Arc;

use interlock_expr::text::Caught;
use serde_json::Value;

use super::hooks;
use crate::{
    dialogue::Conversation,
    event::Event,
    machine::Object,
    names::FramePath,
    run::{Frame, Progress, Run, Running, RunningAt},
};

/// Maximum number of characters kept of the reason of a failed attempt.
const TROUBLE_MAX: usize = 300;

/// Folds an event of an effect.
pub(super) fn apply_effect(run: &mut Run, event: &Event) {
    match event {
        Event::EffectStarted {
            path,
            kind,
            attempt,
            input,
            file,
            at_ms,
        } => {
            if let Some(frame) = run.frame_mut(path) {
                let mut before = frame.stay.take_effect();
                // How long one ran that was cut off, nobody knows: its time begins anew.
                let known = before
                    .as_ref()
                    .filter(|before| before.at != RunningAt::Lost);
                let since_ms = known.map_or(*at_ms, |before| before.since_ms);
                let begins_anew = known.is_none();
                let trouble = before.as_ref().and_then(|before| before.trouble.clone());
                let same = before.as_mut().filter(|before| before.attempt == *attempt);
                let mut stage = same.and_then(|same| same.stage.take());
                if let Some(stage) = stage.as_mut().filter(|_| begins_anew) {
                    stage.started_ms = *at_ms;
                    stage.waited_ms = 0;
                }
                let input = match before {
                    Some(before) if input.is_null() => before.input,
                    _ => Arc::new(input.clone()),
                };
                frame.stay.progress = Progress::Effect(Running {
                    kind: kind.clone(),
                    attempt: *attempt,
                    input,
                    file: file.clone(),
                    at: RunningAt::Started,
                    since_ms,
                    trouble,
                    stage,
                });
            }
        }
        Event::AttemptFailed {
            path,
            error,
            again_ms,
            ..
        } => {
            stand(run, path, RunningAt::Waiting(*again_ms));
            let effect = run
                .frame_mut(path)
                .and_then(|frame| frame.stay.effect_mut());
            if let Some(effect) = effect {
                effect.trouble = Some(error.message.chars().take(TROUBLE_MAX).collect());
            }
        }
        Event::EffectLost { path } => stand(run, path, RunningAt::Lost),
        Event::ActivityEnded {
            path,
            output,
            error,
            key,
            ..
        } => {
            if let Some(frame) = run.frame_mut(path) {
                if let Some(key) = key {
                    let text = Conversation::text_of(output);
                    let context = Arc::make_mut(&mut frame.line.context);
                    context.insert(key.clone(), Value::from(text.trim()));
                    frame.line.captured.insert(key.clone());
                }
                frame.line.output = Arc::new(output.clone());
                frame.stay.take_effect();
            }
            hooks::on_output(run, path, error.as_ref());
        }
        _ => {}
    }
}

fn stand(run: &mut Run, path: &FramePath, at: RunningAt) {
    let effect = run
        .frame_mut(path)
        .and_then(|frame| frame.stay.effect_mut());
    if let Some(effect) = effect {
        effect.at = at;
    }
}

/// Stores the error that a transition handles.
pub(super) fn catch(frame: &mut Frame) {
    if let Some(failure) = &frame.stay.failure {
        frame.line.caught = Some(Arc::new(Caught {
            // A code that is a name counts as 1.
            code: failure.number().to_string(),
            name: failure.code_text(),
            state: failure.state.clone(),
            stderr: failure.stderr.clone(),
            stdout: failure.stdout.clone(),
            message: failure.message.clone(),
        }));
    }
}

/// Sets variables wherever they are visible from outside called machines.
pub(super) fn set_variables(frame: &mut Frame, values: &Object) {
    Arc::make_mut(&mut frame.line.context).extend(values.clone());
    for region in &mut frame.regions {
        let same = frame.stay.items().is_some() || region.frame.machine == frame.machine;
        if same {
            set_variables(&mut Arc::make_mut(region).frame, values);
        }
    }
}
