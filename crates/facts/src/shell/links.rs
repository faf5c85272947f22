//! Words that go up again after a link.

use interlock_core::{
    call::FileWrite,
    facts::{PathText, SimpleCommand, Word},
};

use super::Reader;
use crate::{
    path::plain,
    place::{self, Located},
    touched::Deed,
};

impl Reader<'_> {
    /// Adds the real locations of words such as `link/../x`.
    ///
    /// The parser of the line resolves `..` lexically; the system follows the link.
    pub(super) fn through_links(&mut self) {
        let mut found = Vec::new();
        for command in &self.shell.commands {
            for word in command.words.iter().filter_map(Word::literal) {
                if word.contains("/..") {
                    found.extend(self.through_link(command, word));
                }
            }
        }
        for used in self.shell.writes.iter().chain(&self.shell.removes) {
            let words = used
                .by
                .split_whitespace()
                .filter(|word| word.contains("/.."));
            for word in words {
                let anywhere = self.shell.commands.iter();
                found.extend(anywhere.filter_map(|command| self.through_link(command, word)));
            }
        }
        for file in found {
            self.writes.push(FileWrite {
                path: Some(file.real.clone()),
                relative: file.relative.clone(),
                place: file.place,
                by: file.named.clone(),
                removes: false,
                recursive: false,
                lines: None,
                before: None,
            });
            let by = file.named.clone();
            self.touch(file, Deed::Write, &by);
        }
    }

    fn through_link(&self, command: &SimpleCommand, word: &str) -> Option<Located> {
        let whole = self.whole(command, word)?;
        let named = plain(&whole);
        let is_used = self
            .shell
            .writes
            .iter()
            .chain(&self.shell.removes)
            .any(|used| matches!(&used.path, PathText::Whole(path) if *path == named));
        if !is_used {
            return None;
        }
        let real = self.disk.real(&whole).ok()?;
        (self.disk.real(&named).ok().as_deref() != Some(&real))
            .then(|| place::at(named, real, self.context))
    }
}
