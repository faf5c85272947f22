//! The files that a run came from: their changes since, and their present contents.

use std::{fs, path::Path};

use interlock_core::machine::Machine;
use interlock_formats::Loaded;
use interlock_store::{Origin, SourceFile};
use serde_json::{Value, json};

use crate::{app::App, failure::Failure, live};

/// A file that has changed since the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The file.
    path: String,
    /// `changed`, or `gone`.
    what: &'static str,
}

impl Difference {
    /// Describes it in words.
    pub(crate) fn sentence(&self) -> String {
        match self.what {
            "gone" => format!("`{}` is gone", self.path),
            _ => format!("`{}` differs from the run's copy", self.path),
        }
    }

    /// Formats it as JSON.
    pub(crate) fn line(&self) -> Value {
        json!({ "path": self.path, "what": self.what })
    }
}

/// Lists the files that have changed since the run began.
pub(crate) fn differences(origin: &Origin) -> Vec<Difference> {
    let different = |file: &SourceFile| {
        let what = match fs::read(&file.name) {
            Ok(bytes) if bytes == file.text.as_bytes() => return None,
            Ok(_) => "changed",
            Err(_) => "gone",
        };
        Some(Difference {
            path: file.name.clone(),
            what,
        })
    };
    origin.files.iter().filter_map(different).collect()
}

/// Creates the origin of a workflow that was just read.
pub(crate) fn of_loaded(directory: &Path, loaded: &Loaded, clean_on_end: bool) -> Origin {
    let files = loaded.bundle.files.iter().map(|file| SourceFile {
        name: directory.join(&file.name).to_string_lossy().into_owned(),
        text: file.text.clone(),
    });
    Origin {
        files: files.collect(),
        variables: loaded.variables.clone(),
        clean_on_end,
    }
}

/// A workflow according to its present files.
pub(crate) struct Now {
    pub(crate) machine: Machine,
    pub(crate) origin: Origin,
}

/// Reads the file of a run again; its errors are printed.
pub(crate) fn load_again(app: &App, begun: &Origin, project: Option<&str>) -> Result<Now, Failure> {
    let Some(file) = begun.files.first() else {
        return Err(anyhow::anyhow!("the run does not say which file it came from").into());
    };
    let directory = project.map_or(app.directory.as_path(), Path::new);
    let library = app.library_of(directory);
    let source = library.open(&file.name)?;
    let loaded = live::load_source(app, &library, &source)?;
    if !loaded.machine.durable {
        return Err(anyhow::anyhow!("`{}` is no longer a workflow of steps", file.name).into());
    }
    let origin = of_loaded(directory, &loaded, begun.clean_on_end);
    Ok(Now {
        machine: loaded.machine,
        origin,
    })
}
