//! Calls with an id, several of which may be open at a time.

use std::collections::BTreeMap;

use interlock_core::{
    command::{CommandKind, LineEnd, LineStart},
    facts::SimpleCommand,
    names::{CallId, FramePath},
    run::Run,
};

use super::{Simulation, ended};
use crate::{input::LineEndLine, output::OutputLine};

/// Calls that were proposed with an id, whatever their outcome.
#[derive(Debug, Clone, Default)]
pub(super) struct NamedCalls(BTreeMap<String, NamedCall>);

/// A call that was proposed with an id.
#[derive(Debug, Clone)]
pub(super) struct NamedCall {
    /// Commands of its shell line.
    pub(super) commands: Vec<SimpleCommand>,
    /// Frame of the call.
    path: FramePath,
}

impl NamedCalls {
    /// Stores what later lines about the call need.
    pub(super) fn begin(&mut self, id: String, commands: Vec<SimpleCommand>, run: &Run) {
        let open = run.calls.iter().find(|call| call.id.as_str() == id);
        let path = open.map_or_else(FramePath::root, |call| call.path.clone());
        self.0.insert(id, NamedCall { commands, path });
    }

    /// Returns the call with `id`.
    ///
    /// # Errors
    /// Returns which ids there are.
    pub(super) fn get(&self, id: &str) -> Result<&NamedCall, String> {
        self.0.get(id).ok_or_else(|| {
            let known: Vec<String> = self.0.keys().map(|id| format!("`{id}`")).collect();
            if known.is_empty() {
                format!("no call has the id `{id}`; a `tool` line gives one with \"id\"")
            } else {
                format!("no call has the id `{id}`; there are {}", known.join(", "))
            }
        })
    }
}

impl Simulation {
    /// Refuses an id that could be confused with that of another call.
    pub(super) fn may_begin(&self, id: &str) -> Result<(), String> {
        if self.stages.is_open() {
            return Err(format!(
                "`id`: calls of a stage run one by one; leave `{id}` out"
            ));
        }
        let mut open = self.run.calls.iter();
        match open.find(|call| call.id.as_str() == id && !call.asked) {
            Some(_) => Err(format!(
                "the call `{id}` is open; end it first, or take another id"
            )),
            None => Ok(()),
        }
    }

    pub(super) fn line_started(&mut self, id: &str) -> OutputLine {
        let ask = CommandKind::StartLine(LineStart {
            call: CallId::new(id),
            level: self.setting.level.as_str().to_owned(),
            unconfined: Vec::new(),
        });
        self.answer(ask, format!("the line of `{id}` has begun"), false)
    }

    pub(super) fn line_ended(&mut self, end: &LineEndLine) -> OutputLine {
        let (path, commands) = match self.named.get(&end.id) {
            Ok(named) => (
                named.path.clone(),
                ended::probed(&end.commands, &named.commands),
            ),
            Err(_) => (FramePath::root(), Vec::new()),
        };
        let checked = self.reports.checked(
            (&self.machine, &self.run),
            Some(&end.id),
            &end.reports,
            &end.frozen,
        );
        let ask = CommandKind::EndLine(LineEnd {
            call: CallId::new(&end.id),
            path,
            exit: end.exit,
            wrote: self.written(&end.wrote),
            commands,
            unseen: end.unseen,
            checked,
        });
        self.answer(ask, format!("the line of `{}` has ended", end.id), false)
    }
}
