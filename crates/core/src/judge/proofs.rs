//! Which words behind an evidence entry leave a check what it is.
//!
//! A check that runs fewer tests, or none, still ends with 0. So only words
//! that are known to choose nothing keep the proof; the table is read row by row.

mod rows;

use std::borrow::Cow;

use super::shell::{steering_variables, words_beyond};
use crate::facts::{CommandClass, EnvUse, ShellFacts, SimpleCommand, Word};

use rows::{ASKS, CHOOSING, COUNTED, LAUNCHERS, LOADED, ONLY_SAYS, OWN_SCRIPT, ROWS, Row, UNDONE};

/// How a command stands to an entry of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// It is another command.
    Other,
    /// It begins as the entry does, and may test less.
    Narrowed,
    /// It is the check that the entry names.
    Whole,
}

/// Tells how `command` stands to the entry `wanted`.
///
/// Between the words of the entry may stand words that choose nothing (`go test -v ./...`),
/// and its program may be the one of an environment of the project (`venv/bin/pytest`).
pub(super) fn standing(wanted: &[String], command: &SimpleCommand) -> Standing {
    if let Some(beyond) = words_beyond(wanted, command) {
        return of(keeps(wanted, command, beyond.words));
    }
    let Some(beyond) = beyond_loosely(wanted, command) else {
        return Standing::Other;
    };
    of(keeps(wanted, command, beyond))
}

/// Tells whether `command` is the check that `wanted` names, in other words than the entry's.
pub(super) fn is_named_loosely(wanted: &[String], command: &SimpleCommand) -> bool {
    beyond_loosely(wanted, command).is_some_and(|beyond| keeps(wanted, command, beyond))
}

const fn of(keeps: bool) -> Standing {
    if keeps {
        Standing::Whole
    } else {
        Standing::Narrowed
    }
}

/// Tells whether a command still is the check with the words `beyond` its entry.
fn keeps(wanted: &[String], command: &SimpleCommand, beyond: &[Word]) -> bool {
    let row = row_of(wanted);
    let runs_code = matches!(
        command.class,
        CommandClass::ProjectCode | CommandClass::Interpreter | CommandClass::Unknown
    );
    // With some words a runner only reads; its row knows none of them.
    if row.is_none() && !runs_code {
        return !only_says(wanted, beyond);
    }
    let words: Option<Vec<Cow<'_, str>>> = beyond.iter().map(known).collect();
    words.is_some_and(|words| {
        let words: Vec<&str> = words.iter().map(Cow::as_ref).collect();
        all_keep(row, &words)
    })
}

/// Tells whether a command that runs no code of the project only says what it would do.
fn only_says(wanted: &[String], beyond: &[Word]) -> bool {
    let says = |text: &str| {
        let option = text.split_once('=').map_or(text, |(option, _)| option);
        ONLY_SAYS.contains(&option)
            || UNDONE.iter().any(|(entry, options, letters)| {
                let joined = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
                wanted
                    .iter()
                    .map(String::as_str)
                    .take(entry.len())
                    .eq(entry.iter().copied())
                    && (options.contains(&option)
                        || joined.is_some_and(|joined| joined.contains(*letters)))
            })
    };
    let alone = matches!(beyond, [only] if only.literal().is_some_and(|text| ASKS.contains(&text)));
    alone || beyond.iter().any(|word| word.literal().is_some_and(says))
}

/// Tells whether a variable that is set for `command` may steer the check that `wanted` names.
///
/// Names that change what programs do are judged by their values, for the whole line.
pub(super) fn is_steered(line: &ShellFacts, command: &SimpleCommand, wanted: &[String]) -> bool {
    let changes = |name: &str| {
        let mut set = line.env.set.iter().filter(|set| set.name == name);
        set.any(|set| set.changes_programs)
    };
    steering_variables(line, command, wanted)
        .into_iter()
        .any(|name| !changes(name))
}

/// Returns the text of a word, with the number of processors in the place of what asks for it.
fn known(word: &Word) -> Option<Cow<'_, str>> {
    match word {
        Word::Literal(text) => Some(Cow::Borrowed(text)),
        Word::Dynamic(source) => {
            let text = source.replace("$(nproc)", "4");
            let bare = text.trim_matches('"');
            let is_known =
                bare.len() < source.len() && !bare.contains(['$', '`', '"', '\\', '*', '?', '[']);
            is_known.then(|| Cow::Owned(bare.to_owned()))
        }
    }
}

/// Returns the words after those of `wanted`, where words that choose nothing stand between them.
fn beyond_loosely<'a>(wanted: &[String], command: &'a SimpleCommand) -> Option<&'a [Word]> {
    let (program, operands) = wanted.split_first()?;
    let (first, mut rest) = command.words.split_first()?;
    let name = first.literal()?;
    let is_same = name == program
        || in_environment(name, command.directory.as_deref()) == Some(program.as_str());
    if !is_same {
        return None;
    }
    let row = row_of(wanted);
    for operand in operands {
        let at = rest
            .iter()
            .position(|word| word.literal() == Some(operand))?;
        let (between, after) = rest.split_at_checked(at)?;
        let between: Option<Vec<Cow<'_, str>>> = between.iter().map(known).collect();
        let between = between?;
        let between: Vec<&str> = between.iter().map(Cow::as_ref).collect();
        if !all_keep(row, &between) {
            return None;
        }
        rest = after.get(1..)?;
    }
    Some(rest)
}

/// Directories of a project that hold the programs of its own environment.
const ENVIRONMENTS: [&str; 5] = [
    "venv/bin",
    ".venv/bin",
    "env/bin",
    "node_modules/.bin",
    "vendor/bin",
];

/// Returns the name of a program of the project's own environment.
fn in_environment<'a>(path: &'a str, directory: Option<&str>) -> Option<&'a str> {
    let below = directory
        .and_then(|directory| path.strip_prefix(directory)?.strip_prefix('/'))
        .unwrap_or(path);
    let below = below.strip_prefix("./").unwrap_or(below);
    let (folder, name) = below.rsplit_once('/')?;
    ENVIRONMENTS.contains(&folder).then_some(name)
}

/// Tells whether variables that the line sets choose what is tested.
pub(super) fn chooses(env: &EnvUse) -> bool {
    let matches = |name: &str| {
        CHOOSING
            .iter()
            .any(|pattern| crate::policy::wildcard_matches(pattern, name))
    };
    env.set.iter().any(|set| {
        set.voids_checks || !set.changes_programs && matches(&set.name.to_ascii_uppercase())
    })
}

/// Returns the row of the runner that an entry runs in the end (`npx jest`).
///
/// Only what is known to hand words on is looked through: in `make pytest` they are make's.
fn row_of(entry: &[String]) -> Option<&'static Row> {
    let mut names = entry
        .iter()
        .map(|word| word.rsplit('/').next().unwrap_or(word));
    let find = |name: &str| ROWS.iter().find(|row| row.programs.contains(&name));
    let first = names.next()?;
    if LAUNCHERS.contains(&first)
        && let Some(row) = names.rev().find_map(find)
    {
        return Some(row);
    }
    let is_script = entry.first().is_some_and(|word| word.contains('/'));
    find(first).or_else(|| is_script.then_some(&OWN_SCRIPT))
}

fn all_keep(row: Option<&Row>, words: &[&str]) -> bool {
    let Some(row) = row else {
        return words.is_empty();
    };
    let mut behind = false;
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            // A second one would be handed on as a word.
            if std::mem::replace(&mut behind, true) {
                return false;
            }
            continue;
        }
        let (alone, valued) = if behind {
            (row.behind, row.behind_valued)
        } else {
            (row.words, row.valued)
        };
        if alone.contains(&word) || joined(valued, word) || !behind && letters_keep(row, word) {
            continue;
        }
        let number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !behind
            && let Some(rest) = row
                .numbers
                .iter()
                .find_map(|option| word.strip_prefix(option))
        {
            let counts = |text: &str| number(text) || word.starts_with("-n") && text == "auto";
            if rest.is_empty() {
                words.next_if(|next| counts(next));
                continue;
            }
            if counts(rest) {
                continue;
            }
        }
        let paired = |next: &&str| {
            let is_pair =
                |(option, values): &(&str, &[&str])| *option == word && values.contains(next);
            !behind && row.pairs.iter().any(is_pair)
        };
        if words.next_if(paired).is_some() {
            continue;
        }
        let apart = valued.contains(&word) && !word.ends_with('=');
        let value = words.next_if(|next| apart && !next.starts_with('-'));
        if value.is_none_or(|value| voids(word, value)) {
            return false;
        }
    }
    true
}

/// Tells whether an option's value makes a runner run nothing, or code of its own.
fn voids(option: &str, value: &str) -> bool {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_path = value.contains(['/', '\\', '@']) || value.starts_with('.');
    let is_module = [".js", ".mjs", ".cjs", ".ts", ".py", ".rb"]
        .iter()
        .any(|end| value.ends_with(end));
    match option {
        // Written as hexadecimal a number may be 0 as well.
        "-count" => !is_number || value.trim_start_matches('0').is_empty(),
        // It imports the module of a category.
        "-W" => value.contains('.'),
        _ if LOADED.contains(&option) => is_path || is_module,
        _ if COUNTED.contains(&option) => {
            !value.starts_with(|c: char| c.is_ascii_digit())
                && !matches!(value, "auto" | "all" | "true" | "false")
        }
        _ => false,
    }
}

/// Tells whether a word is an option of `valued` with its value behind `=`.
fn joined(valued: &[&str], word: &str) -> bool {
    if word
        .split_once('=')
        .is_some_and(|(option, value)| voids(option, value))
    {
        return false;
    }
    valued.iter().any(|option| {
        word.strip_prefix(option.trim_end_matches('='))
            .is_some_and(|rest| rest.len() > 1 && rest.starts_with('='))
            || *option == word && option.contains("=") && !option.ends_with('=')
    })
}

/// Tells whether a word is letters that may all be joined.
fn letters_keep(row: &Row, word: &str) -> bool {
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        return false;
    };
    if row.programs.contains(&"pytest") {
        return pytest_letters(letters);
    }
    letters.chars().all(|letter| row.letters.contains(letter))
}

/// Tells whether short options of pytest choose nothing: `-r` takes the letters behind it.
fn pytest_letters(letters: &str) -> bool {
    let plain = letters.trim_start_matches(['q', 'v', 's', 'x', 'l']);
    plain.is_empty()
        || plain.strip_prefix('r').is_some_and(|shown| {
            !shown.is_empty() && shown.chars().all(|c| "fExXsSpPwaAN".contains(c))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entry: &str, words: &str) -> bool {
        let entry: Vec<String> = entry.split(' ').map(str::to_owned).collect();
        let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
        all_keep(row_of(&entry), &words)
    }

    #[test]
    fn words_that_choose_nothing_keep_the_proof() {
        for (entry, words) in [
            (
                "cargo test",
                "-q --workspace --color always -j 4 -- --test-threads=1 --nocapture",
            ),
            ("cargo test", "-qr --jobs=2"),
            (
                "pytest",
                "-qvx -ra --tb=short --durations 10 -n auto --cov=src",
            ),
            ("python -m pytest", "-q"),
            ("npm test", "--silent -- --ci --coverage"),
            ("make check", "-j4 -s V=1"),
            ("make check", "-j 4"),
            ("go test", "./... -race -count=1 -timeout 60s"),
            ("npx jest", "--ci --maxWorkers 2"),
            ("npx vitest", "run --coverage --reporter=dot"),
            ("./check.sh", "-q"),
            ("mvn -B test", "-ntp -T 4"),
            (
                "pytest",
                "--timeout 60 --maxfail=1 --tb short -p no:cacheprovider -W ignore",
            ),
            (
                "pytest",
                "--cov=src --cov-report term-missing --no-header -ra",
            ),
            ("npm test", "-- --bail --reporter dot --testTimeout=9000"),
            ("yarn test", "--ci --watchAll=false --coverage"),
            ("bun test", "--timeout 5000 --bail"),
            ("npx mocha", "--bail --timeout 5000 --reporter spec"),
            ("go test ./...", "-v -race -count=1 -coverprofile=c.out"),
            ("go test -tags integration ./...", "-v"),
            ("python -m unittest", "discover -v"),
            ("dotnet test", "--no-restore --nologo -v q"),
        ] {
            assert!(check(entry, words), "{entry} {words}");
        }
    }

    #[test]
    fn words_that_may_choose_void_it() {
        for (entry, words) in [
            ("cargo test", "nosuch"),
            ("cargo test", "--no-run"),
            ("cargo test", "-p one"),
            ("cargo test", "--lib"),
            ("cargo test", "--color"),
            ("cargo test", "-j x"),
            ("cargo test", "-- --list"),
            ("cargo test", "-- --ignored"),
            ("cargo test", "-- --skip a"),
            ("cargo test", "-- -- --nocapture"),
            ("cargo test", "-- --test-threads=1 name"),
            ("cargo test", "--no-default-features"),
            ("pytest", "-k nothing"),
            ("pytest", "-qk nothing"),
            ("pytest", "--co"),
            ("pytest", "--collect-only"),
            ("pytest", "-h"),
            ("pytest", "--version"),
            ("pytest", "--deselect x"),
            ("pytest", "-rk"),
            ("pytest", "tests/test_a.py"),
            ("npm test", "--if-present"),
            ("npm test", "--workspace x"),
            ("npm test", "-- -t nothing"),
            ("npm test", "--ignore-scripts"),
            ("npm run test", "--workspace x"),
            ("make check", "-n"),
            ("make check", "-sn"),
            ("make check", "-i"),
            ("make check", "-q"),
            ("make check", "other"),
            ("make check", "TESTS="),
            ("go test", "-run nothing"),
            ("go test", "-short ./..."),
            ("jest", "--passWithNoTests"),
            ("jest", "-t x"),
            ("jest", "-u"),
            ("vitest", "run x"),
            ("vitest", "--passWithNoTests"),
            ("mvn test", "-DskipTests"),
            ("mvn test", "-fn"),
            ("pytest", "-p no:asyncio"),
            ("pytest", "--lf"),
            ("pytest", "--sw"),
            ("pytest", "tests"),
            ("go test ./...", "-count=0"),
            ("go test ./...", "-count 0"),
            ("go test", "-tags integration ./..."),
            ("go test", "-list ."),
            ("bun test", "a.test.ts"),
            ("yarn test", "a"),
            ("dotnet test", "--filter x"),
            ("python -m unittest", "tests.test_a"),
            ("./check.sh", "-x"),
            ("./check.sh", "fast"),
        ] {
            assert!(!check(entry, words), "{entry} {words}");
        }
    }

    fn command(line: &[&str]) -> SimpleCommand {
        SimpleCommand {
            words: line
                .iter()
                .map(|word| match word.contains('$') {
                    true => Word::Dynamic((*word).to_owned()),
                    false => Word::Literal((*word).to_owned()),
                })
                .collect(),
            directory: Some("/project".to_owned()),
            class: CommandClass::ProjectCode,
            ..SimpleCommand::default()
        }
    }

    #[test]
    fn a_check_is_known_in_other_words_than_the_entry_has() {
        use Standing::{Narrowed, Other, Whole};
        for (entry, line, wanted) in [
            ("go test ./...", "go test -v -race ./...", Whole),
            ("go test ./...", "go test -run x ./...", Other),
            ("go test ./...", "go test -v ./... -run x", Narrowed),
            ("make test", "make -s -j4 test", Whole),
            ("make test", "make -j$(nproc) test", Whole),
            ("make test", "make test -j$(nproc)", Whole),
            ("make test", "make test -j$N", Narrowed),
            ("mvn test", "mvn -q clean test", Whole),
            ("pytest", "venv/bin/pytest -q", Whole),
            ("pytest", "/project/.venv/bin/pytest", Whole),
            ("pytest", "/elsewhere/venv/bin/pytest", Other),
            ("pytest", "./bin/pytest", Other),
            ("pytest", "venv/bin/pytest a.py", Narrowed),
            ("jest", "./node_modules/.bin/jest --ci", Whole),
        ] {
            let entry: Vec<String> = entry.split(' ').map(str::to_owned).collect();
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(standing(&entry, &command(&words)), wanted, "{line}");
        }
    }
}
