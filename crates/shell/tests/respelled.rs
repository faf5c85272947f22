//! A line has the same meaning in any spelling: each line of the case files is written in other ways that bash treats
//! as equal, and the reader must return equal facts.

mod around;
mod commands;
mod lexer;
mod options;
mod spellings;

use std::collections::{BTreeSet, HashMap};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_core::facts::{Beside, CommandSpan, HandsOut, PathText, ShellAsk, ShellFacts, Word};
use interlock_shell::read;

use crate::support::{cases, setting};
use around::{AROUND, Around};
use spellings::{Changes, Line, SPELLINGS};

/// Returns the lines of this crate's case files that bash would run.
fn lines() -> Vec<String> {
    let own = [
        include_str!("cases/alone.txt"),
        include_str!("cases/archives_and_network.txt"),
        include_str!("cases/constructs.txt"),
        include_str!("cases/environment.txt"),
        include_str!("cases/forms.txt"),
        include_str!("cases/git.txt"),
        include_str!("cases/machine.txt"),
        include_str!("cases/proofs.txt"),
        include_str!("cases/readers.txt"),
        include_str!("cases/redirections.txt"),
        include_str!("cases/remote.txt"),
        include_str!("cases/sed_and_awk.txt"),
        include_str!("cases/shells.txt"),
        include_str!("cases/text.txt"),
        include_str!("cases/verdicts.txt"),
        include_str!("cases/words.txt"),
        include_str!("cases/wrappers.txt"),
        include_str!("cases/writers.txt"),
        include_str!("../../../tests/shell/tricks.txt"),
    ];
    let mut lines: BTreeSet<String> = own
        .iter()
        .flat_map(|file| cases(file))
        .map(|case| case.line)
        .collect();
    let harmless = include_str!("../../../tests/shell/harmless.txt").lines();
    lines.extend(
        harmless
            .filter(|line| !line.trim().is_empty() && !line.starts_with("# "))
            .map(crate::support::unescape),
    );
    lines.into_iter().collect()
}

/// Returns the compared facts, without the source text and its positions.
fn said(line: &str, changes: Changes) -> ShellFacts {
    said_but(line, changes, &[])
}

/// Returns the same, without reads of files that `values` of options are taken for.
fn said_but(line: &str, changes: Changes, values: &[String]) -> ShellFacts {
    let mut facts = read(line, &setting());
    if facts.unreadable.is_some() {
        return ShellFacts {
            unreadable: Some(String::new()),
            ..ShellFacts::default()
        };
    }
    let plain = |word: &mut Word| {
        if let Word::Dynamic(source) = word {
            source.clear();
        }
    };
    for command in &mut facts.commands {
        command.words.iter_mut().for_each(plain);
        command.wrapped.iter_mut().for_each(plain);
        command.opaque.iter_mut().for_each(String::clear);
        if let Some(probe) = &mut command.probe {
            probe.span = CommandSpan { start: 0, end: 0 };
        }
        match changes {
            Changes::Nothing => {}
            Changes::Places => command.probe = None,
            Changes::Words => {
                command.words.truncate(1);
                // Both pass words on, or count them.
                if matches!(command.beside, Beside::Does(_)) {
                    command.beside = Beside::ReadsFiles;
                }
                command.hands_out = HandsOut::default();
                command.wrapped.clear();
                command.uses.clear();
                command.loose.clear();
                command.relocated = None;
                command.project_words = 0;
                command.probe = None;
            }
            Changes::Wrapper(wrapper) => {
                command.via.retain(|name| name != wrapper);
                // The written text is known for plain commands only.
                facts.writes.iter_mut().for_each(|write| write.text = None);
                command.wrapped.clear();
                command.system_wrapper = None;
                command.probe = None;
            }
        }
    }
    if changes == Changes::Words {
        let is_value = |path: &str| values.iter().any(|value| path.ends_with(value.as_str()));
        facts
            .reads
            .retain(|read| matches!(&read.path, PathText::Whole(path) if !is_value(path)));
    }
    let uses = [&mut facts.reads, &mut facts.writes, &mut facts.removes];
    for used in uses.into_iter().flatten() {
        used.by.clear();
    }
    for used in &mut facts.network {
        used.by.clear();
    }
    facts.builtins_alone = false;
    facts
}

/// Runs `one` for every line on a few threads and reports its complaints.
fn for_each(lines: &[String], one: impl Fn(usize, &str, &mut Vec<String>) + Sync) {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut found = Vec::new();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(line) = lines.get(at) else { break };
                    one(at, line, &mut found);
                }
                wrong.lock().expect("no thread has panicked").extend(found);
            });
        }
    });
    let mut wrong = wrong.into_inner().expect("no thread has panicked");
    wrong.sort();
    assert!(
        wrong.is_empty(),
        "{} spellings are read in another way\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Returns where two facts first differ.
fn difference(a: &ShellFacts, b: &ShellFacts) -> String {
    let (a, b) = (format!("{a:#?}"), format!("{b:#?}"));
    let (a, b): (Vec<&str>, Vec<&str>) = (a.lines().collect(), b.lines().collect());
    let at = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let show = |lines: &[&str]| {
        let some = lines.iter().skip(at).take(3).map(|line| line.trim());
        some.collect::<Vec<_>>().join(" ")
    };
    format!("`{}` and `{}`", show(&a), show(&b))
}

/// For each line, one in this many spellings is tried, and another part for the next line.
const PART: usize = 2;
/// Number of surroundings for one line; neighboring lines get others.
const PLACES: usize = 2;

/// Returns whether everything is played; commands that may take their time set `INTERLOCK_WHOLE`.
fn is_whole() -> bool {
    std::env::var_os("INTERLOCK_WHOLE").is_some()
}

#[test]
fn every_spelling_of_a_line_is_read_alike() {
    for_each(&lines(), |at, text, wrong| {
        let Some(line) = Line::new(text) else {
            return;
        };
        let mut known = HashMap::new();
        for (number, spelling) in SPELLINGS.iter().enumerate() {
            if (at + number) % PART != 0 && !is_whole() {
                continue;
            }
            let Some(other) = line.written(spelling) else {
                continue;
            };
            let values = if spelling.changes == Changes::Words {
                let others = Line::new(&other).map(|other| other.values());
                [line.values(), others.unwrap_or_default()].concat()
            } else {
                Vec::new()
            };
            let one = known
                .entry((spelling.changes, values.clone()))
                .or_insert_with(|| said_but(text, spelling.changes, &values));
            let two = said_but(&other, spelling.changes, &values);
            if *one != two {
                wrong.push(format!(
                    "{}: `{}` and `{}`: {}",
                    spelling.name,
                    text.escape_debug(),
                    other.escape_debug(),
                    difference(one, &two)
                ));
            }
        }
    });
}

/// Removes what does not belong to the line itself, or depends on its surroundings.
fn inner(mut facts: ShellFacts, around: &Around) -> ShellFacts {
    let is_around = |word: &Word| word.literal() == Some("--around");
    facts
        .commands
        .retain(|command| !command.words.iter().any(is_around));
    for command in &mut facts.commands {
        command.proves_success = false;
        command.proves_exit = false;
        command.step = None;
        command.probe = None;
    }
    for used in &mut facts.network {
        used.command = None;
    }
    for asked in &mut facts.asks {
        let (ShellAsk::Repository { command, .. } | ShellAsk::Options { command, .. }) = asked;
        *command = 0;
    }
    let own = |name: &String| name != "around" && name != "COPROC";
    facts.env.set.retain(|set| own(&set.name));
    facts.env.used.retain(own);
    if around.repeats {
        facts.env.set.iter_mut().for_each(|set| set.values.clear());
        facts.writes.iter_mut().for_each(|write| write.text = None);
    }
    facts
}

#[test]
fn what_stands_around_a_line_changes_nothing_of_it() {
    for_each(&lines(), |at, text, wrong| {
        if Line::new(text).is_none() {
            return;
        }
        let one = said(text, Changes::Nothing);
        let places = if is_whole() { AROUND.len() } else { PLACES };
        for place in 0..places {
            let Some(around) = AROUND.get((at * PLACES + place) % AROUND.len()) else {
                continue;
            };
            let Some(other) = around.of(text) else {
                continue;
            };
            let one = inner(one.clone(), around);
            let two = inner(said(&other, Changes::Nothing), around);
            if one != two && !(around.computes && two.unreadable.is_some()) {
                wrong.push(format!(
                    "{}: `{}`: {}",
                    around.text.escape_debug(),
                    text.escape_debug(),
                    difference(&one, &two)
                ));
            }
        }
    });
}

/// One in this many lines is run by bash, in all spellings; each spelling uses other lines.
const SHOWN: usize = 61;

#[test]
fn what_is_written_in_another_way_is_valid_for_bash() {
    let is_valid = |line: &str| {
        let status = Command::new("bash")
            .args(["--norc", "--noprofile", "-n", "-c", line])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.expect("bash is installed").success()
    };
    let shown = AtomicUsize::new(0);
    for_each(&lines(), |at, text, wrong| {
        let Some(line) = Line::new(text) else {
            return;
        };
        let is_shown = |number: &usize| (at + number).is_multiple_of(SHOWN);
        let spelled = (0..SPELLINGS.len())
            .filter(is_shown)
            .filter_map(|number| line.written(SPELLINGS.get(number)?));
        let around = (0..AROUND.len())
            .filter(is_shown)
            .filter_map(|number| AROUND.get(number)?.of(text));
        for other in spelled.chain(around) {
            shown.fetch_add(1, Ordering::Relaxed);
            if !is_valid(&other) && is_valid(text) {
                wrong.push(format!(
                    "`{}`: `{}`",
                    text.escape_debug(),
                    other.escape_debug()
                ));
            }
        }
    });
    let shown = shown.into_inner();
    assert!(shown > 500, "{shown} spellings");
}
