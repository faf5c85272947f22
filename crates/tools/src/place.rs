//! The target of a call's path, and whether the tool may access it.

use interlock_core::call::FileWrite;
use interlock_facts::{CallContext, Located, RealDisk, locate};

use crate::{Code, ToolContext, end::Failure};

/// Trees without regular files: reading there may have effects, block forever, or show processes.
const NO_FILES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The places that a tool may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// Every file of the machine that does not belong to Interlock.
    Machine,
    /// The project and the temporary directory.
    Project,
    /// The project and the datasources.
    Datasources,
}

/// What is done at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    Read,
    Write,
}

/// Finds the path in a call, if the tool may access it and it is as it was judged.
pub(crate) fn find(
    path: &str,
    aim: Aim,
    bounds: Bounds,
    context: &ToolContext<'_>,
) -> Result<Located, Failure> {
    let found = locate(path, context.call_context, &RealDisk)
        .map_err(|why| Failure::new(Code::CannotRead, why))?;
    check(&found.real, bounds, context)?;
    let judged = match aim {
        Aim::Read => {
            let shown = found.relative.as_ref().unwrap_or(&found.real);
            context.facts.reads.contains(shown)
        }
        Aim::Write => {
            let is_it = |write: &FileWrite| write.path.as_deref() == Some(&found.real);
            context.facts.writes.iter().any(is_it)
        }
    };
    if judged {
        return Ok(found);
    }
    Err(Failure::new(
        Code::Moved,
        format!("`{path}` leads elsewhere than when the call was judged: call the tool again"),
    ))
}

/// Checks whether a tool may access a path without links.
pub(crate) fn check(real: &str, bounds: Bounds, context: &ToolContext<'_>) -> Result<(), Failure> {
    let here = context.call_context;
    if is_hidden(real, context) {
        return Err(Failure::new(
            Code::Protected,
            format!("`{real}` is Interlock's own: a guarded agent may not read it"),
        ));
    }
    if is_no_file(real) {
        return Err(Failure::new(
            Code::NotAFile,
            format!("`{real}` is not a file of a disk"),
        ));
    }
    let outside = match bounds {
        Bounds::Machine => None,
        Bounds::Project => outside(real, here),
        Bounds::Datasources => {
            let mut sources = context.datasources.iter();
            let inside = is_within(real, &here.project_root)
                || sources.any(|source| std::path::Path::new(real).starts_with(&source.path));
            (!inside).then(|| format!("`{real}` lies outside the project and the datasources"))
        }
    };
    outside.map_or(Ok(()), |why| Err(Failure::new(Code::OutsideProject, why)))
}

/// Returns why a stage may not write a path without links; `None` if it may.
pub(crate) fn outside(real: &str, here: &CallContext) -> Option<String> {
    let temporary = here.temporary.as_deref();
    let inside = is_within(real, &here.project_root)
        || temporary.is_some_and(|temporary| is_within(real, temporary));
    (!inside).then(|| format!("`{real}` lies outside the project and the temporary directory"))
}

/// Returns whether a path is Interlock's state or inside it.
pub(crate) fn is_hidden(real: &str, context: &ToolContext<'_>) -> bool {
    let state = context.call_context.state_directory.as_deref();
    state.is_some_and(|state| is_within(real, state))
}

/// Returns whether a path is in a tree without regular files.
pub(crate) fn is_no_file(real: &str) -> bool {
    let shared = is_within(real, "/dev/shm");
    !shared && NO_FILES.iter().any(|tree| is_within(real, tree))
}

/// Returns whether a normalized absolute path is `directory` or below it.
pub(crate) fn is_within(path: &str, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns a path as shown to a model: relative if it is in the project.
pub(crate) fn shown(real: &str, context: &ToolContext<'_>) -> String {
    let root = context.call_context.project_root.trim_end_matches('/');
    let inside = real.strip_prefix(root);
    let relative = inside.and_then(|rest| rest.strip_prefix('/'));
    let text = match (inside, relative) {
        (_, Some(relative)) => relative,
        (Some(""), _) => ".",
        _ => real,
    };
    // A name may contain line breaks, after which the rest would look like another name.
    interlock_facts::one_line(text, 4_096)
}
