//! Durable runs, which have a folder, a name and source files.

use std::{fs, path::Path};

use interlock_core::{
    dialogue::RunInput,
    machine::{ModeRules, Object},
    names::RunId,
    run::DurableRun,
};
use interlock_expr::text::Places;
use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    folder::{RunFolder, WORK},
    home::Home,
    id,
    marks::Marks,
    pin::{NewRun, SourceFile},
    prepared::Started,
    start::StartError,
};

/// Directory in a run's working folder in which its programs start.
const FILES: &str = "files";
/// Name of the file that records the run's source files.
const ORIGIN: &str = "origin.json";

/// A durable run to create.
#[derive(Debug, Clone)]
pub struct NewDurable<'a> {
    /// What every run pins; a missing name is generated.
    pub new: NewRun<'a>,
    /// Home directory of the person.
    pub home: &'a Path,
    /// Source files of the run.
    pub origin: &'a Origin,
    /// Rules for calls in stages that list no tools; `None`: those of the machine.
    pub mode: Option<ModeRules>,
    /// Input of the conversation, if the machine has one.
    pub input: Option<RunInput>,
}

/// The source files of a durable run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Workflow file, its parents and the files it calls, by absolute path, as read.
    pub files: Vec<SourceFile>,
    /// Variables that the workflow declares, captures or reads.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Whether the run directory is removed when the run ends with code 0.
    #[serde(default)]
    pub clean_on_end: bool,
}

impl Versioned for Origin {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 256 * 1024 * 1024;
}

impl Origin {
    /// Returns the origin as recorded, with marks in the names of its files.
    fn recorded(&self, marks: &Marks) -> Self {
        let mut recorded = self.clone();
        for file in &mut recorded.files {
            file.name = marks.encode_text(&file.name);
        }
        recorded
    }
}

impl Home {
    /// Creates and begins a durable run in one step: either the run has begun, or it does not exist.
    ///
    /// Its programs start in `files/` of its working folder, which is empty.
    ///
    /// # Errors
    /// The name is invalid or taken, the engine refuses the input, or the state directory cannot be written. In each case,
    /// nothing is left behind.
    pub fn start_durable(
        &self,
        durable: &NewDurable<'_>,
        input: Object,
        by: &str,
    ) -> Result<Started, StartError> {
        let workflow = durable.new.machine.id.as_str();
        let project = durable.new.project_root;
        let claim = match durable.new.name {
            Some(name) => self.claim_name(project, workflow, name),
            None => self.claim_any_name(project, workflow),
        }?;
        let id = id::run_id(durable.new.at_ms)?;
        // Held until the run is there.
        let claim = claim.give_to(&id)?;
        let work = self.made_place(WORK)?.join(id.as_str());
        let word = |path: &Path| {
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| StoreError::Unwritable {
                path: work.clone(),
                what: format!("a folder whose path is not text (`{}`)", path.display()),
            })
        };
        let places = Places {
            run_dir: word(&work.join(FILES))?,
            project: word(project)?,
            home: word(durable.home)?,
        };
        let new = NewRun {
            name: Some(&claim.name),
            ..durable.new
        };
        let marks = Marks::new(&word(&work)?, &places.project, &places.home);
        let origin = durable.origin.recorded(&marks);
        let begun_with = DurableRun {
            places,
            mode: durable.mode.clone(),
            input: durable.input.clone(),
        };
        files::make_directory(&work.join(FILES))?;
        let begun = self.begin(&id, &new, (input, by, Some(begun_with)), &|beside| {
            files::write(&beside.join(ORIGIN), &origin, Sync::Now)
        });
        if begun.is_err() {
            // Only our own, of a run that nobody has seen; the error that counts is the first.
            let _ = fs::remove_dir_all(&work);
        }
        begun
    }
}

impl Home {
    /// Returns whether `run` is durable, without opening a database.
    #[must_use]
    pub fn is_durable(&self, run: &RunId) -> bool {
        let directory = self.present_directory(run);
        directory.is_ok_and(|directory| directory.join(ORIGIN).is_file())
    }
}

impl RunFolder {
    /// Returns the source files of a durable run; `None`: they are not recorded.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn origin(&self) -> Result<Option<Origin>, StoreError> {
        let path = self.path().join(ORIGIN);
        let Some(mut origin) = files::read::<Origin>(&path)? else {
            return Ok(None);
        };
        for file in &mut origin.files {
            let name = self.marks.decode_text(&file.name);
            file.name = name.map_err(|error| StoreError::damaged(&path, error.to_string()))?;
        }
        Ok(Some(origin))
    }

    /// Records the source files of a durable run that has moved to another version of its workflow.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn set_origin(&self, origin: &Origin) -> Result<(), StoreError> {
        let recorded = origin.recorded(&self.marks);
        files::write(&self.path().join(ORIGIN), &recorded, Sync::Now)
    }

    /// Removes the folder in which the run's programs worked; the log stays.
    ///
    /// # Errors
    /// The folder cannot be removed.
    pub fn remove_files(&self) -> Result<(), StoreError> {
        let files = self.work().join(FILES);
        match fs::remove_dir_all(&files) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::io("remove", &files, error))
            }
            _ => Ok(()),
        }
    }
}
