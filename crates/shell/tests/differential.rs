//! Compares the reader with real bash and zsh: the commands that a line ran are those that the reader listed, or the
//! line was unreadable.
//!
//! `INTERLOCK_LINES` and `INTERLOCK_SEED` set the number of lines and the seed.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a failed test panics"
)]

mod generator;
mod names;
mod shell;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use generator::Rng;
use interlock_core::facts::{PathText, ShellFacts, SimpleCommand, Word};
use interlock_shell::{Dialect, ShellContext, read};
use shell::{Folder, INTERLOCK_NAMES, Outcome, Ran, Shell};

use crate::support::cases;

/// Number of lines for each shell; about a hundred per second and thread.
const LINES: u64 = 250;
const THREADS: u64 = 4;

/// Fragments that damage a line.
const PIECES: &[&str] = &[
    "$(",
    "`",
    "${",
    "$((",
    "))",
    ")",
    "}",
    "(",
    "{",
    "[[ ",
    " ]]",
    "\"",
    "'",
    "$'",
    "\\",
    "\n",
    ";",
    " && ",
    " || ",
    " | ",
    " & ",
    " <<E\n",
    "\nE\n",
    "<<<",
    "<(",
    ">(",
    " > ",
    " 2>&1 ",
    "if ",
    " then ",
    " fi",
    "for i in ",
    " do ",
    " done",
    "case a in ",
    " esac",
    ";;",
    "a=",
    "x=",
    "$x",
    "\"$x\"",
    "${x:-",
    "#",
    " #",
    "~",
    "*",
    "{a,b}",
    "{1..9}",
    " -o ",
    " -- ",
    "=",
    "eval ",
    "bash -c ",
    "env ",
    "time ",
    "! ",
    " ",
    "\t",
    "set -- ",
    "$@",
    "$1",
    "\\\n",
    "é",
    "!",
    "exec ",
    "command ",
    "IFS=, ",
    "read x; ",
    "cd sub; ",
    "touch w",
];

#[test]
fn what_bash_runs_was_listed() {
    play(Shell::Bash);
}

#[test]
fn what_zsh_runs_was_listed() {
    play(Shell::Zsh);
}

/// Runs lines and compares them with the reader until one differs.
fn play(shell: Shell) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let lines: u64 = number("INTERLOCK_LINES").unwrap_or(LINES);
    let seed: u64 = number("INTERLOCK_SEED").unwrap_or(20_261_121);
    let known = known_lines();
    let next = AtomicU64::new(0);
    let wrong = Mutex::new(Vec::new());
    let tried = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut folder = Folder::new(shell);
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= lines {
                        return;
                    }
                    let line = line_of(seed, at, &known);
                    match check(&mut folder, &line) {
                        Checked::Left => {}
                        Checked::Same => {
                            tried.fetch_add(1, Ordering::Relaxed);
                        }
                        Checked::Differs(why) => {
                            wrong.lock().unwrap().push(format!("{line:?}: {why}"));
                        }
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let tried = tried.into_inner();
    assert!(
        wrong.is_empty(),
        "{} of {tried} lines differ in {shell:?} (INTERLOCK_SEED={seed} INTERLOCK_LINES={lines})\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        tried > lines / 10,
        "only {tried} of {lines} lines were readable and safe to run"
    );
}

/// Returns a line: first those of the case files, then generated and damaged ones in turn.
fn line_of(seed: u64, at: u64, known: &[String]) -> String {
    let mut rng = Rng::new(seed ^ at.wrapping_mul(0x2545_F491_4F6C_DD1D));
    match usize::try_from(at) {
        Ok(at) if at < known.len() => known[at].clone(),
        _ if at.is_multiple_of(3) => generator::damaged(&mut rng, known, PIECES),
        _ => generator::line(&mut rng),
    }
}

fn known_lines() -> Vec<String> {
    let files = [
        include_str!("cases/words.txt"),
        include_str!("cases/constructs.txt"),
        include_str!("cases/redirections.txt"),
        include_str!("cases/proofs.txt"),
        include_str!("cases/environment.txt"),
        include_str!("cases/shells.txt"),
        include_str!("cases/wrappers.txt"),
        include_str!("cases/verdicts.txt"),
        include_str!("cases/alone.txt"),
    ];
    let of_zsh = cases(include_str!("cases/dialects.txt"))
        .into_iter()
        .filter_map(|case| case.line.strip_prefix("zsh ").map(str::to_owned));
    files
        .iter()
        .flat_map(|file| cases(file))
        .map(|case| case.line)
        .chain(of_zsh)
        .collect()
}

/// Names that are not builtins, so that they can be made to fail.
const PROGRAMS: &[&str] = &[
    "cargo", "npm", "foo", "ls", "cat", "touch", "grep", "sed", "wc", "sort",
];

enum Checked {
    /// Not run: unreadable, or not safe to run.
    Left,
    Same,
    Differs(String),
}

fn check(folder: &mut Folder, line: &str) -> Checked {
    let place = folder.next();
    let facts = read(
        line,
        &ShellContext {
            dialect: match folder.shell {
                Shell::Bash => Dialect::Bash,
                Shell::Zsh => Dialect::Zsh,
            },
            directory: place.clone(),
            project_root: place.clone(),
            home: Some(place.clone()),
            temporary: Some(format!("{place}/sub")),
            user: None,
            transparent: Vec::new(),
            variables: Vec::new(),
        },
    );
    if facts.unreadable.is_some() || !is_safe(line, &facts) {
        return Checked::Left;
    }
    let outcome = folder.run(line, INTERLOCK_NAMES[0]);
    let functions = functions(line);
    for ran in outcome.ran.iter().filter(|ran| !stands_for_nothing(ran)) {
        if let Some(why) = differs(ran, &facts, &functions) {
            return Checked::Differs(why);
        }
    }
    if let Some(path) = outcome
        .written
        .iter()
        .find(|path| !is_written(path, &facts, line.contains("cd ")))
    {
        return Checked::Differs(format!(
            "it wrote `{path}`, and the reader says {:?}",
            facts.writes
        ));
    }
    match broken_proof(folder, line, &facts, &outcome) {
        Some(why) => Checked::Differs(why),
        None => Checked::Same,
    }
}

/// Returns whether zsh ran this for a line that has only redirections.
fn stands_for_nothing(ran: &Ran) -> bool {
    matches!(ran.words.as_slice(), [one] if ["cat", "more", "pager"].contains(&one.as_str()))
}

/// Returns whether a line can have no effect outside its folder.
///
/// No program can be started; only redirections, `cd` and signals remain.
fn is_safe(line: &str, facts: &ShellFacts) -> bool {
    let text = line.replace("/dev/null", "");
    let below = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        let start = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        // An empty value would make the path absolute.
        before.ends_with(|c: char| c.is_ascii_alphanumeric() || "._".contains(c))
            && !start.ends_with('$')
    };
    let paths = text.match_indices('/').all(|(at, _)| below(at));
    let odd = [
        "kill",
        "ulimit",
        "XTRACE",
        "PS4",
        "BASH",
        "INTERLOCK",
        "set +x",
        "+x",
        "set -",
        "exec 9",
        "9>",
        "9<",
        "\u{1}",
        "\u{2}",
        "~",
        "command_not_found",
        "history",
        "PWD",
        "fc",
        "umask",
        "SHELLOPTS",
        "coproc",
        "sh ",
        "chroot",
        "time -o",
        "source",
        ". ",
        "SECONDS",
        "LINENO",
        "SRANDOM",
        "RANDOM",
    ];
    let is_odd = odd
        .iter()
        .any(|word| line.contains(word) && !(*word == "set -" && line.contains("set --")));
    // It searches for programs in the system's directories.
    let standard = line.contains("command") && line.contains("-p");
    let recurses = line.contains("()") && line.contains(['&', '|']);
    let climbs = line.matches("..").count() > 2 || line.contains("..") && line.contains("do");
    let elsewhere = facts
        .commands
        .iter()
        .any(|command| command.class == interlock_core::facts::CommandClass::Privilege);
    paths && !standard && !is_odd && !recurses && !climbs && !elsewhere && !hides(facts)
}

/// Returns whether a line disables the trace of its commands, as `set -` does.
fn hides(facts: &ShellFacts) -> bool {
    let sets = facts
        .commands
        .iter()
        .filter(|command| command.words.first().and_then(Word::literal) == Some("set"));
    sets.flat_map(|command| command.words.iter().skip(1))
        .map(|word| word.literal().unwrap_or("-"))
        .take_while(|word| *word != "--")
        .any(|word| word.starts_with(['-', '+']))
}

/// Returns the names of functions that the line defines.
fn functions(line: &str) -> Vec<String> {
    let before = line.split('(').map(|part| {
        let part = part.trim_end();
        let start = part.rfind(|c: char| !(c.is_alphanumeric() || "_-.:".contains(c)));
        start.map_or(part, |at| part.get(at + 1..).unwrap_or_default())
    });
    let words = line.split("function ").skip(1).filter_map(|part| {
        part.split(|c: char| !(c.is_alphanumeric() || "_-.:".contains(c)))
            .find(|word| !word.is_empty())
    });
    before.chain(words).map(str::to_owned).collect()
}

/// Returns why a command that ran is not among the listed ones.
fn differs(ran: &Ran, facts: &ShellFacts, functions: &[String]) -> Option<String> {
    let name = ran.words.first()?.as_str();
    // Not commands, or looked through without being listed themselves.
    let is_assignment = name.split_once('=').is_some_and(|(name, _)| {
        name.trim_end_matches('+')
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_[]$'-".contains(c))
    });
    let looked_through = [
        "eval", "bash", "sh", "dash", "zsh", "ksh", "((", "[[", "for", "case", "select", "time",
    ];
    let takes_text = match name {
        "watch" | "flock" | "script" | "su" | "sg" | "runuser" | "xargs" => true,
        "env" => ran
            .words
            .iter()
            .any(|word| word.starts_with("-S") || word.starts_with("-C")),
        "builtin" | "command" => ran.words.iter().any(|word| word == "eval"),
        _ => false,
    };
    if takes_text
        || is_assignment
        || looked_through.contains(&name)
        || functions.iter().any(|known| known == name)
    {
        return None;
    }
    // After the word `-`, zsh marks the name of a program in this way.
    let mut unmarked = ran.words.clone();
    if name.starts_with('-') {
        unmarked[0].remove(0);
    }
    // After a failed `cd`, the shell is further up than the reader assumed.
    let listed = |command: &&SimpleCommand| {
        let here = command
            .directory
            .as_ref()
            .is_none_or(|place| place.starts_with(ran.directory.as_str()));
        let is_one =
            |words: &[String]| matches(&command.words, words) || matches(&command.wrapped, words);
        here && (is_one(&ran.words) || is_one(&unmarked))
    };
    if facts.commands.iter().any(|command| listed(&command)) || is_declared(ran, facts) {
        return None;
    }
    let known: Vec<_> = facts
        .commands
        .iter()
        .map(|command| (&command.words, &command.directory))
        .collect();
    Some(format!("it ran {ran:?}, and the reader listed {known:?}"))
}

/// Returns whether a command is `export` or similar, whose operands are listed in another order.
fn is_declared(ran: &Ran, facts: &ShellFacts) -> bool {
    let declares = ["export", "declare", "typeset", "local", "readonly"];
    declares.contains(&ran.words[0].as_str())
        && facts.commands.iter().any(|command| {
            let listed = |word: &String| {
                command
                    .words
                    .iter()
                    .any(|listed| listed.literal().is_none_or(|text| text == word))
            };
            ran.words.iter().all(listed)
        })
}

/// Returns whether the words that ran match the listed ones; a dynamic word may expand to any number.
fn matches(listed: &[Word], ran: &[String]) -> bool {
    match (listed.split_first(), ran.split_first()) {
        (None, None) => true,
        (Some((Word::Literal(text), rest)), Some((word, more))) => {
            text == word && matches(rest, more)
        }
        (Some((Word::Dynamic(_), rest)), _) => {
            (0..=ran.len()).any(|count| matches(rest, &ran[count..]))
        }
        _ => false,
    }
}

fn is_written(path: &str, facts: &ShellFacts, moves: bool) -> bool {
    let file_name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    facts.writes.iter().any(|used| match &used.path {
        PathText::Whole(whole) => {
            whole == path
                || moves && file_name(whole) == file_name(path)
                || used.recursive && path.starts_with(whole.as_str())
        }
        PathText::Below(start) => path.starts_with(start.as_str()),
        PathText::Unknown => true,
    })
}

/// Returns how the exit code is wrong about a command that it should prove.
fn broken_proof(
    folder: &mut Folder,
    line: &str,
    facts: &ShellFacts,
    outcome: &Outcome,
) -> Option<String> {
    let proved = facts
        .commands
        .iter()
        .filter(|command| command.proves_success && command.via.is_empty());
    for command in proved {
        let name = command.words.first().and_then(Word::literal);
        let is_program = name.is_some_and(|name| PROGRAMS.contains(&name));
        // In zsh, only programs are observed.
        if folder.shell == Shell::Zsh && !is_program {
            continue;
        }
        if outcome.code == Some(0)
            && !outcome
                .ran
                .iter()
                .any(|ran| matches(&command.words, &ran.words) || is_declared(ran, facts))
        {
            return Some(format!(
                "it ended with 0, and {:?} never ran",
                command.words
            ));
        }
        let Some(name) = name.filter(|_| is_program) else {
            continue;
        };
        let failed = folder.run(line, name);
        let alone = facts
            .commands
            .iter()
            .filter(|other| other.words.first() == command.words.first())
            .count()
            == 1;
        if failed.code == Some(0)
            || alone && command.proves_exit && failed.code != Some(7) && failed.code != outcome.code
        {
            return Some(format!(
                "`{name}` failed, and the line ended with {:?}",
                failed.code
            ));
        }
    }
    None
}
