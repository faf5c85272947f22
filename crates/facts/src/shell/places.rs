//! Directories in which the commands of a line run.

use interlock_core::facts::{ShellFacts, SimpleCommand};

use super::program;
use crate::{
    context::CallContext,
    disk::Disk,
    path::{absolute, is_within, plain},
};

/// Returns the words of `cd` that lead out of the project, as written.
pub(super) fn outside_directories(
    shell: &ShellFacts,
    context: &CallContext,
    disk: &dyn Disk,
) -> Vec<String> {
    let leads_out = |command: &SimpleCommand, word: &str| {
        let whole = command
            .directory
            .as_deref()
            .and_then(|directory| absolute(word, directory, context.home.as_deref()).ok());
        let real = whole.and_then(|whole| disk.real(&plain(&whole)).ok());
        !real.is_some_and(|real| is_within(&real, &context.project_root))
    };
    shell
        .commands
        .iter()
        .filter(|command| matches!(program(command), Some("cd" | "pushd")))
        .filter_map(|command| {
            let word = command.words.get(1)?.literal()?;
            leads_out(command, word).then(|| word.to_owned())
        })
        .collect()
}

/// Returns the directory of each command relative to the project root; `None` if outside or unknown.
pub(super) fn directories(
    shell: &ShellFacts,
    context: &CallContext,
    disk: &dyn Disk,
) -> Vec<Option<String>> {
    let mut known: Option<(&str, Option<String>)> = None;
    let mut place = |directory| match &known {
        Some((last, place)) if *last == directory => place.clone(),
        _ => {
            let real = disk.real(directory).ok();
            let place = real.and_then(|real| below(&real, &context.project_root));
            known = Some((directory, place.clone()));
            place
        }
    };
    let commands = shell.commands.iter();
    commands
        .map(|command| command.directory.as_deref().and_then(&mut place))
        .collect()
}

/// Returns a directory relative to `root`, if it is inside.
fn below(directory: &str, root: &str) -> Option<String> {
    let rest = directory.strip_prefix(root.trim_end_matches('/'))?;
    match rest.trim_end_matches('/') {
        "" => Some(String::new()),
        rest => rest.strip_prefix('/').map(str::to_owned),
    }
}

/// Returns the commands that run outside the project, or in an unknown directory.
pub(super) fn strayed(directories: &[Option<String>]) -> Vec<usize> {
    let places = directories.iter().enumerate();
    places
        .filter(|(_, place)| place.is_none())
        .map(|(index, _)| index)
        .collect()
}
