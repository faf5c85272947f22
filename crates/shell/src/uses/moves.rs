//! Options that make a program work in another directory than it was started in.

use interlock_core::facts::Word;

use crate::paths::program_name;

/// Options of some programs that select their directory.
struct Row {
    programs: &'static [&'static str],
    options: &'static [&'static str],
    /// File in the directory that their value may name instead.
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

/// A command without the options that select its directory, and those directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moves {
    /// Indices of the remaining words.
    pub(super) words: Vec<usize>,
    /// The directories in order; `None` if unknown.
    pub(super) directories: Vec<Option<String>>,
}

/// Finds the options of a command that select its directory; returns `None` if it has none.
pub(super) fn read(words: &[Word]) -> Option<Moves> {
    let name = words.first()?.literal()?;
    let name = program_name(name).unwrap_or(name);
    let row = ROWS.iter().find(|row| row.programs.contains(&name))?;
    let mut found = Moves {
        words: Vec::new(),
        directories: Vec::new(),
    };
    let mut rest = words.iter().enumerate();
    while let Some((at, word)) = rest.next() {
        if word.literal() == Some("--") {
            found.words.push(at);
            found.words.extend(rest.map(|(at, _)| at));
            break;
        }
        let Some(value) = row.value_of(word) else {
            found.words.push(at);
            continue;
        };
        let value = match value {
            Value::Next => rest.next().and_then(|(_, word)| word.literal()),
            Value::Joined(text) => Some(text),
        };
        let directory = value.and_then(|value| row.directory_of(value));
        found.directories.push(directory.map(str::to_owned));
    }
    (!found.directories.is_empty()).then_some(found)
}

/// The value of an option.
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
            // An unknown value leads to an unknown directory.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Word> {
        let word = |word: &str| match word.contains('$') {
            true => Word::Dynamic(word.to_owned()),
            false => Word::Literal(word.to_owned()),
        };
        line.split(' ').map(word).collect()
    }

    #[test]
    fn options_lead_to_the_directory_they_name() {
        for (line, left, directories) in [
            (
                "npm --prefix sub test",
                "npm test",
                &[Some("sub")] as &[Option<&str>],
            ),
            ("npm --prefix=sub/ test", "npm test", &[Some("sub/")]),
            ("npm test -C ..", "npm test", &[Some("..")]),
            ("pnpm -C a/./b test", "pnpm test", &[Some("a/./b")]),
            (
                "make -Csub -C x check",
                "make check",
                &[Some("sub"), Some("x")],
            ),
            ("make -C $D check", "make check", &[None]),
            ("make -C$D check", "make check", &[Some("/")]),
            ("make -C", "make", &[None]),
            ("go test -C src ./...", "go test ./...", &[Some("src")]),
            (
                "cargo test --manifest-path a/Cargo.toml",
                "cargo test",
                &[Some("a")],
            ),
            (
                "cargo test --manifest-path Cargo.toml",
                "cargo test",
                &[Some(".")],
            ),
            ("cargo test --manifest-path a", "cargo test", &[None]),
            ("cargo test --manifest-path a/b.toml", "cargo test", &[None]),
            (
                "yarn --cwd packages/a test",
                "yarn test",
                &[Some("packages/a")],
            ),
        ] {
            let words = words(line);
            let found = read(&words).map(|moves| {
                let left = moves
                    .words
                    .iter()
                    .filter_map(|at| words.get(*at)?.literal());
                (left.collect::<Vec<_>>().join(" "), moves.directories)
            });
            let wanted = directories.iter().map(|to| to.map(str::to_owned));
            assert_eq!(found, Some((left.to_owned(), wanted.collect())), "{line}");
        }
    }

    #[test]
    fn a_command_without_such_options_moves_nowhere() {
        for line in [
            "npm test",
            "npm test -- --prefix sub",
            "npm --prefixed sub test",
            "pytest -C sub",
            "cargo test",
        ] {
            assert_eq!(read(&words(line)), None, "{line}");
        }
    }
}
