//! Recognizes lines that consist of a few builtins with literal words.
//!
//! Such a line may run outside the sandbox, so its written form counts, not its computed facts: an error of the parser must not
//! matter here.

use crate::syntax::{AndOr, Command, List, Piece, Pipeline, Redirect, RedirectKind, Simple, Word};

/// Builtins that start no program and write no file, whatever their words are.
const BUILTINS: [&str; 6] = [":", "cd", "echo", "false", "pwd", "true"];
/// Maximum number of commands in such a line.
const COMMANDS_MAX: usize = 8;

/// Returns whether a line is a short list of literal builtins.
///
/// It must have no assignment, expansion, pattern or pipe, and open no file except `/dev/null`.
pub(crate) fn is_short_list(list: &List) -> bool {
    let pipelines: Vec<&Pipeline> = list.items.iter().flat_map(pipelines).collect();
    pipelines.len() <= COMMANDS_MAX
        && list.items.iter().all(|item| !item.background)
        && pipelines.into_iter().all(is_builtin)
}

fn pipelines(item: &AndOr) -> impl Iterator<Item = &Pipeline> {
    std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline))
}

fn is_builtin(pipeline: &Pipeline) -> bool {
    let [Command::Simple(simple)] = pipeline.commands.as_slice() else {
        return false;
    };
    let is_named = |simple: &Simple| {
        let name = simple.words.first();
        name.is_some_and(|name| BUILTINS.iter().any(|builtin| name.is_bare(builtin)))
    };
    !pipeline.bang
        && simple.assignments.is_empty()
        && simple.declared.is_empty()
        && is_named(simple)
        && simple.words.iter().all(is_literal)
        && simple.redirects.iter().all(opens_nothing)
}

/// Returns whether every shell treats a word as the literal text.
fn is_literal(word: &Word) -> bool {
    word.pieces.iter().all(|piece| match piece {
        Piece::Text { quoted: true, .. } => true,
        Piece::Text { text, .. } => text
            .chars()
            .all(|c| c.is_alphanumeric() || "-_./:,+@%".contains(c)),
        _ => false,
    })
}

fn opens_nothing(redirect: &Redirect) -> bool {
    let is_null = |word: &Word| word.is_bare("/dev/null");
    redirect.variable.is_none()
        && match &redirect.kind {
            RedirectKind::Read(word) => is_null(word),
            RedirectKind::Write { target, .. } => is_null(target),
            RedirectKind::Duplicate { target, .. } => {
                ["1", "2"].iter().any(|it| target.is_bare(it))
            }
            RedirectKind::ReadWrite(_)
            | RedirectKind::HereString(_)
            | RedirectKind::HereDocument(_) => false,
        }
}
