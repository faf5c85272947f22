//! What a copy, a move or a link writes if its target is a directory.

use interlock_core::facts::{PathText, PathUse, SimpleCommand, Word};

use super::{Reader, counted, program, spread};
use crate::{
    disk::Kind,
    path::{is_within, plain},
};

/// Programs that write into their last operand if it is a directory.
const COPIERS: [&str; 4] = ["cp", "mv", "ln", "install"];

impl Reader<'_> {
    /// Returns what a copy into an existing directory really writes.
    pub(super) fn targets(&self, path: &str, used: &PathUse) -> Vec<String> {
        let by = &used.by;
        let command = self.shell.commands.iter().find(|command| {
            program(command).is_some_and(|name| COPIERS.contains(&name))
                && by.starts_with(program(command).unwrap_or_default())
                && self.is_target(command, path)
        });
        let Some(command) = command else {
            return vec![path.to_owned()];
        };
        if !self.is_directory(path) {
            let mut targets = vec![path.to_owned()];
            targets.extend(self.moved_along(command, path, None));
            return targets;
        }
        let mut targets = Vec::new();
        for word in self.operands(command) {
            if self.is_at(command, word, path) {
                continue;
            }
            match word.trim_end_matches('/').rsplit('/').next() {
                Some(name) if !matches!(name, "" | "." | "..") => {
                    let target = plain(&format!("{path}/{name}"));
                    targets.extend(self.moved_along(command, &target, Some(word)));
                    targets.push(target);
                }
                // The contents of a directory are copied, whatever they are.
                _ => return vec![path.to_owned()],
            }
        }
        let all_known = command.words.iter().all(|word| word.literal().is_some());
        if !all_known {
            match self.matched_into(path, used) {
                Some(matched) => targets.extend(matched),
                None => targets.push(path.to_owned()),
            }
        }
        if targets.is_empty() {
            targets.push(path.to_owned());
        }
        targets
    }

    /// Returns what a copy of a pattern's matches writes into a directory.
    ///
    /// Returns `None` if a word is not a pattern that can be followed, or matches a directory.
    fn matched_into(&self, directory: &str, used: &PathUse) -> Option<Vec<String>> {
        let mut into = Vec::new();
        let sources = self.shell.reads.iter().filter(|read| read.by == used.by);
        for read in sources {
            let below = match &read.path {
                PathText::Whole(_) => continue,
                PathText::Below(below) => below,
                PathText::Unknown => return None,
            };
            let found = spread::matching(read.pattern.as_ref()?, below, self.disk)?;
            for file in found.iter().filter(|file| *file != directory) {
                if self.is_directory(file) {
                    return None;
                }
                let (_, name) = file.rsplit_once('/')?;
                into.push(plain(&format!("{directory}/{name}")));
            }
        }
        (!into.is_empty()).then_some(into)
    }

    /// Returns whether a program puts an unknown set of files into the directory at `path`.
    pub(super) fn takes_in(&self, used: &PathUse, path: &str, targets: &[String]) -> bool {
        let by = used.by.split_whitespace().next().unwrap_or_default();
        let name = by.rsplit('/').next().unwrap_or_default();
        if COPIERS.contains(&name) {
            return self.is_directory(path) && targets.iter().any(|target| target == path);
        }
        let several = |read: &PathUse| match &read.path {
            PathText::Whole(source) => read.by == used.by && self.is_directory(source),
            PathText::Below(_) | PathText::Unknown => read.by == used.by,
        };
        counted::MIRRORS.contains(&name)
            && (self.is_directory(path) || self.shell.reads.iter().any(several))
    }

    /// Returns whether an operand or the value of an option leads to `path`.
    fn is_target(&self, command: &SimpleCommand, path: &str) -> bool {
        let words = command.words.iter().skip(1).filter_map(Word::literal);
        words.into_iter().any(|word| {
            let value = match word.split_once('=') {
                Some((option, value)) if option.starts_with("--") => Some(value),
                _ => word
                    .strip_prefix('-')
                    .and_then(|letters| letters.split_once('t'))
                    .map(|(_, value)| value),
            };
            let operand = Some(word).filter(|word| !word.starts_with('-'));
            [operand, value.filter(|value| !value.is_empty())]
                .into_iter()
                .flatten()
                .any(|word| self.is_at(command, word, path))
        })
    }

    /// Returns the files of a copied or moved directory, with their new names.
    ///
    /// `source` is the word that becomes `target`; `None` for the only one.
    fn moved_along(
        &self,
        command: &SimpleCommand,
        target: &str,
        source: Option<&str>,
    ) -> Vec<String> {
        let mut words = self
            .operands(command)
            .filter(|word| !self.is_at(command, word, target))
            .filter(|word| source.is_none_or(|source| source == *word));
        let (Some(word), None) = (words.next(), words.next()) else {
            return Vec::new();
        };
        let Some(from) = self.whole(command, word).map(|whole| plain(&whole)) else {
            return Vec::new();
        };
        let is_directory = self
            .disk
            .look(&from)
            .is_some_and(|seen| seen.kind == Kind::Directory);
        if !is_directory || !is_within(&from, &self.context.project_root) {
            return Vec::new();
        }
        spread::below(&from, self.disk)
            .iter()
            .filter_map(|file| file.strip_prefix(&from))
            .map(|rest| format!("{target}{rest}"))
            .collect()
    }

    fn operands<'c>(&self, command: &'c SimpleCommand) -> impl Iterator<Item = &'c str> {
        command
            .words
            .iter()
            .skip(1)
            .filter_map(Word::literal)
            .filter(|word| !word.starts_with('-'))
    }
}
