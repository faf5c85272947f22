//! Questions about a shell line that only the disk can answer.

use interlock_core::facts::{ShellAsk, ShellFacts, Word};

use crate::{context::CallContext, disk::Disk, path::is_within};

/// Maximum number of names in a directory; in a larger one the question stays open.
const NAMES_MAX: usize = 50_000;

/// Answers the questions of a line from the disk.
pub(super) fn answer(shell: &mut ShellFacts, context: &CallContext, disk: &dyn Disk) {
    let answered = answer_asks(shell, context, disk);
    let seen = look_at_patterns(shell, disk);
    if answered || seen {
        interlock_shell::tell_words(shell);
    }
}

/// Returns whether an answer changed a command.
fn answer_asks(shell: &mut ShellFacts, context: &CallContext, disk: &dyn Disk) -> bool {
    let mut changed = false;
    for ask in &shell.asks {
        let (ShellAsk::Repository { command, .. } | ShellAsk::Options { command, .. }) = ask;
        let Some(command) = shell.commands.get_mut(*command) else {
            continue;
        };
        match ask {
            ShellAsk::Repository { directory, .. } => {
                let matters = command.opaque.is_none() || command.project_words > 0;
                if matters && is_other_repository(directory, context, disk) {
                    command.project_words = 0;
                    changed = true;
                    if command.opaque.is_none() {
                        command.opaque = Some(interlock_shell::doubt(ask));
                        command.contained = true;
                    }
                }
            }
            ShellAsk::Options { directory, .. } => {
                // Only if nothing else makes it opaque.
                if command.opaque == Some(interlock_shell::doubt(ask))
                    && !has_option_names(directory, disk)
                {
                    command.opaque = None;
                    command.contained = false;
                    changed = true;
                }
            }
        }
    }
    changed
}

/// Treats matching file names as operands, if no name begins like an option.
///
/// Returns whether there was any.
fn look_at_patterns(shell: &mut ShellFacts, disk: &dyn Disk) -> bool {
    let mut changed = false;
    for command in &mut shell.commands {
        let Some(directory) = &command.directory else {
            continue;
        };
        let is_pattern = |at: &usize| match command.words.get(*at) {
            Some(Word::Dynamic(source)) => {
                source.starts_with(['*', '?', '[']) && !source.contains(['$', '`', '{'])
            }
            _ => false,
        };
        if command.loose.iter().any(is_pattern) && !has_option_names(directory, disk) {
            command.loose.retain(|at| !is_pattern(at));
            changed = true;
        }
    }
    changed
}

/// Returns whether git in `directory` would work on another repository than the project's.
fn is_other_repository(directory: &str, context: &CallContext, disk: &dyn Disk) -> bool {
    let Ok(real) = disk.real(directory) else {
        return true;
    };
    let mut at = real.as_str();
    while is_within(at, &context.project_root) && at != context.project_root {
        let has = |name: &str| disk.look(&format!("{at}/{name}")).is_some();
        // A bare repository has no `.git` directory.
        if has(".git") || has("HEAD") && has("objects") {
            return true;
        }
        at = at.rsplit_once('/').map_or("", |(above, _)| above);
    }
    at != context.project_root
}

/// Returns whether a name in `directory` could be mistaken for an option.
fn has_option_names(directory: &str, disk: &dyn Disk) -> bool {
    let names = disk.names(directory, NAMES_MAX);
    names.len() == NAMES_MAX || names.iter().any(|name| name.starts_with('-'))
}
