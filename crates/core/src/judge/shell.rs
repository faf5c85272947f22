//! The shell rules: from the facts of a line to a refusal.
//!
//! The rows of [`check`] are tried in order; the first that applies decides.

use super::{Bench, Check, environment, refuse};
use crate::{
    call::{FileWrite, Place},
    facts::{CommandClass, NetworkDirection, ShellFacts, SimpleCommand, Word},
    policy::{CommandEntry, Stance},
    refusal::Code,
};

/// Where programs of the system lie: their last part is their name.
const PROGRAM_DIRECTORIES: [&str; 6] = [
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
];

/// Commands that pass beside a listed one: `true` where they must not read files.
const COMPANIONS: [(&str, bool); 21] = [
    ("cd", false),
    ("echo", false),
    ("printf", false),
    ("true", false),
    ("false", false),
    (":", false),
    ("test", false),
    ("[", false),
    ("[[", false),
    ("set", false),
    ("exit", false),
    ("wait", false),
    ("sleep", false),
    ("cat", true),
    ("head", true),
    ("tail", true),
    ("grep", true),
    ("wc", true),
    ("sort", true),
    ("uniq", true),
    ("cut", true),
];

/// Options by which a listed program is made to run or touch something else.
const REDIRECTING_OPTIONS: [&str; 17] = [
    "--script-shell",
    "--shell",
    "--userconfig",
    "--globalconfig",
    "--config",
    "--config-file",
    "--manifest-path",
    "--prefix",
    "--target-dir",
    "--artifact-dir",
    "--basetemp",
    "--junitxml",
    "--junit-xml",
    "--rootdir",
    "--log-file",
    "--override-ini",
    "--confcutdir",
];

pub(super) fn check(bench: Bench<'_>, facts: &ShellFacts, granted: bool) -> Check {
    let stance = bench.state.policy.stance();
    readable(facts, stance)?;
    if !granted {
        every_command_listed(bench, facts)?;
        names_set(bench, facts, stance)?;
        options_of_listed(bench, facts)?;
        opaque(bench, facts, stance)?;
        privilege(bench, facts, stance)?;
        writes(bench, stance)?;
        network(bench, facts, stance)?;
    }
    environment::check(bench, facts, stance)?;
    sizes(bench, facts, stance)
}

fn readable(facts: &ShellFacts, stance: Stance) -> Check {
    match &facts.unreadable {
        Some(why) if stance != Stance::Free => refuse(
            Code::ShellUnreadable,
            format!("the shell line cannot be read: {why}"),
        ),
        _ => Ok(()),
    }
}

fn every_command_listed(bench: Bench<'_>, facts: &ShellFacts) -> Check {
    let Some(entries) = &bench.state.policy.allowed_commands else {
        return Ok(());
    };
    let anything_listed = facts
        .commands
        .iter()
        .any(|command| is_listed(entries, command));
    let stranger = facts.commands.iter().find(|command| {
        !(is_listed(entries, command) || anything_listed && is_companion(bench, command))
    });
    match stranger {
        None => Ok(()),
        Some(command) => {
            let listed: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
            let listed = if listed.is_empty() {
                "none".to_owned()
            } else {
                listed.join(", ")
            };
            refuse(
                Code::CommandNotAllowed,
                format!(
                    "`{}` is not among the allowed commands of `{}`: {listed}",
                    show(command),
                    bench.frame.at
                ),
            )
        }
    }
}

fn names_set(bench: Bench<'_>, facts: &ShellFacts, stance: Stance) -> Check {
    let strict = stance == Stance::NoWrite
        || (stance == Stance::Writing && bench.state.policy.allowed_commands.is_some());
    match facts.env.set.iter().find(|set| set.changes_programs) {
        Some(set) if strict => refuse(
            Code::ShellUnreadable,
            format!(
                "setting `{}` changes what programs do: leave it out",
                set.name
            ),
        ),
        _ => Ok(()),
    }
}

fn options_of_listed(bench: Bench<'_>, facts: &ShellFacts) -> Check {
    let Some(entries) = &bench.state.policy.allowed_commands else {
        return Ok(());
    };
    for command in &facts.commands {
        let Some(beyond) = entries
            .iter()
            .filter_map(|entry| beyond(entry, command))
            .min_by_key(|rest| rest.len())
        else {
            continue;
        };
        let pytest = command.words.first().and_then(Word::literal) == Some("pytest");
        let steers = |name: &str| name.starts_with("-C") || (pytest && steers_pytest(name));
        let odd = beyond
            .iter()
            .filter_map(Word::literal)
            .take_while(|word| *word != "--")
            .find(|word| {
                let name = word.split('=').next().unwrap_or_default();
                steers(name)
                    || (name.len() >= 4
                        && name.starts_with("--")
                        && name != "--target"
                        && REDIRECTING_OPTIONS
                            .iter()
                            .any(|option| option.starts_with(name)))
            });
        if let Some(option) = odd {
            return refuse(
                Code::ShellUnreadable,
                format!(
                    "`{option}` makes `{}` run or touch something else: list it with the command",
                    show(command)
                ),
            );
        }
    }
    Ok(())
}

/// Tells whether short options of pytest load a plugin or other settings (`-p`, `-c`, `-o`, `-qp`).
fn steers_pytest(name: &str) -> bool {
    let Some(letters) = name.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return false;
    };
    letters
        .trim_start_matches(['q', 'v', 'x', 's', 'l'])
        .starts_with(['p', 'c', 'o'])
}

fn opaque(bench: Bench<'_>, facts: &ShellFacts, stance: Stance) -> Check {
    if stance != Stance::NoWrite {
        return Ok(());
    }
    match facts
        .commands
        .iter()
        .find(|command| command.opaque.is_some() && !is_covered(bench, command))
    {
        Some(command) => refuse(
            Code::ShellUnreadable,
            format!(
                "what `{}` does cannot be known ({}), and `{}` may not write: list it under `allowed_commands` or use another command",
                show(command),
                command.opaque.as_deref().unwrap_or_default(),
                bench.frame.at
            ),
        ),
        None => Ok(()),
    }
}

fn privilege(bench: Bench<'_>, facts: &ShellFacts, stance: Stance) -> Check {
    if stance == Stance::Free {
        return Ok(());
    }
    let found = facts.commands.iter().find(|command| {
        matches!(
            command.class,
            CommandClass::Privilege | CommandClass::System
        ) && !is_covered(bench, command)
    });
    match found {
        Some(command) => refuse(
            Code::CommandNotAllowed,
            format!(
                "`{}` changes the machine or its privileges: a person has to run it",
                show(command)
            ),
        ),
        None => Ok(()),
    }
}

fn writes(bench: Bench<'_>, stance: Stance) -> Check {
    let own_history = |write: &FileWrite| covered_history(bench, write);
    let mut writes = bench
        .call
        .facts
        .writes
        .iter()
        .filter(|write| !own_history(write));
    if stance == Stance::Free {
        // Protected things lie below these, whatever else does.
        return match writes.find(|write| write.removes && write.place == Place::Whole) {
            Some(write) => refuse(
                Code::Protected,
                format!(
                    "`{}` removes `{}` as a whole, which holds protected things",
                    write.by,
                    write.path.as_deref().unwrap_or_default()
                ),
            ),
            None => Ok(()),
        };
    }
    let found = match stance {
        Stance::Free => None,
        Stance::NoWrite => writes.next(),
        Stance::Writing => writes.find(|write| match write.place {
            Place::Outside | Place::Whole => true,
            Place::Unknown => write.recursive,
            Place::Project | Place::Scratch => false,
        }),
    };
    let Some(write) = found else { return Ok(()) };
    let path = write
        .relative
        .as_deref()
        .or(write.path.as_deref())
        .unwrap_or("an unknown path");
    let verb = if write.removes { "removes" } else { "writes" };
    let hint = match stance {
        Stance::NoWrite => "this state may not write",
        _ => "only the project and temporary directories may be written",
    };
    refuse(
        Code::ShellWrite,
        format!("`{}` {verb} `{path}`: {hint}", write.by),
    )
}

/// Tells whether a write is the history of a version control command that is listed.
///
/// What such a command writes outside its repository is judged like any other write.
fn covered_history(bench: Bench<'_>, write: &FileWrite) -> bool {
    let Some(facts) = &bench.call.facts.shell else {
        return false;
    };
    let history = write
        .path
        .as_deref()
        .is_some_and(|path| path.split('/').any(|part| part == ".git"));
    history
        && facts.commands.iter().any(|command| {
            command.class == CommandClass::VersionControl
                && show(command).starts_with(&write.by)
                && is_covered(bench, command)
        })
}

fn network(bench: Bench<'_>, facts: &ShellFacts, stance: Stance) -> Check {
    if stance != Stance::NoWrite {
        return Ok(());
    }
    let policy = &bench.state.policy;
    let may_get = policy.lets_pass(&["WebFetch"]) || policy.lets_pass(&["WebSearch"]);
    let found = facts.network.iter().find(|reach| {
        let covered = reach
            .command
            .and_then(|index| facts.commands.get(index))
            .is_some_and(|command| is_covered(bench, command));
        !covered && (reach.direction != NetworkDirection::Get || !may_get)
    });
    match found {
        Some(reach) => refuse(
            Code::CommandNotAllowed,
            format!(
                "`{}` reaches the network, which `{}` does not allow",
                reach.by, bench.frame.at
            ),
        ),
        None => Ok(()),
    }
}

fn sizes(bench: Bench<'_>, facts: &ShellFacts, stance: Stance) -> Check {
    let Some(limit) = bench.state.policy.edit_lines_max else {
        return Ok(());
    };
    if stance != Stance::Writing {
        return Ok(());
    }
    for write in bench
        .call
        .facts
        .writes
        .iter()
        .filter(|write| write.place != Place::Scratch && !covered_history(bench, write))
    {
        match write.lines {
            Some(lines) if lines > limit => {
                return refuse(
                    Code::EditTooLarge,
                    format!(
                        "`{}` writes {lines} lines and `{}` allows {limit}: make it smaller",
                        write.by, bench.frame.at
                    ),
                );
            }
            Some(_) => {}
            None => {
                return refuse(
                    Code::ShellWrite,
                    format!(
                        "how much `{}` writes cannot be seen, and `{}` limits edits: use the Edit tool",
                        write.by, bench.frame.at
                    ),
                );
            }
        }
    }
    match facts
        .commands
        .iter()
        .find(|command| command.class == CommandClass::Interpreter && !is_covered(bench, command))
    {
        Some(command) => refuse(
            Code::ShellWrite,
            format!(
                "what `{}` writes cannot be seen, and `{}` limits edits: use the Edit tool",
                show(command),
                bench.frame.at
            ),
        ),
        None => Ok(()),
    }
}

fn is_covered(bench: Bench<'_>, command: &SimpleCommand) -> bool {
    bench
        .state
        .policy
        .allowed_commands
        .as_ref()
        .is_some_and(|entries| is_listed(entries, command))
}

/// Tells whether an entry's words are the first words of `command`.
pub(super) fn is_listed(entries: &[CommandEntry], command: &SimpleCommand) -> bool {
    entries.iter().any(|entry| beyond(entry, command).is_some())
}

/// Returns the words after those of `entry`, where `command` begins with it.
fn beyond<'a>(entry: &CommandEntry, command: &'a SimpleCommand) -> Option<&'a [Word]> {
    rest_after(&entry.words, &command.words).or_else(|| {
        let privileged = command.class == CommandClass::Privilege;
        (!command.wrapped.is_empty() && !privileged)
            .then(|| rest_after(&entry.words, &command.wrapped))
            .flatten()
    })
}

/// Returns what follows `wanted` in `words`; the program's directory may be left out.
pub(super) fn rest_after<'a>(wanted: &[String], words: &'a [Word]) -> Option<&'a [Word]> {
    let (program, operands) = wanted.split_first()?;
    let (first, rest) = words.split_first()?;
    let name = first.literal()?;
    if name != program && program_name(name) != Some(program.as_str()) {
        return None;
    }
    let (head, tail) = rest.split_at_checked(operands.len())?;
    head.iter()
        .zip(operands)
        .all(|(word, wanted)| word.literal() == Some(wanted.as_str()))
        .then_some(tail)
}

/// Returns the last part of a path into a directory of system programs.
fn program_name(path: &str) -> Option<&str> {
    PROGRAM_DIRECTORIES
        .iter()
        .find_map(|directory| path.strip_prefix(directory))
        .filter(|name| !name.contains('/'))
}

fn is_companion(bench: Bench<'_>, command: &SimpleCommand) -> bool {
    let Some(name) = command.words.first().and_then(Word::literal) else {
        return false;
    };
    let name = program_name(name).unwrap_or(name);
    let Some((_, piped)) = COMPANIONS.iter().find(|(companion, _)| *companion == name) else {
        return false;
    };
    if name == "cd" {
        // An option, or a second word, changes where it leads.
        return match command.words.as_slice() {
            [_, Word::Literal(to)] => !to.starts_with('-') && !leaves_project(bench, command),
            _ => false,
        };
    }
    !piped || (command.from_pipe && !names_files(name, command))
}

/// Tells whether a `cd` leads out of the project, as far as its words show.
fn leaves_project(bench: Bench<'_>, command: &SimpleCommand) -> bool {
    bench
        .call
        .facts
        .outside_directories
        .iter()
        .any(|directory| command.words.get(1).and_then(Word::literal) == Some(directory))
}

/// Tells whether a filter is given files to read beside its pipe.
fn names_files(name: &str, command: &SimpleCommand) -> bool {
    let patterns = usize::from(name == "grep");
    let mut operands = 0;
    let mut takes_value = false;
    for word in command.words.iter().skip(1) {
        let text = word.literal().unwrap_or_default();
        if takes_value {
            takes_value = false;
        } else if text.starts_with('-') && text.len() > 1 {
            takes_value = matches!(
                (name, text),
                ("head" | "tail", "-n" | "-c" | "--lines" | "--bytes")
                    | ("grep", "-A" | "-B" | "-C" | "-m")
                    | ("sort", "-k" | "-t")
                    | ("cut", "-d" | "-f" | "-c" | "-b")
            );
            if name == "grep" && (text == "-f" || text.starts_with("--file")) {
                return true;
            }
        } else if text != "-" {
            operands += 1;
        }
    }
    operands > patterns
}

/// Writes a command for a message, bounded.
pub(super) fn show(command: &SimpleCommand) -> String {
    let words: Vec<&str> = command
        .words
        .iter()
        .map(|word| match word {
            Word::Literal(text) | Word::Dynamic(text) => text.as_str(),
        })
        .collect();
    let text = words.join(" ");
    if text.chars().count() <= 80 {
        return text;
    }
    text.chars().take(77).chain("...".chars()).collect()
}
