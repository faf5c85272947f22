//! Whether a command may be combined with a listed one.

use interlock_core::facts::{Beside, SimpleCommand, Word};

use crate::paths::program_name;
use crate::words::words;

/// A command that may be combined with a listed one.
struct Companion {
    name: &'static str,
    takes: Takes,
}

/// What a companion may receive.
enum Takes {
    /// Any words.
    Words,
    /// One literal directory of the project.
    Directory,
    /// Input from a pipe, but no file.
    Pipe(Filter),
}

/// Words of a filter that name no file.
struct Filter {
    /// Letters of options that only affect the output.
    plain: &'static str,
    /// The same with long names.
    plain_long: &'static str,
    /// Number of operands that are not files; `None` for all of them.
    operands: Option<usize>,
    /// Letters of options whose value may be a separate word.
    valued: &'static str,
    /// The same with long names.
    valued_long: &'static [&'static str],
    /// Options that replace the first operand.
    instead: &'static [&'static str],
    /// Letters of options that make it read files.
    files: &'static str,
    /// The same with long names.
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

/// Commands that may be combined with a listed one.
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
        words!("--lines --bytes --sleep-interval --pid --max-unchanged-stats"),
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
        words!("--key --field-separator --buffer-size --parallel --sort"),
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
        words!("--delimiter --fields --characters --bytes --output-delimiter"),
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
            valued_long: words!(
                "--regexp --after-context --before-context --context --max-count --binary-files
                 --color --colour --label"
            ),
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

/// Returns whether a command may be combined with a listed one.
pub(super) fn read(command: &SimpleCommand) -> Beside {
    let name = command.words.first().and_then(Word::literal);
    let name = name.map(|name| program_name(name).unwrap_or(name));
    let Some(companion) = COMPANIONS.iter().find(|known| Some(known.name) == name) else {
        return Beside::Stranger;
    };
    match &companion.takes {
        Takes::Words => Beside::Harmless,
        Takes::Directory => match command.words.as_slice() {
            // An option, or a second word, changes where it leads.
            [_, Word::Literal(to)] if !to.starts_with('-') => Beside::Directory,
            _ => Beside::OddDirectory,
        },
        Takes::Pipe(filter) => match odd_option(filter, command) {
            Some(option) => Beside::Does(option.to_owned()),
            None if (command.from_pipe || command.from_text) && !names_files(filter, command) => {
                Beside::Filter
            }
            None => Beside::ReadsFiles,
        },
    }
}

/// Returns the first option of a filter that is in none of its lists.
///
/// Options that make it read files are refused as such; every word after `--` is an operand.
fn odd_option<'a>(filter: &Filter, command: &'a SimpleCommand) -> Option<&'a str> {
    let mut takes_value = false;
    let words = command.words.iter().skip(1).map(Word::literal);
    for text in words.take_while(|word| *word != Some("--")) {
        let is_value = std::mem::take(&mut takes_value);
        let Some(text) = text.filter(|text| !is_value && text.len() > 1 && text.starts_with('-'))
        else {
            continue;
        };
        if !FilterOption::is_listed(filter, text) {
            return Some(text);
        }
        takes_value = FilterOption::of(filter, text).value_apart;
    }
    None
}

/// Returns whether a filter reads files besides its pipe.
fn names_files(filter: &Filter, command: &SimpleCommand) -> bool {
    let Some(mut free) = filter.operands else {
        return false;
    };
    let mut takes_value = false;
    let mut only_operands = false;
    for (at, word) in command.words.iter().enumerate().skip(1) {
        let Some(text) = word.literal() else {
            // A quoted word is one operand; any other may become many.
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
            let option = FilterOption::of(filter, text);
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

/// What one option word of a filter contains.
#[derive(Debug, Clone, Copy, Default)]
struct FilterOption {
    reads_files: bool,
    stands_for_operand: bool,
    value_apart: bool,
}

impl FilterOption {
    /// Returns whether every option of a word is in a list of its filter.
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
