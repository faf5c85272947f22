//! The input of a workflow with a conversation, from the command line to its first message.

use std::path::{Component, Path, PathBuf};

use anyhow::anyhow;
use interlock_core::{dialogue::RunInput, machine::Object};
use serde_json::Value;

use super::inputs::text_of;
use crate::{args::CarryArgs, failure::Failure};

/// Maximum number of files that a run may begin with.
const FILES_MAX: usize = 20;

/// Reads the input of a conversation.
///
/// Returns a usage error for two inputs, too many files, or a file that does not exist or is outside the project.
pub(super) fn of(args: &CarryArgs, project: &Path, here: &Path) -> Result<RunInput, Failure> {
    let text = match (&args.text, &args.input) {
        (Some(_), Some(_)) => {
            return Err(usage("give the task only once: as text, or with `--input`"));
        }
        (Some(text), None) => text.clone(),
        (None, Some(input)) => text_of(input)?,
        (None, None) => String::new(),
    };
    if args.attached.len() > FILES_MAX {
        return Err(usage(format!(
            "{} files are attached, but at most {FILES_MAX} are allowed",
            args.attached.len()
        )));
    }
    let mut attached = Vec::new();
    for path in &args.attached {
        let name = name_of(path, project, here)?;
        if !attached.contains(&name) {
            attached.push(name);
        }
    }
    Ok(RunInput { text, attached })
}

/// Refuses files for a workflow that has no conversation.
pub(super) fn none(args: &CarryArgs) -> Result<(), Failure> {
    if args.attached.is_empty() {
        return Ok(());
    }
    Err(usage(
        "the workflow has no conversation to which files could be attached: leave out `--attach`",
    ))
}

/// Returns the variables unchanged: any name is a context key.
pub(super) fn variables(args: &CarryArgs) -> Object {
    let each = args.variables.iter();
    each.map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect()
}

/// Returns the path by which the tools of a run find a file, relative to the project.
fn name_of(path: &Path, project: &Path, here: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let real = here
        .join(path)
        .canonicalize()
        .map_err(|error| usage(format!("`{shown}` cannot be attached: {error}")))?;
    if !real.is_file() {
        return Err(usage(format!(
            "`{shown}` cannot be attached: it is not a file"
        )));
    }
    let root: PathBuf = project.canonicalize().unwrap_or_else(|_| project.into());
    let below = real.strip_prefix(&root).ok();
    let parts = below.into_iter().flat_map(Path::components);
    let words: Option<Vec<&str>> = parts
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    match words.filter(|words| !words.is_empty()) {
        Some(words) => Ok(words.join("/")),
        None => Err(usage(format!(
            "`{shown}` cannot be attached: it lies outside the project, where no tool reads it"
        ))),
    }
}

fn usage(message: impl Into<String>) -> Failure {
    Failure::usage(anyhow!(message.into()))
}
