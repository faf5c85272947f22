//! The workflow files that can be viewed and changed here: those of known projects, the person's own, and the shipped
//! ones.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use axum::http::StatusCode;
use interlock_core::visible::steers;
use interlock_formats::{Source, Tree, format_of};
use interlock_project::{Entry, Library, Origin, SaveError, save};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    bounded::Bounded,
    checked::{Checked, open},
    reply::Problem,
    shared::Shared,
};

const HIDDEN: &str = "it contains invisible characters: edit it elsewhere";
const OUTSIDE: &str = "its file is outside of the project: it is neither read nor written here";

/// A workflow in the list.
#[derive(Debug, Serialize)]
pub(crate) struct WorkflowRow {
    name: String,
    /// `project`, `person` or `shipped`.
    origin: &'static str,
    /// Its file; `None` for a shipped one.
    path: Option<String>,
    format: Option<&'static str>,
    description: Option<String>,
    errors: usize,
    warnings: usize,
    /// Why its content is not shown here.
    locked: Option<&'static str>,
}

/// An opened workflow file.
#[derive(Debug, Serialize)]
pub(crate) struct WorkflowFile {
    name: String,
    /// The name used in messages.
    file: String,
    text: String,
    /// The value of `If-Match` that is needed to overwrite it.
    etag: String,
    format: Option<&'static str>,
    /// The names of the workflows in it, if it has several.
    machines: Vec<String>,
    /// Why it cannot be changed here.
    locked: Option<&'static str>,
}

impl WorkflowFile {
    /// Returns the text as a source.
    ///
    /// # Errors The file is outside the project and was not read.
    pub(crate) fn source(&self) -> Result<Source, Problem> {
        if self.locked == Some(OUTSIDE) {
            return Err(Problem::forbidden("outside", OUTSIDE));
        }
        Ok(Source::new(self.file.clone(), self.text.clone()))
    }
}

impl Shared {
    /// Returns the workflows as seen from a project: one that has runs, or the one in which the console was started.
    pub(crate) fn library(&self, project: Option<&str>) -> Result<(PathBuf, Library), Problem> {
        let root = match project {
            None => self.workplace.project.clone(),
            Some(wanted) => self
                .project_roots()?
                .into_iter()
                .find(|root| root.to_string_lossy() == wanted)
                .ok_or_else(|| Problem::unknown("no run was ever begun in that project"))?,
        };
        let library = (self.workplace.library)(&root);
        Ok((root, library))
    }

    fn project_roots(&self) -> Result<BTreeSet<PathBuf>, Problem> {
        let rows = self.board.rows(&self.home)?;
        let of_runs = rows.iter().map(|row| PathBuf::from(&row.project));
        let all = of_runs.chain([self.workplace.project.clone()]);
        Ok(all.filter(|root| root.is_dir()).collect())
    }
}

/// Lists the workflows by name.
pub(crate) fn list(checked: &Checked, root: &Path, library: &Library) -> Vec<WorkflowRow> {
    let bounded = Bounded::new(root, library);
    let row = |entry: Entry| {
        let outside = is_outside(&bounded, &entry);
        let said = match outside {
            true => None,
            false => Some(checked.of(root, library, &entry)?),
        };
        Some(WorkflowRow {
            origin: word(entry.origin),
            path: entry.path.map(|path| path.display().to_string()),
            format: said.as_ref().and_then(|said| said.format),
            description: said.as_ref().and_then(|said| said.description.clone()),
            errors: said.as_ref().map_or(0, |said| said.errors),
            warnings: said.as_ref().map_or(0, |said| said.warnings),
            locked: outside.then_some(OUTSIDE),
            name: entry.name,
        })
    };
    library.list().into_iter().filter_map(row).collect()
}

/// Returns whether a workflow's file is a link that leads out of the project or the person's folder.
fn is_outside(bounded: &Bounded<'_>, entry: &Entry) -> bool {
    let path = entry.path.as_deref();
    path.is_some_and(|path| !bounded.holds(path))
}

const fn word(origin: Origin) -> &'static str {
    match origin {
        Origin::Project => "project",
        Origin::Person => "person",
        Origin::Shipped => "shipped",
    }
}

fn entry(library: &Library, name: &str) -> Result<Entry, Problem> {
    let mut entries = library.list().into_iter();
    entries
        .find(|entry| entry.name == name)
        .ok_or_else(|| Problem::unknown(format!("there is no workflow `{name}`")))
}

/// Opens a workflow by its name.
pub(crate) fn file(root: &Path, library: &Library, name: &str) -> Result<WorkflowFile, Problem> {
    let entry = entry(library, name)?;
    if is_outside(&Bounded::new(root, library), &entry) {
        return Ok(WorkflowFile {
            name: name.to_owned(),
            file: entry
                .path
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
            text: String::new(),
            etag: etag(""),
            format: None,
            machines: Vec::new(),
            locked: Some(OUTSIDE),
        });
    }
    let source = open(library, &entry)?;
    let machines = Tree::read(&source)
        .map(|tree| tree.definitions())
        .unwrap_or_default();
    let locked = if entry.path.is_none() {
        Some("it is part of Interlock: copy it into the project first")
    } else if is_hidden(&source.text) {
        Some(HIDDEN)
    } else {
        None
    };
    Ok(WorkflowFile {
        name: name.to_owned(),
        etag: etag(&source.text),
        format: format_of(&source),
        machines: machines.into_iter().filter_map(|(name, _)| name).collect(),
        locked,
        file: source.name,
        text: source.text,
    })
}

/// Returns whether a text contains characters that are shown as codes; saving would replace them by those.
pub(crate) fn is_hidden(text: &str) -> bool {
    text.contains(|letter: char| !matches!(letter, '\n' | '\r' | '\t') && steers(letter))
        || text.contains('\r')
}

/// Returns the refusal to change a text with invisible characters.
pub(crate) fn hidden() -> Problem {
    Problem::forbidden("hidden", HIDDEN)
}

/// Returns the library for a page's text, if the text belongs to a listed or a shipped workflow.
pub(crate) fn of_draft<'l>(
    root: &Path,
    library: &'l Library,
    file: &str,
) -> Result<Bounded<'l>, Problem> {
    let bounded = Bounded::new(root, library);
    let path_of = |entry: Entry| entry.path.filter(|path| path.display().to_string() == file);
    if let Some(path) = library.list().into_iter().find_map(path_of) {
        return match bounded.holds(&path) {
            true => Ok(bounded),
            false => Err(Problem::forbidden("outside", OUTSIDE)),
        };
    }
    let name = file.strip_suffix(".yaml").unwrap_or(file);
    match Library::shipped(name) {
        Some(_) => Ok(bounded),
        None => Err(Problem::unknown(format!(
            "`{file}` is not a file of a workflow"
        ))),
    }
}

/// Overwrites the text that `known` identifies; returns the new etag.
pub(crate) fn write(
    root: &Path,
    library: &Library,
    name: &str,
    known: &str,
    text: &str,
) -> Result<String, Problem> {
    let entry = entry(library, name)?;
    let Some(path) = &entry.path else {
        return Err(Problem::forbidden(
            "shipped",
            "a workflow that is part of Interlock is not changed",
        ));
    };
    if is_outside(&Bounded::new(root, library), &entry) {
        return Err(Problem::forbidden("outside", OUTSIDE));
    }
    let source = open(library, &entry)?;
    if is_hidden(&source.text) || is_hidden(text) {
        return Err(hidden());
    }
    if etag(&source.text) != known {
        return Err(moved(path));
    }
    save(path, &source.text, text).map_err(|error| match error {
        SaveError::Changed(path) => moved(&path),
        SaveError::Io { .. } => Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "write",
            error.to_string(),
        ),
    })?;
    Ok(etag(text))
}

fn moved(path: &Path) -> Problem {
    let message = format!(
        "`{}` has changed since the page read it: nothing was written",
        path.display()
    );
    Problem::new(StatusCode::PRECONDITION_FAILED, "changed", message)
}

/// Returns the etag of a text: its SHA-256 in quotes, as HTTP requires.
fn etag(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}
