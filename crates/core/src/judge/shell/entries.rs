//! `allowed_commands`: which commands an entry lists, covers, or tolerates beside it.

use super::super::Bench;
use crate::{
    facts::{CommandClass, SimpleCommand, Word},
    policy::CommandEntry,
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

/// A command that passes beside a listed one.
struct Companion {
    name: &'static str,
    takes: Takes,
}

/// What a companion may be given.
enum Takes {
    /// Any words.
    Words,
    /// One literal directory of the project.
    Directory,
    /// Its input from a pipe and no file.
    Pipe(Filter),
}

/// The words of a filter that name no file.
struct Filter {
    /// Letters of options that only choose what is printed.
    plain: &'static str,
    /// The same by long name.
    plain_long: &'static str,
    /// Operands that are no files; all of its operands where `None`.
    operands: Option<usize>,
    /// Letters of options whose value may stand apart.
    valued: &'static str,
    /// The same by long name.
    valued_long: &'static [&'static str],
    /// Options that stand for the first operand.
    instead: &'static [&'static str],
    /// Letters of options by which it reads files all the same.
    files: &'static str,
    /// The same by long name.
    files_long: &'static [&'static str],
}

const fn words(name: &'static str) -> Companion {
    Companion {
        name,
        takes: Takes::Words,
    }
}

const fn filter(
    name: &'static str,
    (plain, plain_long): (&'static str, &'static str),
    valued: &'static str,
    long: &'static [&'static str],
) -> Companion {
    Companion {
        name,
        takes: Takes::Pipe(Filter {
            plain,
            plain_long,
            operands: Some(0),
            valued,
            valued_long: long,
            instead: &[],
            files: "",
            files_long: &["--files0-from"],
        }),
    }
}

/// Commands that pass beside a listed one.
const COMPANIONS: [Companion; 22] = [
    Companion {
        name: "cd",
        takes: Takes::Directory,
    },
    words("echo"),
    words("printf"),
    words("true"),
    words("false"),
    words(":"),
    words("test"),
    words("["),
    words("[["),
    words("set"),
    words("exit"),
    words("wait"),
    words("sleep"),
    filter(
        "cat",
        (
            "AbeEnstTuv",
            "--show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting",
        ),
        "",
        &[],
    ),
    filter(
        "head",
        (
            "qvz0123456789",
            "--quiet --silent --verbose --zero-terminated",
        ),
        "nc",
        &["--lines", "--bytes"],
    ),
    filter(
        "tail",
        (
            "qvzfFr0123456789",
            "--quiet --silent --verbose --zero-terminated --follow --retry",
        ),
        "ncs",
        &[
            "--lines",
            "--bytes",
            "--sleep-interval",
            "--pid",
            "--max-unchanged-stats",
        ],
    ),
    filter(
        "wc",
        ("clmwL", "--bytes --chars --lines --words --max-line-length"),
        "",
        &["--total"],
    ),
    filter(
        "sort",
        (
            "bdfghiMnRrVcCmsuz",
            "--ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort \
             --ignore-nonprinting --month-sort --numeric-sort --random-sort --reverse --version-sort --check \
             --merge --stable --unique --zero-terminated --debug",
        ),
        "ktS",
        &[
            "--key",
            "--field-separator",
            "--buffer-size",
            "--parallel",
            "--sort",
        ],
    ),
    filter(
        "uniq",
        (
            "cdDiuz0123456789",
            "--count --repeated --all-repeated --ignore-case --unique --zero-terminated --group",
        ),
        "fsw",
        &["--skip-fields", "--skip-chars", "--check-chars"],
    ),
    filter(
        "cut",
        ("nsz", "--complement --only-delimited --zero-terminated"),
        "dfcb",
        &[
            "--delimiter",
            "--fields",
            "--characters",
            "--bytes",
            "--output-delimiter",
        ],
    ),
    Companion {
        name: "tr",
        takes: Takes::Pipe(Filter {
            plain: "cCdst",
            plain_long: "--complement --delete --squeeze-repeats --truncate-set1",
            operands: None,
            valued: "",
            valued_long: &[],
            instead: &[],
            files: "",
            files_long: &[],
        }),
    },
    Companion {
        name: "grep",
        takes: Takes::Pipe(Filter {
            plain: "EFGPivywxcLloqsbHhnTZaIUz0123456789",
            plain_long: "--extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case \
                         --invert-match --word-regexp --line-regexp --count --files-without-match --files-with-matches \
                         --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename \
                         --line-number --initial-tab --null --text --line-buffered --binary --null-data --color --colour",
            operands: Some(1),
            valued: "eABCmdD",
            valued_long: &[
                "--regexp",
                "--after-context",
                "--before-context",
                "--context",
                "--max-count",
                "--binary-files",
                "--color",
                "--colour",
                "--label",
            ],
            instead: &["-e", "--regexp"],
            files: "frRd",
            files_long: &[
                "--file",
                "--recursive",
                "--dereference-recursive",
                "--directories",
            ],
        }),
    },
];

/// Returns the entries that a state's own list has for `command`, and the person's.
pub(super) fn entries<'a>(
    bench: Bench<'a>,
    command: &SimpleCommand,
) -> impl Iterator<Item = &'a CommandEntry> {
    let own = bench.state.policy.allowed_commands.iter().flatten();
    let of_person = matches!(
        command.class,
        CommandClass::Privilege | CommandClass::System
    ) && bench.may_write();
    let person = bench
        .call
        .facts
        .allowed_by_person
        .iter()
        .filter(move |_| of_person);
    own.chain(person)
}

/// Tells whether an entry lists `command` and so covers what it runs and reaches.
pub(in crate::judge) fn is_covered(bench: Bench<'_>, command: &SimpleCommand) -> bool {
    entries(bench, command).any(|entry| beyond(entry, command).is_some())
}

/// Tells whether one of `entries` lists `command`.
pub(in crate::judge) fn is_listed(entries: &[CommandEntry], command: &SimpleCommand) -> bool {
    entries.iter().any(|entry| beyond(entry, command).is_some())
}

/// Returns the person's entry that alone lets `command` pass.
pub(in crate::judge) fn entry_of_person<'a>(
    bench: Bench<'a>,
    command: &SimpleCommand,
) -> Option<&'a CommandEntry> {
    let own = bench.state.policy.allowed_commands.iter().flatten();
    let mut own = own.filter(|entry| beyond(entry, command).is_some());
    if own.next().is_some() {
        return None;
    }
    entries(bench, command).find(|entry| beyond(entry, command).is_some())
}

/// Returns the longest entry that lists `command`, with the words after it.
pub(in crate::judge) fn longest<'a, 'c>(
    bench: Bench<'a>,
    command: &'c SimpleCommand,
) -> Option<(&'a CommandEntry, Beyond<'c>)> {
    entries(bench, command)
        .filter_map(|entry| Some((entry, beyond(entry, command)?)))
        .min_by_key(|(_, beyond)| beyond.words.len())
}

/// The words of a command after those of an entry.
#[derive(Debug, Clone, Copy)]
pub(in crate::judge) struct Beyond<'a> {
    /// The words.
    pub(in crate::judge) words: &'a [Word],
    /// Which word of the command is the first of them.
    pub(in crate::judge) from: usize,
}

/// Returns the words after those of `entry`, where `command` begins with it.
pub(in crate::judge) fn beyond<'a>(
    entry: &CommandEntry,
    command: &'a SimpleCommand,
) -> Option<Beyond<'a>> {
    words_beyond(&entry.words, command).or_else(|| {
        // What chooses a place in the project is seen through; no evidence is.
        let (name, rest) = command.words.split_first()?;
        let rest = rest.get(command.project_words..)?;
        (command.project_words > 0).then_some(())?;
        let tail = tail_after(&entry.words, name, rest)?;
        Some(Beyond {
            words: tail,
            from: command.words.len().saturating_sub(tail.len()),
        })
    })
}

/// Returns the words after `wanted`, where `command` begins with them.
///
/// The words of a wrapper count where `wanted` reaches the command inside.
pub(in crate::judge) fn words_beyond<'a>(
    wanted: &[String],
    command: &'a SimpleCommand,
) -> Option<Beyond<'a>> {
    let rest = rest_after(wanted, &command.words).or_else(|| {
        let wrapper = command.wrapped.len().saturating_sub(command.words.len());
        (wanted.len() > wrapper && wrapper > 0)
            .then(|| rest_after(wanted, &command.wrapped))
            .flatten()
    })?;
    Some(Beyond {
        words: rest,
        from: command.words.len().saturating_sub(rest.len()),
    })
}

/// Returns what follows `wanted` in `words`; the program's directory may be left out.
fn rest_after<'a>(wanted: &[String], words: &'a [Word]) -> Option<&'a [Word]> {
    let (first, rest) = words.split_first()?;
    tail_after(wanted, first, rest)
}

/// Returns the same of a program's name and the words taken to stand behind it.
fn tail_after<'a>(wanted: &[String], first: &Word, rest: &'a [Word]) -> Option<&'a [Word]> {
    let (program, operands) = wanted.split_first()?;
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

/// Returns the name of a command's program, its directory left out where it is the system's.
pub(in crate::judge) fn name_of(command: &SimpleCommand) -> Option<&str> {
    let name = command.words.first()?.literal()?;
    Some(program_name(name).unwrap_or(name))
}

/// Why a command does not pass beside a listed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::judge) enum NoCompanion {
    /// It is none of those that may.
    Stranger,
    /// `cd` to elsewhere, or to a place that is not plain.
    Elsewhere,
    /// A filter that reads no pipe, or a file beside it.
    NoPipe,
    /// A filter with an option that does more than choose what is printed.
    Does(String),
}

/// Tells whether `command` passes beside a listed one.
pub(in crate::judge) fn companion(
    bench: Bench<'_>,
    command: &SimpleCommand,
) -> Result<(), NoCompanion> {
    let companion = name_of(command)
        .and_then(|name| COMPANIONS.iter().find(|companion| companion.name == name))
        .ok_or(NoCompanion::Stranger)?;
    match &companion.takes {
        Takes::Words => Ok(()),
        Takes::Directory if goes_inside(bench, command) => Ok(()),
        Takes::Directory => Err(NoCompanion::Elsewhere),
        Takes::Pipe(filter) => match odd_option(filter, command) {
            Some(option) => Err(NoCompanion::Does(option.to_owned())),
            None if (command.from_pipe || command.from_text) && !names_files(filter, command) => {
                Ok(())
            }
            None => Err(NoCompanion::NoPipe),
        },
    }
}

/// Tells whether a `cd` leads to a literal directory of the project.
fn goes_inside(bench: Bench<'_>, command: &SimpleCommand) -> bool {
    // An option, or a second word, changes where it leads.
    let [_, Word::Literal(to)] = command.words.as_slice() else {
        return false;
    };
    !to.starts_with('-') && !bench.call.facts.outside_directories.contains(to)
}

/// Returns the first option of a filter that is in none of its lists.
///
/// Options by which it reads files are refused as such; every word behind `--` is an operand.
fn odd_option<'a>(filter: &Filter, command: &'a SimpleCommand) -> Option<&'a str> {
    let mut takes_value = false;
    let words = command.words.iter().skip(1).map(Word::literal);
    for text in words.take_while(|word| *word != Some("--")) {
        let is_value = std::mem::take(&mut takes_value);
        let Some(text) = text.filter(|text| !is_value && text.len() > 1 && text.starts_with('-'))
        else {
            continue;
        };
        if !Given::is_listed(filter, text) {
            return Some(text);
        }
        takes_value = Given::of(filter, text).value_apart;
    }
    None
}

/// Tells whether a filter is given files to read beside its pipe.
fn names_files(filter: &Filter, command: &SimpleCommand) -> bool {
    let Some(mut free) = filter.operands else {
        return false;
    };
    let mut takes_value = false;
    let mut only_operands = false;
    for (at, word) in command.words.iter().enumerate().skip(1) {
        let Some(text) = word.literal() else {
            // One word in quotes is one operand; any other may be many.
            let single = matches!(word, Word::Dynamic(source) if source.starts_with('"'));
            if std::mem::take(&mut takes_value) && single {
                continue;
            }
            if free == 0 || !single || command.loose.contains(&at) {
                return true;
            }
            free -= 1;
            continue;
        };
        if std::mem::take(&mut takes_value) || text == "-" {
            continue;
        }
        if !only_operands && text.starts_with('-') {
            if text == "--" {
                only_operands = true;
                continue;
            }
            let option = Given::of(filter, text);
            if option.reads_files {
                return true;
            }
            if option.stands_for_operand {
                free = 0;
            }
            takes_value = option.value_apart;
        } else if free == 0 {
            return true;
        } else {
            free -= 1;
        }
    }
    false
}

/// What one option word of a filter says.
#[derive(Debug, Clone, Copy, Default)]
struct Given {
    reads_files: bool,
    stands_for_operand: bool,
    value_apart: bool,
}

impl Given {
    /// Tells whether every option of a word is in a list of its filter.
    fn is_listed(filter: &Filter, word: &str) -> bool {
        if word.starts_with("--") {
            let name = word.split_once('=').map_or(word, |(name, _)| name);
            let mut plain = filter.plain_long.split_ascii_whitespace();
            return plain.any(|plain| plain == name)
                || filter.valued_long.contains(&name)
                || filter.files_long.contains(&name);
        }
        for letter in word.chars().skip(1) {
            if filter.valued.contains(letter) {
                return true;
            }
            if !filter.plain.contains(letter) && !filter.files.contains(letter) {
                return false;
            }
        }
        true
    }

    fn of(filter: &Filter, word: &str) -> Self {
        if let Some(long) = word.strip_prefix("--") {
            let (name, joined) = long
                .split_once('=')
                .map_or((long, false), |(name, _)| (name, true));
            let is = |options: &[&str]| {
                options
                    .iter()
                    .filter_map(|option| option.strip_prefix("--"))
                    .any(|option| option.starts_with(name))
            };
            return Self {
                reads_files: is(filter.files_long),
                stands_for_operand: is(filter.instead),
                value_apart: !joined && is(filter.valued_long),
            };
        }
        let mut option = Self::default();
        let mut letters = word.chars().skip(1);
        while let Some(letter) = letters.next() {
            option.reads_files |= filter.files.contains(letter);
            option.stands_for_operand |= filter
                .instead
                .iter()
                .any(|short| short.strip_prefix('-') == Some(letter.encode_utf8(&mut [0; 4])));
            if filter.valued.contains(letter) {
                option.value_apart = letters.next().is_none();
                break;
            }
        }
        option
    }
}
