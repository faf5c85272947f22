//! Interlock's own program, whatever its name.

use interlock_core::facts::{CommandClass, SimpleCommand, Word};

use super::{
    Guarded, LineView,
    table::{ACTS, BESIDE, INSTALLER_REPORTS, INSTALLERS, OWN_PACKAGES, PROGRAM, REPORTS},
};
use crate::{path::plain, summary::one_line, touched::program};

/// Maximum size of a file that is compared with a program, in bytes.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

impl Guarded<'_> {
    /// Searches for Interlock's own program as a command, or as a word of an opaque one.
    pub(super) fn own_program(
        &self,
        command: &SimpleCommand,
        view: &LineView<'_>,
    ) -> Option<String> {
        let name = command.words.first()?.literal()?;
        if self.is_own(command, name) {
            return self.act(command, 0);
        }
        if let Some(package) = own_package(command) {
            return Some(format!("the package `{}`", one_line(package, 40)));
        }
        if made_here(command, name, view) {
            return acting(command, 1).map(said);
        }
        command.opaque.as_ref()?;
        (1..command.words.len()).find_map(|at| {
            let word = command.words.get(at)?.literal()?;
            let is_path = word.contains('/') && self.leads_to_program(command, word);
            is_path.then(|| self.act(command, at)).flatten()
        })
    }

    fn is_own(&self, command: &SimpleCommand, name: &str) -> bool {
        let last = program(command).unwrap_or(name).to_lowercase();
        last == PROGRAM
            || BESIDE.contains(&&*last)
            || last.strip_suffix(".exe") == Some(PROGRAM)
            || self.leads_to_program(command, name)
    }

    /// Judges the subcommand: some only report.
    fn act(&self, command: &SimpleCommand, at: usize) -> Option<String> {
        let word = match command.words.get(at + 1)? {
            Word::Literal(word) if word == "graph" && writes_a_file(command) => word,
            Word::Literal(word) if REPORTS.contains(&word.as_str()) => return None,
            Word::Literal(word) | Word::Dynamic(word) => word,
        };
        Some(said(word))
    }

    pub(super) fn leads_to_program(&self, command: &SimpleCommand, name: &str) -> bool {
        let context = self.context;
        if context.programs.is_empty() {
            return false;
        }
        if name.contains('/') {
            let whole = self.whole(command, name);
            return whole.is_some_and(|whole| self.is_program(&whole));
        }
        // A program in the tables is what its name says.
        if command.class != CommandClass::Unknown {
            return false;
        }
        context
            .search_path
            .iter()
            .map(|directory| format!("{directory}/{name}"))
            .find(|path| self.disk.look(path).is_some())
            .is_some_and(|path| self.is_program(&path))
    }

    /// Returns whether a path is one of Interlock's programs, by location, identity or contents.
    pub(super) fn is_program(&self, path: &str) -> bool {
        let real = self.disk.real(path).unwrap_or_else(|_| plain(path));
        let id = |path: &str| self.disk.look(path).and_then(|seen| seen.id);
        let own = id(&real);
        self.context.programs.iter().any(|program| {
            *program == real
                || own.is_some() && id(program) == own
                || self.same_content(program, &real)
        })
    }

    fn same_content(&self, program: &str, other: &str) -> bool {
        let size = |path: &str| {
            self.disk
                .stamp(path)
                .map(|stamp| (stamp.kind, stamp.size()))
        };
        let (Some(own), Some(found)) = (size(program), size(other)) else {
            return false;
        };
        let read = |path: &str| self.disk.read(path, BYTES_MAX).ok().flatten();
        own == found && read(program).is_some_and(|bytes| Some(bytes) == read(other))
    }
}

/// Returns whether a command is a file that the line creates and that names Interlock.
fn made_here(command: &SimpleCommand, name: &str, view: &LineView<'_>) -> bool {
    let Some((_, last)) = name.rsplit_once('/') else {
        return false;
    };
    let names_it = |by: &SimpleCommand| {
        let mut words = by.words.iter().skip(1).filter_map(Word::literal);
        words.any(|word| word == name || word == last)
    };
    let written = || {
        let mut texts = [name, last].into_iter();
        texts.any(|name| {
            view.line.contains(&format!("> {name}")) || view.line.contains(&format!(">{name}"))
        })
    };
    let others = view.shell.commands.iter().filter(|by| *by != command);
    super::words::names_program(&view.line.to_lowercase())
        && (others.into_iter().any(names_it) || written())
}

/// Returns the package of Interlock, or of a plugin of it, that a package manager would replace or remove.
fn own_package(command: &SimpleCommand) -> Option<&str> {
    let installer = program(command).filter(|name| INSTALLERS.contains(name))?;
    let mut words = command.words.iter().skip(1).filter_map(Word::literal);
    let mut plain = words.clone().filter(|word| !word.starts_with('-'));
    let first = plain.next().unwrap_or_default();
    // Its options come first, and select the operation.
    let reports = !matches!(installer, "dpkg" | "rpm" | "pacman")
        && (INSTALLER_REPORTS.contains(&first)
            || words
                .clone()
                .any(|word| matches!(word, "--version" | "--help" | "-h")));
    let is_own = |word: &&str| {
        let name = word.rsplit_once('@').map_or(*word, |(name, _)| name);
        let name = if name.is_empty() { *word } else { name };
        name == PROGRAM || OWN_PACKAGES.iter().any(|own| word.starts_with(own))
    };
    (!reports).then(|| words.find(is_own)).flatten()
}

/// Returns a word that does more than report.
fn acting(command: &SimpleCommand, at: usize) -> Option<&str> {
    let word = command.words.get(at)?.literal()?;
    ACTS.contains(&word).then_some(word)
}

fn said(word: &str) -> String {
    format!("the command `{PROGRAM} {}`", one_line(word, 40))
}

/// Returns whether a drawing is written to a file.
fn writes_a_file(command: &SimpleCommand) -> bool {
    command.words.iter().skip(2).any(|word| match word {
        Word::Literal(text) => text.starts_with("-o") || text.starts_with("--o"),
        Word::Dynamic(_) => true,
    })
}
