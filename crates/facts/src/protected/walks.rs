//! Reads of Interlock's state through directories that contain it, or through patterns.

use interlock_core::facts::{SimpleCommand, Word};

use super::{
    Guarded, LineView,
    commands::has_option,
    named,
    patterns::{UNKNOWN, fits, may_be, may_be_names},
    table::FILES,
    table::Under,
};
use crate::{path::plain, touched::program};

impl Guarded<'_> {
    /// Checks a command that reads entire directories, or the matches of a pattern.
    pub(super) fn in_walk(&self, command: &SimpleCommand, view: &LineView<'_>) -> Option<String> {
        let patterns = command.words.iter().skip(1).filter_map(|word| match word {
            Word::Dynamic(text) => Some(text.as_str()),
            Word::Literal(_) => None,
        });
        let places = walked_places(command, view);
        let matched = patterns
            .into_iter()
            .find_map(|text| self.pattern(command, text, places.is_some()));
        if matched.is_some() {
            return matched;
        }
        let places = places?;
        let places: Vec<String> = match places.as_slice() {
            [] => command.directory.clone().into_iter().collect(),
            places => places
                .iter()
                .filter_map(|word| self.whole(command, word))
                .collect(),
        };
        places.iter().find_map(|place| {
            self.walked(&plain(place)).or_else(|| {
                let real = self.disk.real(place).ok()?;
                self.walked(&real)
            })
        })
    }

    /// Checks a pattern of files that may be Interlock's state, or of directories above it that the command reads whole.
    fn pattern(&self, command: &SimpleCommand, text: &str, walks: bool) -> Option<String> {
        let text = text.replace(['"', '\''], "");
        let is_known = |part: &str| !part.contains(['$', '`']);
        if !text.split('/').next().is_some_and(is_known) {
            return None;
        }
        let parts = text.split('/');
        let text: Vec<&str> = parts
            .map(|part| if is_known(part) { part } else { UNKNOWN })
            .collect();
        let text = text.join("/");
        if !text.contains(['*', '?', '[']) && !text.contains(UNKNOWN) {
            return None;
        }
        let whole = plain(&self.whole(command, &text)?);
        let state = self.context.state_directory.as_deref()?;
        let wanted: Vec<&str> = whole.split('/').collect();
        let is: Vec<&str> = state.split('/').collect();
        if !may_be(&wanted, &is) {
            return None;
        }
        let text = text.replace(UNKNOWN, "…");
        if wanted.len() >= is.len() {
            return Some(named("may be Interlock's state", &text));
        }
        walks.then(|| {
            format!(
                "{}, which may contain Interlock's state: name what is to be read in it",
                named("a pattern of directories", &text)
            )
        })
    }

    /// Checks paths of which parts are only known when the line runs.
    pub(super) fn in_partly_known(&self, view: &LineView<'_>) -> Option<String> {
        use interlock_core::facts::PathText;
        let shell = view.shell;
        let changed = shell.writes.iter().chain(&shell.removes);
        let unknown = changed.filter(|used| !matches!(used.path, PathText::Whole(_)));
        for used in unknown {
            let redirects = used.by.starts_with(['>', '<', '&', '{']);
            let mut texts = match redirects {
                true => vec![used.by.as_str()],
                false => hints(view, &used.by),
            };
            if has_parameters(view.line, &used.by) {
                texts.push(view.line);
            }
            let found = texts
                .iter()
                .find_map(|text| self.partly_known(text, view.line));
            if found.is_some() {
                return found;
            }
            if shell.commands.iter().any(finds_by_name) && !redirects {
                return Some("what a search finds by a protected name".to_owned());
            }
        }
        let set = shell.env.set.iter().filter(|_| !shell.writes.is_empty());
        set.flat_map(|set| &set.values)
            .find_map(|value| self.partly_known(value, view.line))
    }

    /// Searches a word with unknown parts for the name of a protected file.
    ///
    /// An unknown part may be any name that `line` spells.
    fn partly_known(&self, text: &str, line: &str) -> Option<String> {
        let plain = text.replace(['"', '\''], "");
        let plain = plain.trim_start_matches(['>', '<', '&', '|', ' ']);
        super::words::mentioned(&plain.to_lowercase()).or_else(|| {
            let parts: Vec<&str> = plain.split('/').filter(|part| *part != ".").collect();
            let line = line.to_lowercase();
            FILES
                .iter()
                .filter(|row| row.under == Under::Any)
                .find(|row| {
                    (0..parts.len()).any(|begin| {
                        let rest = parts.get(begin..).unwrap_or_default();
                        rest.len() >= row.names.len()
                            && (row.deep || rest.len() == row.names.len())
                            && may_be_names(rest, row.names, &line)
                    })
                })
                .map(|row| named("may be meant", &row.names.join("/")))
        })
    }
}

/// Returns whether something unknown may be a word that a function, or a shell with `-c`, is given as a parameter.
fn has_parameters(line: &str, by: &str) -> bool {
    by.contains(['$', '`'])
        && (by.contains("$0")
            || by.contains("${0")
            || line.contains("()")
            || line.contains("function "))
}

/// Programs that read their literal operands, whatever they write.
const COPIERS: &[&str] = &[
    "cp", "install", "rsync", "scp", "tee", "tar", "zip", "rm", "mv", "ln",
];
/// Programs that print names for other commands of the line.
const PRINTERS: &[&str] = &["echo", "printf", "ls", "find", "fd"];

/// Returns words that may be, or become, a path that is not known yet.
fn hints<'v>(view: &LineView<'v>, by: &str) -> Vec<&'v str> {
    let mut texts = Vec::new();
    let commands = view.shell.commands.iter();
    let handed_on = by.contains('$')
        || by.contains('`')
        || commands.clone().any(|command| {
            let on = command.via.iter().any(|via| via == "xargs");
            on && program(command).is_some_and(|name| by.contains(name))
        });
    for command in commands {
        let Some(name) = program(command) else {
            continue;
        };
        let own = by.contains(name);
        let prints = handed_on && PRINTERS.contains(&name);
        for word in command.words.iter().skip(1) {
            match word {
                Word::Dynamic(text) if own => texts.push(text.as_str()),
                Word::Literal(text) if own && !COPIERS.contains(&name) || prints => {
                    texts.push(text.as_str());
                }
                Word::Literal(_) | Word::Dynamic(_) => {}
            }
        }
    }
    // Text of the line that is not a word of any command: lists and documents in one line.
    if handed_on && (view.line.contains("<<<") || view.line.contains("=(")) {
        texts.push(view.line);
    }
    texts
}

/// Returns whether a command searches for the name of a protected file.
fn finds_by_name(command: &SimpleCommand) -> bool {
    let finds = matches!(
        program(command),
        Some("find" | "fd" | "fdfind" | "locate" | "ls")
    );
    let searches = matches!(program(command), Some("find" | "fd" | "fdfind" | "locate"));
    let mut words = command.words.iter().skip(1).filter_map(Word::literal);
    finds
        && searches
        && words.any(|word| {
            let last = word
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or_default();
            let row = |name: &&str| fits(last, name);
            word.contains('.')
                && last.starts_with('.')
                && last.len() > 2
                && FILES
                    .iter()
                    .filter(|row| row.under == Under::Any)
                    .any(|known| known.names.first().is_some_and(row))
        })
}

/// Returns the directories that a command reads recursively; `None` if it reads none.
///
/// An empty list is the directory in which it runs.
fn walked_places<'c>(command: &'c SimpleCommand, view: &LineView<'_>) -> Option<Vec<&'c str>> {
    let words: Vec<&str> = command
        .words
        .iter()
        .skip(1)
        .filter_map(Word::literal)
        .collect();
    let operands = || words.iter().copied().filter(|word| !word.starts_with('-'));
    let has = |letter: char, long: &str| has_option(command, letter, long);
    // The first operand is the search pattern.
    let behind_pattern = || {
        let given = has('e', "--regexp") || has('f', "--file");
        operands().skip(usize::from(!given)).collect()
    };
    match program(command)? {
        "grep" | "egrep" | "fgrep" | "zgrep" => {
            let recursive = has('r', "--recursive") || has('R', "--dereference-recursive");
            let recursive = recursive || words.iter().any(|word| word.contains("recurse"));
            recursive.then(behind_pattern)
        }
        "rg" | "ag" | "ack" | "ugrep" | "ug" => Some(behind_pattern()),
        "cp" | "scp" | "rsync" => {
            let recursive =
                has('r', "--recursive") || has('R', "--recursive") || has('a', "--archive");
            let mut places: Vec<&str> = operands().collect();
            places.pop();
            (recursive && !places.is_empty()).then_some(places)
        }
        name @ ("tar" | "bsdtar" | "zip" | "7z" | "7za" | "7zz") => {
            let places: Vec<&str> = operands().collect();
            let joined = tar_directory(&words);
            let packs = name == "zip" || super::commands::makes_an_archive(command);
            (packs && !places.is_empty()).then(|| match joined {
                Some(directory) => vec![directory],
                None => places,
            })
        }
        "diff" => {
            let recursive = has('r', "--recursive");
            recursive.then(|| operands().collect())
        }
        "git" => {
            let outside = words.contains(&"--no-index");
            outside.then(|| operands().collect())
        }
        // Only names, unless another command of the line reads what they name.
        "find" | "fd" | "fdfind" | "ls" | "tree" | "du" => {
            let handed_on = |other: &SimpleCommand| {
                other.via.iter().any(|via| {
                    matches!(
                        via.as_str(),
                        "find" | "fd" | "fdfind" | "xargs" | "parallel"
                    )
                })
            };
            let handed_on = view.shell.commands.iter().any(handed_on);
            let code = |command: &SimpleCommand| {
                command.from_pipe && command.words.iter().any(|word| word.literal().is_none())
            };
            let places: Vec<&str> = operands()
                .take_while(|word| *word != "(" && *word != "!")
                .collect();
            (handed_on || view.shell.commands.iter().any(code)).then_some(places)
        }
        _ => None,
    }
}

/// Returns the directory of `tar -C`, if it packs something from there.
fn tar_directory<'w>(words: &[&'w str]) -> Option<&'w str> {
    let at = words
        .iter()
        .position(|word| matches!(*word, "-C" | "--directory"))?;
    words.get(at + 1).copied()
}
