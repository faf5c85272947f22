//! Words after an evidence entry that do not weaken a check.
//!
//! A check that runs fewer tests, or none, still exits with 0. So only words that are known to select nothing keep the proof; the
//! table is checked row by row.

mod rows;

use std::borrow::Cow;

use interlock_core::facts::{CommandClass, Selection, SimpleCommand, Word};

use super::{base, has};
use rows::{ASKS, COUNTED, LAUNCHERS, LOADED, ONLY_SAYS, OWN_SCRIPT, ROWS, Row, UNDONE};

/// Directories of a project that contain the programs of its own environment.
const ENVIRONMENTS: [&str; 5] = [
    "venv/bin",
    ".venv/bin",
    "env/bin",
    "node_modules/.bin",
    "vendor/bin",
];

/// Returns for each word of a command, its name first, whether it may make a check test less.
pub(super) fn read(command: &SimpleCommand) -> Vec<Selection> {
    let words: Vec<Option<Cow<'_, str>>> = command.words.iter().map(known).collect();
    let words: Vec<Option<&str>> = words.iter().map(Option::as_deref).collect();
    let runs_code = matches!(
        command.class,
        CommandClass::ProjectCode | CommandClass::Interpreter | CommandClass::Unknown
    );
    let row = row_of(&words);
    // With some words a runner only reads; its row has none of them.
    if row.is_none() && !runs_code {
        return said(&words);
    }
    roles(row, &words)
}

/// Returns the name of a program of the project's own environment.
pub(super) fn in_environment<'a>(path: &'a str, directory: Option<&str>) -> Option<&'a str> {
    let below = directory
        .and_then(|directory| path.strip_prefix(directory)?.strip_prefix('/'))
        .unwrap_or(path);
    let below = below.strip_prefix("./").unwrap_or(below);
    let (folder, name) = below.rsplit_once('/')?;
    ENVIRONMENTS.contains(&folder).then_some(name)
}

/// Classifies the words of a command that runs no code of the project: it may only report what it would do.
fn said(words: &[Option<&str>]) -> Vec<Selection> {
    let begins = |entry: &[&str]| {
        let mut words = words.iter().flatten();
        let first = words.next().map(|name| base(name));
        first
            .into_iter()
            .chain(words.copied())
            .take(entry.len())
            .eq(entry.iter().copied())
    };
    let undone: Vec<_> = UNDONE.iter().filter(|(entry, ..)| begins(entry)).collect();
    let of = |text: &str| {
        let option = text.split_once('=').map_or(text, |(option, _)| option);
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let is_undone = undone.iter().any(|(_, options, joined)| {
            has(options, option)
                || letters.is_some_and(|letters| letters.contains(|letter| joined.contains(letter)))
        });
        if has(ONLY_SAYS, option) || is_undone {
            Selection::OnlySays
        } else if has(ASKS, text) {
            Selection::Asks
        } else {
            Selection::Passes
        }
    };
    words
        .iter()
        .map(|word| word.map_or(Selection::Passes, of))
        .collect()
}

/// Returns the text of a word, with the number of processors in place of a query for it.
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

fn named(name: &str) -> Option<&'static Row> {
    let name = base(name);
    ROWS.iter().find(|row| row.programs.contains(&name))
}

/// Returns whether a program is known to pass words on to another one that they name.
fn launches(words: &[Option<&str>]) -> bool {
    let first = words.first().copied().flatten();
    first.is_some_and(|name| has(LAUNCHERS, base(name)))
}

/// Returns the row of the first runner in a command (`npx jest`).
///
/// Only known launchers are followed: in `make pytest` the words are make's.
fn row_of(words: &[Option<&str>]) -> Option<&'static Row> {
    let first = words.first().copied().flatten()?;
    if launches(words)
        && let Some(row) = words.iter().skip(1).flatten().find_map(|word| named(word))
    {
        return Some(row);
    }
    let is_script = first.contains('/')
        && crate::paths::program_name(first).is_none()
        && in_environment(first, None).is_none();
    named(first).or_else(|| is_script.then_some(&OWN_SCRIPT))
}

/// Classifies words by the row of a runner; the name of another runner after a launcher changes it.
fn roles(row: Option<&'static Row>, words: &[Option<&str>]) -> Vec<Selection> {
    let mut found = vec![Selection::Selects; words.len()];
    let Some(mut row) = row else { return found };
    let launches = launches(words);
    let mut behind = false;
    let mut at = 1;
    while let Some(word) = words.get(at).copied() {
        let next = words.get(at + 1).copied().flatten();
        let role = match word {
            None => Selection::Selects,
            Some("--") if behind => Selection::Selects,
            Some("--") => {
                behind = true;
                Selection::Keeps
            }
            Some(word) => role(row, behind, word, next),
        };
        if role == Selection::Selects
            && launches
            && let Some(other) = word.and_then(named)
        {
            (row, behind) = (other, false);
        }
        if let Some(place) = found.get_mut(at) {
            *place = role;
        }
        at += 1;
        if role == Selection::KeepsWithNext {
            if let Some(place) = found.get_mut(at) {
                *place = Selection::Value;
            }
            at += 1;
        }
    }
    found
}

/// Classifies one word by its row, with the following word.
fn role(row: &Row, behind: bool, word: &str, next: Option<&str>) -> Selection {
    let (alone, valued) = if behind {
        (row.behind, row.behind_valued)
    } else {
        (row.words, row.valued)
    };
    if has(alone, word) || joined(valued, word) || !behind && letters_keep(row, word) {
        return Selection::Keeps;
    }
    let with_next = |takes: bool| {
        if takes {
            Selection::KeepsWithNext
        } else {
            Selection::Keeps
        }
    };
    let mut numbers = row.numbers.split_ascii_whitespace();
    if !behind && let Some(rest) = numbers.find_map(|option| word.strip_prefix(option)) {
        let counts = |text: &str| is_number(text) || word.starts_with("-n") && text == "auto";
        if rest.is_empty() {
            return with_next(next.is_some_and(counts));
        }
        if counts(rest) {
            return Selection::Keeps;
        }
    }
    let paired = |next: &str| {
        let is_pair =
            |(option, values): &(&str, &[&str])| *option == word && values.contains(&next);
        !behind && row.pairs.iter().any(is_pair)
    };
    if next.is_some_and(paired) {
        return Selection::KeepsWithNext;
    }
    let apart = has(valued, word) && !word.ends_with('=');
    match next.filter(|next| apart && !next.starts_with('-')) {
        Some(value) if !voids(word, value) => Selection::KeepsWithNext,
        _ => Selection::Selects,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether an option's value makes a runner run nothing, or other code.
fn voids(option: &str, value: &str) -> bool {
    let is_path = value.contains(['/', '\\', '@']) || value.starts_with('.');
    let is_module = [".js", ".mjs", ".cjs", ".ts", ".py", ".rb"]
        .iter()
        .any(|end| value.ends_with(end));
    match option {
        // A hexadecimal number may be 0, too.
        "-count" => !is_number(value) || value.trim_start_matches('0').is_empty(),
        // It imports the module of a category.
        "-W" => value.contains('.'),
        _ if has(LOADED, option) => is_path || is_module,
        _ if has(COUNTED, option) => {
            !value.starts_with(|c: char| c.is_ascii_digit())
                && !matches!(value, "auto" | "all" | "true" | "false")
        }
        _ => false,
    }
}

/// Returns whether a word is an option of `valued` with its value after `=`.
fn joined(valued: &str, word: &str) -> bool {
    if word
        .split_once('=')
        .is_some_and(|(option, value)| voids(option, value))
    {
        return false;
    }
    valued.split_ascii_whitespace().any(|option| {
        word.strip_prefix(option.trim_end_matches('='))
            .is_some_and(|rest| rest.len() > 1 && rest.starts_with('='))
            || option == word && option.contains('=') && !option.ends_with('=')
    })
}

/// Returns whether a word consists of letters that may all be combined.
fn letters_keep(row: &Row, word: &str) -> bool {
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        return false;
    };
    if row.programs.contains(&"pytest") {
        return pytest_letters(letters);
    }
    letters.chars().all(|letter| row.letters.contains(letter))
}

/// Returns whether short options of pytest select nothing: `-r` takes the following letters.
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

    /// Returns whether all `words` after `entry` keep the check unchanged.
    fn check(entry: &str, words: &str) -> bool {
        let line = format!("{entry} {words}");
        let line: Vec<Option<&str>> = line.split_ascii_whitespace().map(Some).collect();
        let roles = roles(row_of(&line), &line);
        let mut beyond = roles.iter().skip(entry.split(' ').count());
        beyond.all(|role| *role != Selection::Selects)
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
}
