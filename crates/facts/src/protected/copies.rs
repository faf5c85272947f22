//! Other names of protected files: links, copies that are links, and names that the line itself creates.

use interlock_core::facts::{ShellFacts, SimpleCommand, Word};

use super::{Deed, Guarded, LineView, commands::has_option, named, table::FILES};
use crate::{
    path::{is_within, plain, relative},
    place::Located,
    touched::program,
};

impl<'a> LineView<'a> {
    pub(super) fn of(line: &'a str, shell: &'a ShellFacts, guarded: &Guarded<'_>) -> Self {
        let links = shell
            .commands
            .iter()
            .filter_map(|command| guarded.new_links(command))
            .flatten()
            .collect();
        Self { line, shell, links }
    }
}

impl Guarded<'_> {
    /// Checks links to protected files, and copies of directories that contain some.
    pub(super) fn in_copy(&self, command: &SimpleCommand) -> Option<String> {
        if !copies(command) {
            return None;
        }
        let (sources, target) = ends(command)?;
        if links(command) {
            let found = sources
                .iter()
                .find_map(|source| self.linked(command, source, target));
            if found.is_some() {
                return found;
            }
        }
        let target = self.whole(command, target)?;
        let found = sources
            .iter()
            .find_map(|source| self.brings(command, source, &plain(&target)));
        found.or_else(|| self.mirrored(command, &plain(&target)))
    }

    /// Returns whether a file is copied only because its directory is.
    ///
    /// A copy that would take effect is found by [`Self::in_copy`].
    pub(super) fn comes_along(&self, file: &Located, by: &str, view: &LineView<'_>) -> bool {
        let copier = |command: &&SimpleCommand| matches!(program(command), Some(name @ ("cp" | "rsync")) if by.starts_with(name));
        let mut copiers = view.shell.commands.iter().filter(copier).peekable();
        copiers.peek().is_some()
            && file.named == file.real
            && copiers.all(|command| !self.names(command, &file.named))
    }

    /// Returns whether a copy names a file itself, or puts it into a directory that it names.
    fn names(&self, command: &SimpleCommand, path: &str) -> bool {
        let Some((sources, target)) = ends(command) else {
            return true;
        };
        let Some(target) = self.whole(command, target).map(|whole| plain(&whole)) else {
            return true;
        };
        let into = |source: &&str| {
            let name = source.trim_end_matches('/').rsplit('/').next();
            name.is_some_and(|name| plain(&format!("{target}/{name}")) == path)
        };
        let all_known = command.words.iter().all(|word| word.literal().is_some());
        !all_known || path == target || sources.iter().any(into)
    }

    /// Checks the target of a link, both relative to the working directory and to the link.
    fn linked(&self, command: &SimpleCommand, source: &str, target: &str) -> Option<String> {
        let from = |directory: Option<String>| {
            let there = SimpleCommand {
                directory,
                ..command.clone()
            };
            self.word_touched(&there, source, Deed::Write).or_else(|| {
                self.whole(&there, source)
                    .and_then(|path| self.walked(&plain(&path)))
            })
        };
        let lies_in = self.whole(command, target).and_then(|whole| {
            let whole = plain(&whole);
            let (above, _) = whole.rsplit_once('/')?;
            Some(above.to_owned())
        });
        from(command.directory.clone())
            .or_else(|| from(lies_in))
            .map(|thing| format!("another name for {thing}"))
    }

    /// Checks a directory whose contents would take effect at their new location.
    fn brings(&self, command: &SimpleCommand, source: &str, target: &str) -> Option<String> {
        let bases = super::list::bases(super::table::Under::Any, self.context);
        let whole = self.whole(command, source)?;
        let from = plain(&whole);
        let contents = source.ends_with("/.")
            || source == "."
            || source.ends_with('/') && program(command) == Some("rsync")
            || has_option(command, 'T', "--no-target-directory");
        let to = match (contents, from.rsplit_once('/')) {
            (true, _) | (_, None) => target.to_owned(),
            (false, Some((_, name))) => format!("{}/{name}", target.trim_end_matches('/')),
        };
        if !bases.contains(&to) || from == to {
            return None;
        }
        let rows = FILES
            .iter()
            .filter(|row| row.under == super::table::Under::Any);
        rows.map(|row| (row, super::files::join(&from, row.names)))
            .find(|(_, path)| self.disk.look(path).is_some())
            .map(|(row, path)| {
                let below = relative(&path, &from).unwrap_or_default();
                format!(
                    "{}, from `{source}`,",
                    named(row.what, &format!("{to}/{below}"))
                )
            })
    }

    /// Checks a directory that is mirrored, so that files missing in the source are removed.
    fn mirrored(&self, command: &SimpleCommand, target: &str) -> Option<String> {
        let deletes = command.words.iter().filter_map(Word::literal);
        let deletes = deletes
            .filter(|_| program(command) == Some("rsync"))
            .any(|word| word.starts_with("--del"));
        let held = deletes.then(|| self.held(target)).flatten()?;
        Some(format!(
            "{}, which contains {held},",
            named("a directory", target)
        ))
    }

    /// Returns the names that a line gives to other files, with those files.
    pub(crate) fn links_made(&self, shell: &ShellFacts) -> Vec<(String, String)> {
        let commands = shell.commands.iter();
        commands
            .filter_map(|command| self.new_links(command))
            .flatten()
            .collect()
    }

    fn new_links(&self, command: &SimpleCommand) -> Option<Vec<(String, String)>> {
        if !copies(command) || !links(command) {
            return None;
        }
        let (sources, target) = ends(command)?;
        let target = plain(&self.whole(command, target)?);
        let pairs = sources.into_iter().filter_map(|source| {
            let source = plain(&self.whole(command, source)?);
            let (_, name) = source.rsplit_once('/')?;
            let below = format!("{target}/{name}");
            Some([(target.clone(), source.clone()), (below, source)])
        });
        Some(pairs.flatten().collect())
    }

    /// Checks a path through names that the line itself creates.
    pub(super) fn through_new_link(
        &self,
        path: &str,
        deed: Deed,
        view: &LineView<'_>,
    ) -> Option<String> {
        view.links
            .iter()
            .filter(|(link, _)| is_within(path, link) && path != link)
            .find_map(|(link, source)| {
                let below = relative(path, link)?;
                self.touched(&plain(&format!("{source}/{below}")), deed)
            })
    }
}

fn copies(command: &SimpleCommand) -> bool {
    matches!(
        program(command),
        Some("ln" | "cp" | "rsync" | "gcp" | "gln")
    )
}

/// Returns whether a command creates links instead of copies.
fn links(command: &SimpleCommand) -> bool {
    match program(command) {
        Some("ln" | "gln") => true,
        Some("rsync") => has_option(command, '\0', "--link-dest"),
        _ => has_option(command, 'l', "--link") || has_option(command, 's', "--symbolic-link"),
    }
}

/// Returns what is copied or linked, and the target.
fn ends(command: &SimpleCommand) -> Option<(Vec<&str>, &str)> {
    let words: Vec<&str> = command
        .words
        .iter()
        .skip(1)
        .filter_map(Word::literal)
        .collect();
    let at = words
        .iter()
        .position(|word| matches!(*word, "-t" | "--target-directory"));
    if let Some(at) = at {
        let target = words.get(at + 1)?;
        let rest = words.iter().enumerate();
        let rest = rest.filter(|(index, word)| !word.starts_with('-') && *index != at + 1);
        return Some((rest.map(|(_, word)| *word).collect(), target));
    }
    let joined = words.iter().find_map(|word| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let long = name.len() > 3 && "--target-directory".starts_with(name) && !value.is_empty();
        let short = || word.strip_prefix("-t").filter(|value| !value.is_empty());
        long.then_some(value).or_else(short)
    });
    if let Some(target) = joined {
        let operands = words.iter().copied().filter(|word| !word.starts_with('-'));
        return Some((operands.collect(), target));
    }
    let mut operands: Vec<&str> = words
        .into_iter()
        .filter(|word| !word.starts_with('-'))
        .collect();
    match (program(command), operands.as_slice()) {
        // One operand: the link is created here with the same name.
        (Some("ln" | "gln"), [only]) => Some((vec![*only], ".")),
        (_, [_, ..]) => {
            let target = operands.pop()?;
            Some((operands, target))
        }
        _ => None,
    }
}
