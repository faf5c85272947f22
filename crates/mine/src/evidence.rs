//! What was seen to pass before a phase began.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{call::ToolCall, facts::CommandClass};

use crate::{
    commands::{SUPPORT, line},
    level::Level,
};

/// Commands that passed since the last edit, each time that a phase began.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    now: BTreeSet<String>,
    /// By the phase that began; `None`: the session ended.
    seen: BTreeMap<Option<Level>, Vec<BTreeSet<String>>>,
}

impl Evidence {
    /// Forgets what the last session has seen.
    pub(crate) fn start(&mut self) {
        self.now.clear();
    }

    /// Notes that a phase begins.
    pub(crate) fn began(&mut self, phase: Option<Level>) {
        self.seen.entry(phase).or_default().push(self.now.clone());
    }

    /// Notes how a call ended.
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

    /// Returns the commands that had passed each time that a phase began.
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
