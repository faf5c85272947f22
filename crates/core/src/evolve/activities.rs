//! Folds what Interlock itself carries out: effects, items, variables.

use std::sync::Arc;

use interlock_expr::text::Caught;
use serde_json::Value;

use crate::{
    event::{BranchOutcome, BranchStart, Cause, Event},
    machine::Object,
    names::FramePath,
    run::{Frame, Items, Phase, Region, Run, Running, RunningAt},
};

/// Characters of the reason of a failed try that are kept.
const TROUBLE_MAX: usize = 300;

/// Folds an event of an effect.
pub(super) fn apply_effect(run: &mut Run, event: &Event) {
    let durable = run.places.is_some();
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
                let before = frame.stay.effect.take();
                // How long one ran that was cut off, nobody knows: its time begins anew.
                let known = before
                    .as_ref()
                    .filter(|before| before.at != RunningAt::Lost);
                if known.is_none()
                    && let Some(acting) = &mut frame.stay.acting
                {
                    acting.started_ms = *at_ms;
                    acting.waited_ms = 0;
                }
                let since_ms = known.map_or(*at_ms, |before| before.since_ms);
                let trouble = before.as_ref().and_then(|before| before.trouble.clone());
                if before
                    .as_ref()
                    .is_some_and(|before| before.attempt != *attempt)
                {
                    frame.stay.acting = None;
                }
                let input = match before {
                    Some(before) if input.is_null() => before.input,
                    _ => Arc::new(input.clone()),
                };
                frame.stay.effect = Some(Running {
                    kind: kind.clone(),
                    attempt: *attempt,
                    input,
                    file: file.clone(),
                    at: RunningAt::Started,
                    since_ms,
                    trouble,
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
                .and_then(|frame| frame.stay.effect.as_mut());
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
                    let text = output
                        .as_str()
                        .map_or_else(|| output.to_string(), str::to_owned);
                    let context = Arc::make_mut(&mut frame.line.context);
                    context.insert(key.clone(), Value::from(text.trim()));
                    frame.line.captured.insert(key.clone());
                }
                frame.line.output = Arc::new(output.clone());
                if durable {
                    frame.stay.failure = error.clone().map(Cause::shortened);
                }
                frame.stay.effect = None;
            }
        }
        _ => {}
    }
}

fn stand(run: &mut Run, path: &FramePath, at: RunningAt) {
    let effect = run
        .frame_mut(path)
        .and_then(|frame| frame.stay.effect.as_mut());
    if let Some(effect) = effect {
        effect.at = at;
    }
}

/// Folds an event of a machine that runs for each item.
pub(super) fn apply_items(run: &mut Run, event: &Event) {
    let seq = run.seq;
    match event {
        Event::ItemsListed { path, items } => {
            if let Some(frame) = run.frame_mut(path) {
                frame.stay.items = Some(Items {
                    all: Arc::new(items.clone()),
                    ended: 0,
                    failed: 0,
                    hidden: Vec::new(),
                });
            }
        }
        Event::ItemStarted {
            path,
            index,
            machine,
            initial,
            keys: (item, number),
            at_ms,
        } => {
            run.entered += 1;
            let Some(frame) = run.frame_mut(path) else {
                return;
            };
            let Some(items) = &mut frame.stay.items else {
                return;
            };
            let text = usize::try_from(*index)
                .ok()
                .and_then(|index| items.all.get(index))
                .cloned()
                .unwrap_or_default();
            items.hidden = [item, number]
                .map(|key| (key.clone(), frame.line.context.get(key).cloned()))
                .to_vec();
            let mut context = Arc::clone(&frame.line.context);
            let values = Arc::make_mut(&mut context);
            values.insert(item.clone(), Value::from(text));
            values.insert(number.clone(), Value::from(index.to_string()));
            let mut inner =
                Frame::entering(Some(machine.clone()), initial.clone(), context, seq, *at_ms);
            inner.line.caught.clone_from(&frame.line.caught);
            frame.regions = vec![Arc::new(Region::open(&index.to_string(), inner))];
        }
        Event::ItemEnded { path, cause, .. } => {
            let Some(frame) = run.frame_mut(path) else {
                return;
            };
            if let (Some(region), Some(items)) = (frame.regions.pop(), frame.stay.items.as_mut()) {
                let mut region = Arc::unwrap_or_clone(region);
                let context = Arc::make_mut(&mut region.frame.line.context);
                for (key, before) in std::mem::take(&mut items.hidden) {
                    match before {
                        Some(before) => drop(context.insert(key, before)),
                        None => drop(context.shift_remove(&key)),
                    }
                }
                items.ended += 1;
                items.failed += u64::from(cause.is_some());
                frame.line.context = region.frame.line.context;
                frame.line.captured.extend(region.frame.line.captured);
                frame.line.caught = region.frame.line.caught;
            }
            frame.regions = Vec::new();
        }
        Event::ItemsEnded { path, cause, .. } => {
            if let Some(frame) = run.frame_mut(path) {
                frame.stay.items = None;
                frame.line.output = Arc::default();
                frame.stay.failure.clone_from(cause);
            }
        }
        _ => {}
    }
}

/// Opens the next branch of a fork.
pub(super) fn open_branch(frame: &mut Frame, branch: &BranchStart, seq: u64, ms: u64) {
    let mut context = Arc::clone(&frame.line.context);
    if !branch.context.is_empty() {
        Arc::make_mut(&mut context).extend(branch.context.clone());
    }
    let mut region = Frame::entering(
        frame.machine.clone(),
        branch.initial.clone(),
        context,
        seq,
        ms,
    );
    region.line.caught.clone_from(&frame.line.caught);
    region.line.dialogue.clone_from(&frame.line.dialogue);
    region.line.steps = frame.line.steps + u64::from(frame.line.dialogue.is_some());
    let region = Region::open(&branch.name, region);
    frame.regions.push(Arc::new(region));
}

/// Notes the error that a transition handles.
pub(super) fn catch(frame: &mut Frame) {
    if let Some(failure) = &frame.stay.failure {
        frame.line.caught = Some(Arc::new(Caught {
            code: code_text(failure),
            name: failure
                .code
                .as_str()
                .map_or_else(|| failure.code.to_string(), str::to_owned),
            state: failure.state.clone(),
            stderr: failure.stderr.clone(),
            stdout: failure.stdout.clone(),
            message: failure.message.clone(),
        }));
    }
}

/// Writes a code as texts name it: a named one counts as 1.
fn code_text(failure: &Cause) -> String {
    failure.number().to_string()
}

/// Sets variables everywhere they are visible from outside of called machines.
pub(super) fn set_variables(frame: &mut Frame, values: &Object) {
    Arc::make_mut(&mut frame.line.context).extend(values.clone());
    for region in &mut frame.regions {
        let same = frame.stay.items.is_some() || region.frame.machine == frame.machine;
        if same {
            set_variables(&mut Arc::make_mut(region).frame, values);
        }
    }
}

/// Follows another version of the workflow: every frame that stands enters its state once more.
pub(super) fn adopt(run: &mut Run, hash: &str, variables: &Object, at_ms: u64) {
    let seq = run.seq;
    run.adopted = Some(hash.to_owned());
    set_variables(&mut run.root, variables);
    enter_again(&mut run.root, seq, at_ms, false);
}

/// Opens a run again: every frame that failed or stood enters its state once more.
pub(super) fn reopen(run: &mut Run, at_ms: u64) {
    let seq = run.seq;
    run.phase = Phase::Open;
    enter_again(&mut run.root, seq, at_ms, true);
}

/// Opens a branch that had failed again.
pub(super) fn reopen_branch(region: &mut Region, seq: u64, at_ms: u64) {
    region.ended = None;
    enter_again(&mut region.frame, seq, at_ms, true);
}

/// Enters the state of every frame that stands once more; branches that `failed` wait for their turn to.
fn enter_again(frame: &mut Frame, seq: u64, at_ms: u64, failed: bool) {
    for region in frame.regions.iter_mut().map(Arc::make_mut) {
        match region.ended {
            None => enter_again(&mut region.frame, seq, at_ms, failed),
            Some(BranchOutcome::Failed | BranchOutcome::Cancelled) if failed => {
                region.ended = Some(BranchOutcome::Waiting);
                region.cause = None;
            }
            Some(_) => {}
        }
    }
    if frame.regions.is_empty() {
        frame.stay.entered_seq = seq;
        frame.stay.entered_ms = at_ms;
        frame.stay.effect = None;
        frame.stay.acting = None;
        frame.stay.failure = None;
        frame.stay.request = None;
    }
}
