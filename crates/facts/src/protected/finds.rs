//! Searches whose results are changed: `find -delete`, `find -exec`, `find | xargs`, `ls -A | xargs`.

use interlock_core::facts::{SimpleCommand, Word};

use super::{Guarded, LineView, commands::has_option, named, patterns::fits};
use crate::{
    disk::Kind,
    path::{plain, relative},
    touched::program,
};

/// Maximum number of entries of a protected directory that a search is tested on.
const ENTRIES_MAX: usize = 200;
/// Number of levels below a protected directory that a search is tested on: a run's files are three below the state directory.
const LEVELS_MAX: usize = 3;
/// Maximum number of paths per level.
const LEVEL_MAX: usize = 1000;

/// Criteria of a search: every pattern that must match, and those that must not.
#[derive(Debug, Default)]
struct Criteria<'c> {
    tests: Vec<(bool, &'c str)>,
    without: Vec<(bool, &'c str)>,
    /// Whether one match is enough.
    any: bool,
    depth_max: Option<usize>,
}

impl Guarded<'_> {
    /// Checks the results of a search, in a line that changes them.
    pub(super) fn in_finds(&self, command: &SimpleCommand, view: &LineView<'_>) -> Option<String> {
        let (places, wanted) = match program(command)? {
            "find" => read_find(command),
            "ls" if has_option(command, 'a', "--all")
                || has_option(command, 'A', "--almost-all") =>
            {
                let words = command.words.iter().skip(1).filter_map(Word::literal);
                let places = words.filter(|word| !word.starts_with('-')).collect();
                (
                    places,
                    Criteria {
                        depth_max: Some(1),
                        ..Criteria::default()
                    },
                )
            }
            _ => return None,
        };
        // A directory that is removed entirely is judged as such, whatever it contains.
        let whole = deletes(command) && is_of_everything(command);
        if whole || !changes_finds(command, view) {
            return None;
        }
        let places = if places.is_empty() { vec!["."] } else { places };
        places.iter().find_map(|place| {
            let whole = plain(&self.whole(command, place)?);
            let found = self.existing_below(&whole).into_iter().find(|path| {
                relative(path, &whole).is_some_and(|below| wanted.finds(place, below))
            })?;
            Some(format!(
                "{}, which the search in `{place}` finds (leave it out with `-not -path`),",
                named("protected", &found)
            ))
        })
    }

    /// Lists existing protected paths below a directory, with their contents to a limited depth.
    fn existing_below(&self, directory: &str) -> Vec<String> {
        let mut found = Vec::new();
        for thing in super::places(self.context, self.disk) {
            if relative(&thing.path, directory).is_none() {
                continue;
            }
            let but = |path: &String| {
                let name = path.rsplit('/').next().unwrap_or_default();
                thing.but.contains(&name)
            };
            let Some(seen) = self.disk.look(&thing.path) else {
                continue;
            };
            let mut level = vec![thing.path.clone()];
            if seen.kind == Kind::Directory {
                for depth in 0..LEVELS_MAX {
                    let mut below = self.entries_of(&level);
                    below.retain(|path| depth > 0 || !but(path));
                    found.append(&mut level);
                    level = below;
                }
            }
            found.append(&mut level);
        }
        found
    }

    /// Lists the contents of the directories among these.
    fn entries_of(&self, paths: &[String]) -> Vec<String> {
        let is_directory = |path: &&String| {
            let seen = self.disk.look(path);
            seen.is_some_and(|seen| seen.kind == Kind::Directory)
        };
        let entries = |path: &String| {
            let names = self.disk.names(path, ENTRIES_MAX);
            let whole = |name: String| format!("{path}/{name}");
            names.into_iter().map(whole).collect::<Vec<_>>()
        };
        let directories = paths.iter().filter(is_directory).take(ENTRIES_MAX);
        directories.flat_map(entries).take(LEVEL_MAX).collect()
    }
}

/// Returns whether a search removes its results.
fn deletes(command: &SimpleCommand) -> bool {
    let mut words = command.words.iter().filter_map(Word::literal);
    words.any(|word| word == "-delete")
}

/// Returns whether a search has no criteria.
fn is_of_everything(command: &SimpleCommand) -> bool {
    let mut words = command.words.iter().skip(1).filter_map(Word::literal);
    words.all(|word| !word.starts_with(['-', '(', '!']) || matches!(word, "-delete" | "-depth"))
}

/// Returns whether a line removes or writes the results of one of its searches.
fn changes_finds(command: &SimpleCommand, view: &LineView<'_>) -> bool {
    let handed_on = view.shell.commands.iter().any(|other| {
        let on = other
            .via
            .iter()
            .any(|via| matches!(via.as_str(), "find" | "xargs"));
        let changed = view.shell.writes.iter().chain(&view.shell.removes);
        let name = program(other).unwrap_or_default();
        on && changed.into_iter().any(|used| {
            !matches!(used.path, interlock_core::facts::PathText::Whole(_))
                && used.by.contains(name)
        })
    });
    deletes(command) || handed_on
}

fn read_find(command: &SimpleCommand) -> (Vec<&str>, Criteria<'_>) {
    let words: Vec<&str> = command
        .words
        .iter()
        .skip(1)
        .map(super::commands::shown)
        .collect();
    let begins = |word: &&&str| !word.starts_with('-') && !matches!(**word, "(" | "!" | "\\(");
    let places: Vec<&str> = words.iter().take_while(begins).copied().collect();
    let mut wanted = Criteria::default();
    let mut negated = false;
    let mut rest = words.get(places.len()..).unwrap_or_default();
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        match *word {
            "!" | "-not" => {
                negated = true;
                continue;
            }
            "-o" | "-or" => wanted.any = true,
            // Drop what came before it.
            "-prune" => wanted.without.append(&mut wanted.tests),
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" => {
                let is_path = word.contains("path") || word.contains("whole");
                if let Some((pattern, after)) = rest.split_first() {
                    let list = if negated {
                        &mut wanted.without
                    } else {
                        &mut wanted.tests
                    };
                    list.push((is_path, pattern));
                    rest = after;
                }
            }
            "-maxdepth" => {
                wanted.depth_max = rest.first().and_then(|depth| depth.parse().ok());
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => break,
            _ => {}
        }
        negated = false;
    }
    (places, wanted)
}

impl Criteria<'_> {
    fn finds(&self, place: &str, below: &str) -> bool {
        let name = below.rsplit('/').next().unwrap_or(below);
        let shown = format!("{}/{below}", place.trim_end_matches('/'));
        let matches = |(is_path, pattern): &(bool, &str)| {
            let text = if *is_path { shown.as_str() } else { name };
            matches_all(pattern, text) || *is_path && is_below(pattern, &shown)
        };
        let deep = self
            .depth_max
            .is_some_and(|max| below.split('/').count() > max);
        let passes = match (self.tests.as_slice(), self.any) {
            ([], _) => true,
            (tests, true) => tests.iter().any(matches),
            (tests, false) => tests.iter().all(matches),
        };
        let left_out = |test: &(bool, &str)| matches(test) || self.names_above(test, below);
        passes && !deep && !self.without.iter().any(left_out)
    }

    /// Returns whether an exclusion contains the path.
    fn names_above(&self, (is_path, pattern): &(bool, &str), below: &str) -> bool {
        !is_path && below.split('/').any(|part| matches_all(pattern, part))
    }
}

/// Returns whether a path is below what a pattern without trailing wildcard names.
fn is_below(pattern: &str, path: &str) -> bool {
    path.strip_prefix(pattern)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Matches like `find`: a wildcard also matches dots and slashes.
fn matches_all(pattern: &str, text: &str) -> bool {
    fits(&format!(".{pattern}"), &format!(".{text}")) && !text.ends_with('*')
}
