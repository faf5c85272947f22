//! Which words behind an evidence entry leave a check what it is.
//!
//! A check that runs fewer tests, or none, still ends with 0. So only words
//! that are known to choose nothing keep the proof; the table is read row by row.

mod rows;

use super::shell::words_beyond;
use crate::facts::{CommandClass, EnvUse, SimpleCommand, Word};

use rows::{CHOOSING, ONLY_SAYS, ROWS, Row};

/// Tells whether `command` still is the check that `wanted` names.
pub(super) fn keeps(wanted: &[String], command: &SimpleCommand) -> bool {
    let Some(beyond) = words_beyond(wanted, command) else {
        return false;
    };
    let runs_code = matches!(
        command.class,
        CommandClass::ProjectCode | CommandClass::Interpreter | CommandClass::Unknown
    );
    if !runs_code {
        return beyond
            .words
            .iter()
            .all(|word| word.literal().is_none_or(|text| !ONLY_SAYS.contains(&text)));
    }
    let words: Option<Vec<&str>> = beyond.words.iter().map(Word::literal).collect();
    words.is_some_and(|words| all_keep(row_of(wanted), &words))
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
fn row_of(entry: &[String]) -> Option<&'static Row> {
    let named = entry
        .iter()
        .rev()
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .find_map(|word| ROWS.iter().find(|row| row.programs.contains(&word)));
    named.or_else(|| ROWS.last())
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
            if rest.is_empty() {
                words.next_if(|next| number(next) || *next == "auto");
                continue;
            }
            if number(rest) || rest == "auto" {
                continue;
            }
        }
        let apart = valued.contains(&word) && !word.ends_with('=');
        if !apart || words.next_if(|next| !next.starts_with('-')).is_none() {
            return false;
        }
    }
    true
}

/// Tells whether a word is an option of `valued` with its value behind `=`.
fn joined(valued: &[&str], word: &str) -> bool {
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
            ("./check.sh", "-x"),
            ("./check.sh", "fast"),
        ] {
            assert!(!check(entry, words), "{entry} {words}");
        }
    }
}
