//! Records which commands passed before a phase began.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{call::ToolCall, facts::CommandClass};

use crate::{
    commands::{SUPPORT, line},
    level::Level,
};

/// The commands that had passed since the last edit, at the beginning of each phase.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    now: BTreeSet<String>,
    /// The sets of commands by the phase that began; `None` for the end of a session.
    seen: BTreeMap<Option<Level>, Vec<BTreeSet<String>>>,
}

impl Evidence {
    /// Starts a new session.
    pub(crate) fn start(&mut self) {
        self.now.clear();
    }

    /// Records that a phase begins; `None` if the session ends.
    pub(crate) fn began(&mut self, phase: Option<Level>) {
        self.seen.entry(phase).or_default().push(self.now.clone());
    }

    /// Records how a call ended.
    pub(crate) fn ended(&mut self, call: &ToolCall, exit: Option<i64>) {
        if !call.facts.writes.is_empty() {
            self.now.clear();
        }
        let shell = call.facts.shell.iter().flat_map(|shell| &shell.commands);
        for command in shell.filter(|command| command.class == CommandClass::ProjectCode) {
            let words = command
                .words
                .iter()
                .map(|word| word.literal().map(str::to_owned));
            let Some(words) = words.collect::<Option<Vec<_>>>() else {
                continue;
            };
            if exit == Some(0) && command.proves_success {
                self.now.insert(line(&words));
            } else {
                self.now.remove(&line(&words));
            }
        }
    }

    /// Returns the commands that had passed every time the phase began, if it began often enough.
    pub(crate) fn before(&self, phase: Option<Level>) -> Vec<String> {
        let Some(seen) = self.seen.get(&phase).filter(|seen| seen.len() >= SUPPORT) else {
            return Vec::new();
        };
        let mut sets = seen.iter();
        let Some(first) = sets.next() else {
            return Vec::new();
        };
        let common = sets.fold(first.clone(), |common, set| {
            common.intersection(set).cloned().collect()
        });
        common.into_iter().collect()
    }
}
