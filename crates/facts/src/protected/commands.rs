//! Protected files and commands that a command of a shell line affects.

use interlock_core::facts::{CommandClass, SimpleCommand, Word};

use super::{Deed, Guarded, LineView, named};
use crate::{
    path::{absolute, plain},
    place,
    touched::program,
};

/// Programs that replace a directory by something else.
const MOUNTERS: &[&str] = &[
    "mount",
    "umount",
    "fusermount",
    "fusermount3",
    "bindfs",
    "sshfs",
    "losetup",
];
/// Programs that extract files from an archive with their names in it.
const UNPACKERS: &[&str] = &[
    "tar", "bsdtar", "unzip", "7z", "7za", "7zz", "cpio", "pax", "ar",
];

impl Guarded<'_> {
    pub(super) fn in_command(
        &self,
        command: &SimpleCommand,
        view: &LineView<'_>,
    ) -> Option<String> {
        self.own_program(command, view)
            .or_else(|| self.in_git(command))
            .or_else(|| self.in_signals(command, view))
            .or_else(|| super::clients::in_client(command, view))
            .or_else(|| self.in_copy(command))
            .or_else(|| self.in_walk(command, view))
            .or_else(|| self.in_finds(command, view))
            .or_else(|| self.in_operands(command))
            .or_else(|| {
                command.opaque.as_ref()?;
                // A form that only reads, although it starts configured programs.
                let reads = command.contained && command.class == CommandClass::ProjectCode;
                (!reads).then(|| self.in_opaque(command)).flatten()
            })
    }

    /// Makes a word of a command an absolute path; `..` and links are kept.
    pub(super) fn whole(&self, command: &SimpleCommand, word: &str) -> Option<String> {
        let directory = command.directory.as_deref()?;
        absolute(word, directory, self.context.home.as_deref()).ok()
    }

    /// Checks a word of a command as a path: its name, and where it leads.
    pub(super) fn word_touched(
        &self,
        command: &SimpleCommand,
        word: &str,
        deed: Deed,
    ) -> Option<String> {
        let whole = self.whole(command, word)?;
        let named = plain(&whole);
        self.touched(&named, deed).or_else(|| {
            let real = self.disk.real(&whole).ok()?;
            (real != named).then(|| self.touched(&real, deed)).flatten()
        })
    }

    /// Checks operands of programs whose effects on them are not in the facts.
    fn in_operands(&self, command: &SimpleCommand) -> Option<String> {
        let name = program(command)?;
        if MOUNTERS.contains(&name) {
            let words = literals(command);
            let over = words.last().copied();
            return words
                .into_iter()
                .find_map(|word| {
                    self.word_touched(command, word, Deed::Write)
                        .or_else(|| self.word_touched(command, word, Deed::Remove))
                })
                .or_else(|| self.mounted_over(command, over?));
        }
        let unpacks = UNPACKERS.contains(&name) && command.class == CommandClass::Writer;
        if unpacks && !makes_an_archive(command) {
            return literals(command).into_iter().find_map(|word| {
                self.word_touched(command, word, Deed::Write)
                    .or_else(|| super::words::mentioned(&word.to_lowercase()))
            });
        }
        self.fetched(command, name)
    }

    /// Checks files that are named after the end of their URL.
    fn fetched(&self, command: &SimpleCommand, name: &str) -> Option<String> {
        let by_address = match name {
            "curl" => has_option(command, 'O', "--remote-name"),
            "wget" | "aria2c" => !has_option(command, 'O', "--output-document"),
            _ => false,
        };
        if !by_address {
            return None;
        }
        let addresses = literals(command)
            .into_iter()
            .filter(|word| word.contains('/'));
        addresses
            .filter_map(|address| address.rsplit('/').next())
            .filter_map(|last| last.split(['?', '#']).next())
            .find_map(|last| self.word_touched(command, last, Deed::Write))
    }

    /// Checks the target of a mount: mounts over home and the project are refused, too, because they hide their contents.
    fn mounted_over(&self, command: &SimpleCommand, place: &str) -> Option<String> {
        let path = plain(&self.whole(command, place)?);
        let held = self.held(&path)?;
        Some(format!(
            "{}, which contains {held},",
            named("a directory", &path)
        ))
    }

    /// Checks the words of a command whose effects are unknown.
    fn in_opaque(&self, command: &SimpleCommand) -> Option<String> {
        let script = script_of(command);
        let words: Vec<&str> = command
            .words
            .iter()
            .enumerate()
            // A file that is run is read, and the text of a message has no effect.
            .filter(|(at, _)| Some(*at) != script && !is_message(command, *at))
            .map(|(_, word)| shown(word))
            .collect();
        let text = words.join(" ");
        let takes_away = command.class == CommandClass::Interpreter
            && super::words::takes_away_a_repository(&text.to_lowercase());
        if takes_away {
            return Some(named("a directory", ".git"));
        }
        self.in_text(&text).or_else(|| {
            let operands = words.iter().skip(1);
            operands
                .flat_map(|word| [Some(*word), word.split_once('=').map(|(_, value)| value)])
                .flatten()
                .find_map(|word| self.leads_elsewhere(command, word))
        })
    }

    /// Checks a word that is another name of something protected.
    fn leads_elsewhere(&self, command: &SimpleCommand, word: &str) -> Option<String> {
        if word.is_empty() || word.starts_with('-') {
            return None;
        }
        let directory = command.directory.as_deref()?;
        let mut here = self.context.clone();
        directory.clone_into(&mut here.site.cwd);
        let file = place::find(word, &here, self.disk).ok()?;
        if file.real == file.named {
            return self
                .other_name(&file.real)
                .map(|_| named("another name", word));
        }
        self.touched(&file.real, Deed::Write)
    }
}

/// Returns the text of a word, known or not.
pub(super) const fn shown(word: &Word) -> &str {
    match word {
        Word::Literal(text) | Word::Dynamic(text) => text.as_str(),
    }
}

/// Returns every literal word after the program's name that is not an option, and options' values.
pub(super) fn literals(command: &SimpleCommand) -> Vec<&str> {
    let words = command.words.iter().skip(1).filter_map(Word::literal);
    words
        .filter_map(|word| match word.strip_prefix('-') {
            None => Some(word),
            // The only archiver whose option contains its directory.
            Some(option) if program(command).is_some_and(|name| name.starts_with("7z")) => {
                option.strip_prefix('o')
            }
            Some(option) => option.split_once('=').map(|(_, value)| value),
        })
        .filter(|word| !word.is_empty())
        .collect()
}

/// Returns whether a command has an option, by its letter or its long name.
pub(super) fn has_option(command: &SimpleCommand, letter: char, long: &str) -> bool {
    command.words.iter().filter_map(Word::literal).any(|word| {
        let name = word.split('=').next().unwrap_or_default();
        let abbreviated = name.len() > 3 && long.starts_with(name);
        abbreviated || word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
    })
}

/// Returns whether an archiver adds files to an archive instead of extracting them.
pub(super) fn makes_an_archive(command: &SimpleCommand) -> bool {
    let first = command
        .words
        .get(1)
        .and_then(Word::literal)
        .unwrap_or_default();
    let letters = first.trim_start_matches('-');
    match program(command) {
        Some("tar" | "bsdtar") => {
            let long = |name: &str| {
                command
                    .words
                    .iter()
                    .filter_map(Word::literal)
                    .any(|word| word == name)
            };
            let extracts = long("--extract") || long("--get");
            !extracts && !first.starts_with("--") && letters.contains(['c', 'r', 'u', 't'])
                || long("--create")
        }
        Some("7z" | "7za" | "7zz" | "ar") => !letters.starts_with(['x', 'e']),
        _ => false,
    }
}

/// Programs with the options whose value is a text for people.
const MESSAGES: &[(&[&str], &[&str])] = &[
    (
        &["gh"],
        &[
            "--body",
            "-b",
            "--title",
            "-t",
            "--notes",
            "-n",
            "--comment",
        ],
    ),
    (
        &["glab"],
        &["--description", "-d", "--title", "-t", "--message", "-m"],
    ),
    (&["git", "jj", "hg", "svn"], &["--message", "-m"]),
];

/// Returns whether a word is the text of a message.
fn is_message(command: &SimpleCommand, at: usize) -> bool {
    let options = program(command)
        .and_then(|name| MESSAGES.iter().find(|(names, _)| names.contains(&name)))
        .map_or(&[] as &[&str], |(_, options)| options);
    let word = |at: usize| command.words.get(at).map(shown).unwrap_or_default();
    let before = at.checked_sub(1).map(word).unwrap_or_default();
    options.contains(&before)
        || word(at)
            .split_once('=')
            .is_some_and(|(option, _)| option.starts_with("--") && options.contains(&option))
}

/// Returns the index of the file that an interpreter runs.
fn script_of(command: &SimpleCommand) -> Option<usize> {
    if command.class != CommandClass::Interpreter {
        return None;
    }
    let mut words = command.words.iter().enumerate().skip(1);
    let (at, word) = words.find(|(_, word)| {
        word.literal().is_none_or(|word| {
            // Code as text, or a module by name.
            !word.starts_with('-') || word.contains(['c', 'e', 'm', 'p', 'r'])
        })
    })?;
    let is_file = word.literal().is_some_and(|word| !word.starts_with('-'));
    is_file.then_some(at)
}
