//! What a call is given beside its arguments.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use interlock_core::call::CallFacts;
use interlock_facts::CallContext;
use interlock_process::Cancel;
use interlock_sandbox::{Level, NotHeld, Plan};
use serde::{Deserialize, Serialize};

/// What a call is given beside its arguments.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// Where it runs, links resolved; its directory is the project root.
    pub call_context: &'a CallContext,
    /// What the verdict was about: of exactly this tool and these arguments.
    pub facts: &'a CallFacts,
    /// What this attempt of the stage has read.
    pub seen: &'a Seen,
    /// Ends the call from another thread.
    pub cancel: &'a Cancel,
    /// How a shell line is carried; without it no line runs.
    pub carrier: Option<Carrier<'a>>,
    /// Folders and files beside the project that CodeMie's tools may touch.
    pub datasources: &'a [Datasource],
    /// Variables for shell lines of this call alone, such as those of an integration.
    pub environment: &'a [(String, String)],
    /// Bytes of a result that the model is shown; what is left out is said.
    pub result_bytes_max: usize,
    /// Is told what happens meanwhile.
    pub progress: Option<&'a (dyn Fn(Progress<'_>) + Sync)>,
}

impl std::fmt::Debug for ToolContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Variables of an integration are secrets.
        f.debug_struct("ToolContext")
            .field("project", &self.call_context.project_root)
            .finish_non_exhaustive()
    }
}

/// How a shell line is carried: by `interlock exec`, held to a plan.
#[derive(Debug, Clone, Copy)]
pub struct Carrier<'a> {
    /// Interlock's program.
    pub program: &'a Path,
    /// What the kernel holds the line to, made from the verdict by `interlock_confine::plan`.
    pub plan: &'a Plan,
    /// The highest level whose means are used: [`Level::Full`] but in tests.
    pub level_max: Level,
}

/// What happens while a call runs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// A shell line runs, held so far.
    Held {
        /// The level.
        level: Level,
        /// What it is not held from.
        not_held: &'a [NotHeld],
    },
    /// A shell line has printed this.
    Printed(&'a [u8]),
}

/// A folder or file beside the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datasource {
    /// Its name in the configuration.
    pub id: String,
    /// Where it lies: absolute, links resolved.
    pub path: PathBuf,
}

impl Datasource {
    /// Takes a folder or file under a name, and resolves its links.
    ///
    /// # Errors
    /// There is none, or it cannot be followed.
    pub fn at(id: impl Into<String>, path: &Path) -> std::io::Result<Self> {
        Ok(Self {
            id: id.into(),
            path: path.canonicalize()?,
        })
    }
}

/// What one attempt of a stage has read: each file as it was when the model last saw it.
#[derive(Debug, Default)]
pub struct Seen(Mutex<BTreeMap<String, String>>);

/// A file, and what was in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Absolute, links resolved.
    pub path: String,
    /// SHA-256 of its content, lower-case hex.
    pub digest: String,
}

impl Seen {
    /// Nothing read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers a file as it is now; a rebuilt attempt notes what its results say.
    pub fn note(&self, file: &SeenFile) {
        self.files().insert(file.path.clone(), file.digest.clone());
    }

    /// Returns what was in a file when it was last seen.
    #[must_use]
    pub fn digest_of(&self, path: &str) -> Option<String> {
        self.files().get(path).cloned()
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        // Every change of it is one insertion.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
