//! Options by which a program works in another directory than it was started in.

use super::shell::name_of;
use crate::facts::{SimpleCommand, Word};

/// A command as it would stand without such options, where they lead.
#[derive(Debug, Clone)]
pub(super) struct Moved {
    /// The command without the options and their values.
    pub(super) command: SimpleCommand,
    /// Where it works, relative to the project root; `None`: outside, or not known.
    pub(super) directory: Option<String>,
}

/// The options of some programs that choose their directory.
struct Row {
    programs: &'static [&'static str],
    options: &'static [&'static str],
    /// The file in the directory that their value may name in its place.
    file: Option<&'static str>,
}

const ROWS: &[Row] = &[
    row(&["npm"], &["--prefix", "-C"]),
    row(&["pnpm"], &["--dir", "-C"]),
    row(&["yarn", "bun"], &["--cwd"]),
    row(&["make", "gmake"], &["--directory", "-C"]),
    row(&["go", "git", "ninja", "meson"], &["-C"]),
    row(&["just"], &["--working-directory", "-d"]),
    row(&["task"], &["--dir", "-d"]),
    row(&["uv"], &["--directory"]),
    row(&["poetry"], &["--directory", "-C"]),
    row(&["composer"], &["--working-dir", "-d"]),
    row(
        &["gradle", "gradlew", "./gradlew"],
        &["--project-dir", "-p"],
    ),
    Row {
        programs: &["cargo"],
        options: &["--manifest-path"],
        file: Some("Cargo.toml"),
    },
    Row {
        programs: &["mvn", "mvnw", "./mvnw"],
        options: &["--file", "-f"],
        file: Some("pom.xml"),
    },
];

const fn row(programs: &'static [&'static str], options: &'static [&'static str]) -> Row {
    Row {
        programs,
        options,
        file: None,
    }
}

/// Follows the options of `command` that choose a directory; `None`: it has none.
///
/// `place` is where it starts, relative to the project root.
pub(super) fn moved(command: &SimpleCommand, place: Option<&str>) -> Option<Moved> {
    let name = name_of(command)?;
    let row = ROWS.iter().find(|row| row.programs.contains(&name))?;
    let mut directory = place.map(str::to_owned);
    let mut kept = Vec::with_capacity(command.words.len());
    let mut words = command.words.iter();
    let mut found = false;
    while let Some(word) = words.next() {
        if word.literal() == Some("--") {
            kept.push(word.clone());
            kept.extend(words.cloned());
            break;
        }
        let Some(value) = row.value_of(word) else {
            kept.push(word.clone());
            continue;
        };
        found = true;
        let value = match value {
            Value::Next => words.next().and_then(Word::literal),
            Value::Joined(text) => Some(text),
        };
        directory = value.and_then(|value| join(&directory?, row.directory_of(value)?));
    }
    let command = SimpleCommand {
        words: kept,
        wrapped: Vec::new(),
        ..command.clone()
    };
    found.then_some(Moved { command, directory })
}

/// Where the value of an option stands.
enum Value<'a> {
    Next,
    Joined(&'a str),
}

impl Row {
    fn value_of<'a>(&self, word: &'a Word) -> Option<Value<'a>> {
        let text = match word {
            Word::Literal(text) | Word::Dynamic(text) => text.as_str(),
        };
        self.options.iter().find_map(|option| {
            let rest = text.strip_prefix(option)?;
            let joined = match rest.strip_prefix('=') {
                Some(value) => value,
                None if rest.is_empty() => return Some(Value::Next),
                None if option.starts_with("--") => return None,
                None => rest,
            };
            // What is not known leads nobody knows where.
            Some(Value::Joined(word.literal().map_or("/", |_| joined)))
        })
    }

    /// Returns the directory that a value names.
    fn directory_of<'v>(&self, value: &'v str) -> Option<&'v str> {
        let Some(file) = self.file else {
            return Some(value);
        };
        match value.rsplit_once('/') {
            Some((directory, name)) if name == file => Some(directory),
            None if value == file => Some("."),
            // Another file is another project.
            _ => None,
        }
    }
}

/// Joins a path to a place of the project; `None`: it leads out of it, or may.
fn join(place: &str, path: &str) -> Option<String> {
    if path.is_empty() || path.starts_with(['/', '~']) {
        return None;
    }
    let mut parts: Vec<&str> = place.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_lead_to_the_directory_they_name() {
        for (line, place, words, directory) in [
            ("npm --prefix sub test", "", "npm test", Some("sub")),
            ("npm --prefix=sub/ test", "", "npm test", Some("sub")),
            ("npm test -C ..", "sub", "npm test", Some("")),
            ("pnpm -C a/./b test", "", "pnpm test", Some("a/b")),
            ("make -Csub -C x check", "", "make check", Some("sub/x")),
            ("make -C $D check", "", "make check", None),
            ("make -C../.. check", "sub", "make check", None),
            ("make -C /project check", "", "make check", None),
            ("go test -C src ./...", "", "go test ./...", Some("src")),
            (
                "cargo test --manifest-path a/Cargo.toml",
                "",
                "cargo test",
                Some("a"),
            ),
            (
                "cargo test --manifest-path Cargo.toml",
                "",
                "cargo test",
                Some(""),
            ),
            ("cargo test --manifest-path a", "", "cargo test", None),
            (
                "yarn --cwd packages/a test",
                "",
                "yarn test",
                Some("packages/a"),
            ),
        ] {
            let literal = |word: &str| match word.contains('$') {
                true => Word::Dynamic(word.to_owned()),
                false => Word::Literal(word.to_owned()),
            };
            let command = SimpleCommand {
                words: line.split(' ').map(literal).collect(),
                ..SimpleCommand::default()
            };
            let found = moved(&command, Some(place)).map(|moved| {
                let words = moved.command.words.iter().filter_map(Word::literal);
                (words.collect::<Vec<_>>().join(" "), moved.directory)
            });
            let wanted = (words.to_owned(), directory.map(str::to_owned));
            assert_eq!(found, Some(wanted), "{line}");
        }
    }

    #[test]
    fn a_command_without_such_options_moves_nowhere() {
        for line in [
            "npm test",
            "npm test -- --prefix sub",
            "pytest -C sub",
            "cargo test",
        ] {
            let command = SimpleCommand {
                words: line
                    .split(' ')
                    .map(|word| Word::Literal(word.to_owned()))
                    .collect(),
                ..SimpleCommand::default()
            };
            assert!(moved(&command, Some("")).is_none(), "{line}");
        }
    }
}
