//! `Glob`, `LS` and `list_files`.

use std::path::Path;

use globset::GlobSet;
use interlock_core::glob::compile_plain;
use rustix::fs::FileType;
use serde_json::{Value, json};

use super::walk::{self, Skipped};
use crate::{
    Code, ToolContext, ToolEnd,
    disk::{Directory, Trouble},
    end::Failure,
    input::{optional, text},
    place::{self, Aim, Bounds},
};

/// Maximum number of entries in the result.
const ENTRIES_MAX: usize = 1_000;
/// Maximum number of entries of a directory that are examined.
const NAMES_MAX: usize = 200_000;
/// Maximum number of files that `list_files` returns.
const FILES_MAX: usize = 100_000;

/// Lists files whose path matches a pattern.
pub(crate) fn glob(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let pattern = text(input, "pattern");
    let matcher = matcher(pattern)?;
    let real = base(input, Bounds::Machine, context)?;
    let left = Skipped {
        version_control: names_version_control(pattern, &real),
        ..Skipped::default()
    };
    let found = files(&real, left, Some(&matcher), ENTRIES_MAX, context)?;
    let mut lines = found.paths;
    if lines.is_empty() {
        return Ok(ToolEnd::done("no files match"));
    }
    if found.is_cut {
        lines.push(cut_notice());
    }
    Ok(ToolEnd::done(lines.join("\n")))
}

fn cut_notice() -> String {
    format!("(only the first {ENTRIES_MAX} are shown: narrow it down)")
}

/// Returns whether a call asks for version control's own files.
fn names_version_control(pattern: &str, real: &str) -> bool {
    let named = |path: &str| path.split('/').any(|part| part == ".git");
    named(pattern) || named(real)
}

fn matcher(pattern: &str) -> Result<GlobSet, Failure> {
    let wrong = |why: String| Failure::new(Code::InvalidArguments, format!("`pattern`: {why}"));
    if pattern.starts_with(['/', '~']) || pattern.split('/').any(|part| part == "..") {
        let why = "it counts from the directory: name another one with `path`";
        return Err(wrong(why.to_owned()));
    }
    compile_plain(pattern.strip_prefix("./").unwrap_or(pattern), false).map_err(wrong)
}

/// Returns the directory that a call names, with links resolved; by default the project root.
fn base(input: &Value, bounds: Bounds, context: &ToolContext<'_>) -> Result<String, Failure> {
    let real = place_of(input, bounds, context)?;
    walk::directory(&real, &place::shown(&real, context))?;
    Ok(real)
}

/// Returns the path in the argument `path`, with links resolved; by default the project root.
pub(crate) fn place_of(
    input: &Value,
    bounds: Bounds,
    context: &ToolContext<'_>,
) -> Result<String, Failure> {
    let Some(path) = optional(input, "path") else {
        return Ok(context.call_context.project_root.clone());
    };
    let found = place::find(path, Aim::Read, bounds, context)?;
    Ok(found.real)
}

/// Files found by a walk.
struct Files {
    paths: Vec<String>,
    is_cut: bool,
}

fn files(
    real: &str,
    left: Skipped<'_>,
    matcher: Option<&GlobSet>,
    max: usize,
    context: &ToolContext<'_>,
) -> Result<Files, Failure> {
    let mut found = Files {
        paths: Vec::new(),
        is_cut: false,
    };
    // What cannot be read on the way is treated as missing.
    for entry in walk::walk(real, left, context)?.flatten() {
        if context.cancel.is_cancelled() {
            return Err(Trouble::Cancelled.of(real, Aim::Read));
        }
        let path = entry.path();
        let fits = |matcher: &GlobSet| matcher.is_match(walk::below(path, real));
        if !is_shown(&entry) || !matcher.is_none_or(fits) {
            continue;
        }
        if found.paths.len() >= max {
            found.is_cut = true;
            break;
        }
        found.paths.push(shown(path, context));
    }
    Ok(found)
}

/// A link is a name like any other; its target is determined when it is opened.
fn is_shown(entry: &ignore::DirEntry) -> bool {
    entry
        .file_type()
        .is_some_and(|kind| kind.is_file() || kind.is_symlink())
}

fn shown(path: &Path, context: &ToolContext<'_>) -> String {
    place::shown(&path.to_string_lossy(), context)
}

/// Lists the contents of a directory.
pub(crate) fn ls(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let found = place::find(text(input, "path"), Aim::Read, Bounds::Machine, context)?;
    let told = place::shown(&found.real, context);
    walk::directory(&found.real, &told)?;
    let failed = |trouble: Trouble| trouble.of(&told, Aim::Read);
    let mut names = Directory::open(Path::new(&found.real))
        .and_then(|directory| directory.names(NAMES_MAX))
        .map_err(failed)?;
    names.sort_by(|one, other| one.0.cmp(&other.0));
    let is_cut = names.len() > ENTRIES_MAX;
    let mut lines: Vec<String> = names
        .iter()
        .take(ENTRIES_MAX)
        .map(|(name, kind)| {
            let mark = match kind {
                FileType::Directory => "/",
                FileType::Symlink => "@",
                _ => "",
            };
            let name = String::from_utf8_lossy(name);
            format!("{}{mark}", interlock_facts::one_line(&name, 1_024))
        })
        .collect();
    if lines.is_empty() {
        return Ok(ToolEnd::done("(the directory is empty)"));
    }
    if is_cut {
        lines.push(cut_notice());
    }
    Ok(ToolEnd::done(lines.join("\n")))
}

/// Lists files like CodeMie's tool.
pub(crate) fn as_object(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let pattern = optional(input, "pattern");
    // A pattern without `/` matches names, wherever the files are.
    let whole = pattern.map(|pattern| match pattern.contains('/') {
        true => pattern.to_owned(),
        false => format!("**/{pattern}"),
    });
    let matcher = whole.as_deref().map(matcher).transpose()?;
    let real = base(input, Bounds::Datasources, context)?;
    let left = Skipped {
        version_control: names_version_control(pattern.unwrap_or_default(), &real),
        below: input.get("recursive") == Some(&Value::Bool(false)),
        ..Skipped::default()
    };
    let found = files(&real, left, matcher.as_ref(), FILES_MAX, context)?;
    let mut told = json!({"files": found.paths});
    if found.is_cut
        && let Value::Object(fields) = &mut told
    {
        fields.insert("cut".to_owned(), Value::Bool(true));
    }
    Ok(ToolEnd::done(told.to_string()))
}
