//! The conversation of a region: stored outputs, and messages of a person before a state begins.

use interlock_expr::template::UnrenderedBlock;

use super::{Work, transitions::state_of};
use crate::{
    command::Answer,
    conversation::{OutputBefore, Undo, output_before, outputs_before},
    event::{Cause, Event},
    holds::{conditions, unreadable},
    machine::{Machine, Rule, Target},
    names::{EventName, FramePath},
    refusal::{Code, Refusal},
    run::{DurableRun, Request},
};

/// Maximum number of conditions of one choice that are recorded.
const CONDITIONS_MAX: usize = 16;
/// Maximum number of outputs that a refusal names.
const NAMED_MAX: usize = 20;

/// Gives a new run the input of its conversation, if its machine has one.
pub(super) fn opened(machine: &Machine, run: DurableRun) -> DurableRun {
    let input = machine.conversation.is_some();
    let input = input.then(|| run.input.unwrap_or_default());
    DurableRun { input, ..run }
}

impl Work<'_> {
    /// Records the blocks of templates that could not be filled in the texts of a state.
    pub(super) fn note_unfilled(&mut self, path: &FramePath, left: Vec<UnrenderedBlock>) {
        let mut seen: Vec<String> = Vec::new();
        for UnrenderedBlock { block, reason } in left {
            if seen.contains(&block) {
                continue;
            }
            let message = format!("`{block}` stays as it is written: {reason}");
            seen.push(block);
            self.note(path, "template_left", message);
        }
    }

    pub(super) fn note(&mut self, path: &FramePath, code: &str, message: String) {
        self.emit(Event::Noted {
            path: path.clone(),
            code: code.to_owned(),
            message,
        });
    }

    /// Stores the output of the state at `path`, if it counts.
    pub(super) fn keep_output(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let Some(flags) = state_of(machine, frame)?.data.clone() else {
            return Ok(());
        };
        let state = frame.at.clone();
        let spoken = state_of(machine, frame)?.speaks;
        let may_change = machine
            .states
            .values()
            .any(|state| state.approval_before.is_some());
        self.emit(Event::OutputKept {
            path: path.clone(),
            state,
            flags,
            may_change,
            spoken,
        });
        Ok(())
    }

    /// Records which guards of `rule` cannot be evaluated; if the rules are strict, returns the failure.
    pub(super) fn note_unreadable(
        &mut self,
        path: &FramePath,
        event: &EventName,
    ) -> Result<Option<Cause>, Refusal> {
        let Some(rules) = &self.machine.conversation else {
            return Ok(None);
        };
        let (frame, machine) = self.stand(path)?;
        let scope = self.scope(machine, frame);
        let rule: Option<&Rule> = state_of(machine, frame)?.on.get(event);
        let found = rule.map(|rule| unreadable(scope, rule)).unwrap_or_default();
        if let (true, Some(first)) = (rules.strict, found.first()) {
            let message = format!("`{}`: {}", first.guard, first.reason);
            return Ok(Some(Cause::new("expression_error", message)));
        }
        for unmet in found {
            let message = format!("`{}` counts as not met: {}", unmet.guard, unmet.reason);
            self.note(path, "expression_error", message);
        }
        Ok(None)
    }

    /// Records the values that the conditions of the selected transition saw.
    pub(super) fn note_conditions(
        &mut self,
        path: &FramePath,
        event: &EventName,
        index: usize,
        to: &Target,
    ) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let scope = self.scope(machine, frame);
        let rule: Option<&Rule> = state_of(machine, frame)?.on.get(event);
        let mut seen = rule.map_or_else(Vec::new, |rule| conditions(scope, rule, index));
        if seen.is_empty() {
            return Ok(());
        }
        // Those asked last decided.
        let more = seen.len().saturating_sub(CONDITIONS_MAX);
        seen.drain(..more);
        let state = machine.shown(&frame.at).clone();
        self.emit(Event::TransitionSelected {
            path: path.clone(),
            state,
            conditions: seen,
            more,
            to: to.clone(),
        });
        Ok(())
    }

    /// Adds a person's message to the conversation of the region at `path`.
    pub(super) fn say(&mut self, path: &FramePath, answer: &Answer) {
        if let Some(text) = &answer.message {
            self.emit(Event::PersonSaid {
                path: path.clone(),
                text: text.clone(),
                by: answer.by.clone(),
                at_ms: self.at_ms,
            });
        }
    }

    /// Changes the output that a waiting region depends on, and selects the transition again.
    ///
    /// If the transition leads to the state that was waiting, that state begins. For any other state, a person is asked anew.
    pub(super) fn change_and_admit(
        &mut self,
        waiting: &Request,
        answer: &Answer,
    ) -> Result<(), Refusal> {
        let (frame, _) = self.stand(&waiting.path)?;
        let meant = frame.at.clone();
        let OutputBefore {
            path: holder,
            state,
            undo,
            ..
        } = self.changeable(&waiting.path, answer.of.as_deref())?;
        for undo in &undo {
            let (path, line) = match undo {
                Undo::Lines(line) => {
                    let Some((path, name)) = line.split_last() else {
                        continue;
                    };
                    (path, name.to_owned())
                }
                Undo::Items(path, item) => (path.clone(), item.clone()),
            };
            self.emit(Event::Parted { path, line });
        }
        let have_met = matches!(undo.first(), Some(Undo::Lines(_)));
        let is_opening = state.as_str().is_empty();
        self.emit(Event::OutputChanged {
            path: holder.clone(),
            state,
            text: answer.edit.clone().unwrap_or_default(),
            by: answer.by.clone(),
            at_ms: self.at_ms,
        });
        if is_opening {
            self.settle(&holder)?;
        } else {
            self.on_output(&holder)?;
        }
        for path in self.run.open_leaves() {
            let held = self.run.frame(&path).filter(|frame| frame.at == meant);
            let asked = held.and_then(|frame| frame.stay.entry_request());
            let Some(again) = asked.cloned() else {
                continue;
            };
            let is_there = path == waiting.path || holder.holds(&path);
            if is_there || (have_met && is_beside(&waiting.path, &path)) {
                self.answer(&again, &answer.by, true, answer.note.as_deref());
                self.say(&path, answer);
                self.settle(&path)?;
            }
        }
        Ok(())
    }

    /// Refuses an answer with a message or a change that is not possible here.
    pub(super) fn may_answer_with(&self, path: &FramePath, answer: &Answer) -> Result<(), Refusal> {
        let talks = answer.message.is_some() || answer.edit.is_some();
        if talks && self.machine.conversation.is_none() {
            return Err(Refusal::new(
                Code::InvalidArguments,
                "this run has no conversation: there is no output to edit and nobody to tell",
            ));
        }
        let is_blank =
            |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
        if is_blank(&answer.edit) || is_blank(&answer.message) {
            return Err(Refusal::new(
                Code::InvalidArguments,
                "the new text is empty: say what it should be",
            ));
        }
        if answer.edit.is_some() {
            self.changeable(path, answer.of.as_deref())?;
        }
        Ok(())
    }

    /// Finds the output that the region at `path` begins with, or the one of several that `of` names.
    fn changeable(&self, path: &FramePath, of: Option<&str>) -> Result<OutputBefore, Refusal> {
        output_before(self.machine, &self.run, path, of).ok_or_else(|| {
            let outputs = outputs_before(self.machine, &self.run, path);
            let message = match (outputs.as_slice(), of) {
                ([], _) => "the output before cannot be edited here: others that rest on it have begun, or it is that of many".to_owned(),
                ([only], of) => {
                    let of = of.unwrap_or_default();
                    format!("the output before is that of `{}`, not of `{of}`", only.title)
                }
                (several, _) => {
                    let named = several.iter().take(NAMED_MAX);
                    let mut names: Vec<String> =
                        named.map(|output| format!("`{}`", output.title)).collect();
                    if several.len() > NAMED_MAX {
                        names.push(format!("{} more", several.len() - NAMED_MAX));
                    }
                    let names = names.join(" or ");
                    format!("several outputs are before: say which one is edited, {names}")
                }
            };
            Refusal::new(Code::InvalidArguments, message)
        })
    }
}

/// Returns whether two regions belong to one fork.
fn is_beside(one: &FramePath, other: &FramePath) -> bool {
    let parent = |path: &FramePath| path.split_last().map(|(parent, _)| parent);
    parent(one) == parent(other)
}
