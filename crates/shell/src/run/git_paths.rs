//! The files that `git checkout` and similar subcommands restore, as their words name them.

use super::git::Call;
use crate::value::{Arg, Dynamic};
use crate::walk::Walker;
use crate::words::words;

/// Options with a value that names no file of the work tree.
const VALUED: &[&str] = words!(
    "-s --source --conflict -U --unified --inter-hunk-context --stage -b -B --orphan
     --recurse-submodules"
);

impl Walker<'_> {
    /// Records the files that a command restores: those after `--` if given, otherwise every operand.
    pub(super) fn git_paths(&mut self, call: &Call<'_>, by: &str) {
        let directory = call.directory.as_deref();
        let from_file = |word: &Arg| word.start().starts_with("--pathspec-f");
        if call.words.iter().any(from_file) {
            self.write_inside(directory, by);
        }
        let behind = call.words.iter().position(|word| word.is("--"));
        let named: Vec<&Arg> = match behind {
            Some(at) => call.words.iter().skip(at + 1).collect(),
            None => operands(call.words),
        };
        for word in named {
            self.git_path(call, word, by);
        }
    }

    /// Records one path, interpreting its magic words (`:(top)d`, `:/d`) as git does.
    fn git_path(&mut self, call: &Call<'_>, word: &Arg, by: &str) {
        let directory = call.directory.as_deref();
        let Some(magic) = word.start().strip_prefix(':') else {
            self.facts.write(word, directory, by);
            return;
        };
        let Some(spec) = word.literal().and_then(|_| read_magic(magic)) else {
            self.write_inside(directory, by);
            return;
        };
        let root = self.setting.project_root.clone();
        let inside = directory == Some(root.as_str())
            || directory.is_some_and(|at| at.starts_with(&format!("{root}/")));
        match (spec.from_top, spec.path) {
            (true, Some(path)) if inside => {
                self.facts.write(&Arg::text(path), Some(&root), by);
            }
            (false, Some(path)) => {
                self.facts.write(&Arg::text(path), directory, by);
            }
            _ => {
                let unknown = Arg::Dynamic(Dynamic::default());
                self.facts.write(&unknown, directory, by);
            }
        }
    }
}

/// Returns the words that are neither options nor their values.
fn operands(words: &[Arg]) -> Vec<&Arg> {
    let mut found = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.literal() {
            Some(option) if VALUED.contains(&option) => {
                rest.next();
            }
            _ if word.may_be_option() => {}
            _ => found.push(word),
        }
    }
    found
}

/// A path with magic words before it.
struct Magic<'a> {
    /// Whether it is relative to the top of the work tree.
    from_top: bool,
    /// The path; `None` if it is a pattern or an exclusion.
    path: Option<&'a str>,
}

/// Parses what follows the colon of a path; `None` means everything.
fn read_magic(text: &str) -> Option<Magic<'_>> {
    let (words, path) = match text.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?,
        None => {
            let end = text
                .find(|c: char| !matches!(c, '/' | '!' | '^'))
                .unwrap_or(text.len());
            let (signs, path) = text.split_at_checked(end)?;
            let words = match signs {
                "/" => "top",
                "" => "",
                _ => "exclude",
            };
            (words, path)
        }
    };
    let mut words = words.split(',').filter(|word| !word.is_empty());
    let only_place = words.clone().all(|word| matches!(word, "top" | "literal"));
    let from_top = words.any(|word| word == "top");
    let is_literal = !path.contains(['*', '?', '[']);
    if path.is_empty() {
        return None;
    }
    Some(Magic {
        from_top,
        path: Some(path).filter(|_| only_place && is_literal),
    })
}
