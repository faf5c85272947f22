//! Row 10: checks the writes of a line against the limits of a state.

use super::{Found, ShellRule, entries::is_covered, is_history, refuse, show, use_tool};
use crate::{
    call::{FileWrite, PathArea},
    facts::{CommandClass, InlineCode, ShellFacts, SimpleCommand, Word},
    holds::clipped,
    judge::JudgeContext,
    policy::Stance,
    refusal::Code,
};

/// Refuses a line that exceeds `max_edit_lines`, or may exceed it.
pub(super) fn lines(context: JudgeContext<'_>, facts: &ShellFacts, stance: Stance) -> Found {
    let Some(limit) = context.state.policy.edit_lines_max else {
        return Ok(());
    };
    if stance != Stance::Writing {
        return Ok(());
    }
    let mut sum = 0_u64;
    // What a program makes of the project's files is not an edit.
    let edits = writes(context).filter(|write| super::result_of(context, write).is_none());
    for write in edits {
        let Some(lines) = write.lines else {
            return refuse(
                ShellRule::Limits,
                Code::ShellWrite,
                format!(
                    "how much `{}` writes cannot be seen, and `{}` limits edits",
                    write.by, context.frame.at
                ),
                use_tool(context),
            );
        };
        sum = sum.saturating_add(lines);
        if sum > limit {
            return refuse(
                ShellRule::Limits,
                Code::EditTooLarge,
                format!(
                    "with `{}` the line writes {sum} lines and `{}` allows {limit}",
                    write.by, context.frame.at
                ),
                "make it smaller",
            );
        }
    }
    let inline = |command: &&SimpleCommand| {
        command.class == CommandClass::Interpreter
            && command.inline_code != InlineCode::No
            && !is_covered(context, command)
    };
    match facts.commands.iter().find(inline) {
        Some(command) => refuse(
            ShellRule::Limits,
            Code::ShellWrite,
            format!(
                "what the code of `{}` writes cannot be seen, and `{}` limits edits",
                show(command),
                context.frame.at
            ),
            use_tool(context),
        ),
        None => Ok(()),
    }
}

/// Refuses writes of unknown number if the state has `max_files_per_state`.
pub(super) fn files(context: JudgeContext<'_>, stance: Stance) -> Found {
    let Some(limit) = context.state.policy.files_max else {
        return Ok(());
    };
    if stance != Stance::Writing {
        return Ok(());
    }
    // The files of the tree may be named beside the history.
    let is_tree = |write: &FileWrite| {
        super::history_of(context, write).is_some_and(|command| command.changes_unnamed)
    };
    let uncounted = |write: &&FileWrite| {
        write.path.is_none() && matches!(write.place, PathArea::Project | PathArea::Unknown)
            || is_tree(write)
    };
    match writes(context).find(uncounted) {
        Some(write) => refuse(
            ShellRule::Limits,
            Code::TooManyFiles,
            format!(
                "how many files `{}` writes cannot be seen, and `{}` allows {limit}",
                write.by, context.frame.at
            ),
            "name each file",
        ),
        None => Ok(()),
    }
}

/// Returns the writes that count as edits: all but scratch files and version history.
fn writes(context: JudgeContext<'_>) -> impl Iterator<Item = &FileWrite> {
    context
        .call
        .facts
        .writes
        .iter()
        .filter(move |write| write.place != PathArea::Scratch && !is_history(context, write))
}

/// Formats the words of a command for a message, truncated.
pub(super) fn shown(words: &[Word]) -> String {
    let words: Vec<&str> = words
        .iter()
        .map(|word| match word {
            Word::Literal(text) | Word::Dynamic(text) => text.as_str(),
        })
        .collect();
    clipped(words.join(" "), 80)
}
