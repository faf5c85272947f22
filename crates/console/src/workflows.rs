//! The workflow files that a person can look at and change here: those of known projects, the person's own, the shipped ones.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use axum::http::StatusCode;
use interlock_core::visible::steers;
use interlock_formats::{Severity, Source, Tree, check, description_of, format_of};
use interlock_project::{Entry, Library, Origin, SaveError, save};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{reply::Problem, shared::Shared};

/// A workflow as the list has it.
#[derive(Debug, Serialize)]
pub(crate) struct WorkflowRow {
    name: String,
    /// `project`, `person` or `shipped`.
    origin: &'static str,
    /// Its file; a shipped one has none.
    path: Option<String>,
    format: Option<&'static str>,
    description: Option<String>,
    errors: usize,
    warnings: usize,
}

/// A workflow file that was opened.
#[derive(Debug, Serialize)]
pub(crate) struct WorkflowFile {
    name: String,
    /// The name that messages show.
    file: String,
    text: String,
    /// What has to be sent along to write over it.
    etag: String,
    format: Option<&'static str>,
    /// The names of the workflows in it, where there are several.
    machines: Vec<String>,
    /// Why it cannot be changed here.
    locked: Option<&'static str>,
}

impl Shared {
    /// Returns the workflows as seen from a project: one that has runs, or the one this console was started in.
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
pub(crate) fn list(library: &Library) -> Vec<WorkflowRow> {
    let row = |entry: Entry| {
        let source = open(library, &entry).ok()?;
        let found = check(&source, library);
        let count = |severity| {
            found
                .iter()
                .filter(|found| found.severity == severity)
                .count()
        };
        Some(WorkflowRow {
            origin: word(entry.origin),
            path: entry.path.map(|path| path.display().to_string()),
            format: format_of(&source),
            description: description_of(&source),
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            name: entry.name,
        })
    };
    library.list().into_iter().filter_map(row).collect()
}

const fn word(origin: Origin) -> &'static str {
    match origin {
        Origin::Project => "project",
        Origin::Person => "person",
        Origin::Shipped => "shipped",
    }
}

fn open(library: &Library, entry: &Entry) -> Result<Source, Problem> {
    let found = match &entry.path {
        // The file that the list means, whatever file there is of that name where this program was started.
        Some(path) => library.open(&path.to_string_lossy()),
        None => library.open_named(&entry.name),
    };
    found.map_err(|error| Problem::unknown(error.to_string()))
}

fn entry(library: &Library, name: &str) -> Result<Entry, Problem> {
    let mut entries = library.list().into_iter();
    entries
        .find(|entry| entry.name == name)
        .ok_or_else(|| Problem::unknown(format!("there is no workflow `{name}`")))
}

/// Opens a workflow by its name.
pub(crate) fn file(library: &Library, name: &str) -> Result<WorkflowFile, Problem> {
    let entry = entry(library, name)?;
    let source = open(library, &entry)?;
    let machines = Tree::read(&source)
        .map(|tree| tree.definitions())
        .unwrap_or_default();
    let locked = if entry.path.is_none() {
        Some("it is part of Interlock: copy it into the project first")
    } else if is_hidden(&source.text) {
        Some("it holds characters that do not show: edit it elsewhere")
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

/// Tells whether a text holds characters that are shown as their codes, which would be written for them.
pub(crate) fn is_hidden(text: &str) -> bool {
    text.contains(|letter: char| !matches!(letter, '\n' | '\r' | '\t') && steers(letter))
        || text.contains('\r')
}

/// Writes a workflow over the text that `known` stands for.
pub(crate) fn write(
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
    let source = open(library, &entry)?;
    if is_hidden(&source.text) || is_hidden(text) {
        return Err(Problem::forbidden(
            "hidden",
            "it holds characters that do not show: edit it elsewhere",
        ));
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

/// Returns what stands for a text: its SHA-256, in quotes as HTTP has them.
fn etag(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}
