//! The context of a call.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use interlock_core::call::CallFacts;
use interlock_facts::CallContext;
use interlock_process::Cancel;
use interlock_sandbox::{Level, Plan, Unconfined};
use serde::{Deserialize, Serialize};

/// The context of a call, besides its arguments.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// Place of the call, with links resolved; its directory is the project root.
    pub call_context: &'a CallContext,
    /// The judged facts of exactly this tool and these arguments.
    pub facts: &'a CallFacts,
    /// Files that this attempt of the stage has read.
    pub seen: &'a Seen,
    /// Cancels the call from another thread.
    pub cancel: &'a Cancel,
    /// How a shell line is run; without it no line runs.
    pub carrier: Option<Carrier<'a>>,
    /// Folders and files besides the project that CodeMie's tools may access.
    pub datasources: &'a [Datasource],
    /// Variables for shell lines of this call only, such as those of an integration.
    pub environment: &'a [(String, String)],
    /// Maximum number of bytes of a result that the model is shown; a cut is marked.
    pub result_bytes_max: usize,
    /// Receives progress.
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

/// How a shell line is run: by `interlock exec`, confined to a plan.
#[derive(Debug, Clone, Copy)]
pub struct Carrier<'a> {
    /// Path of Interlock's program.
    pub program: &'a Path,
    /// What the kernel confines the line to, created from the verdict by `interlock_confine::plan`.
    pub plan: &'a Plan,
    /// Highest level to use: [`Level::Full`] except in tests.
    pub level_max: Level,
}

/// What happens while a call runs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// A shell line runs, confined this far.
    Confined {
        /// The level.
        level: Level,
        /// What is not confined.
        unconfined: &'a [Unconfined],
    },
    /// Output of a shell line.
    Printed(&'a [u8]),
}

/// A folder or file besides the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datasource {
    /// Its name in the configuration.
    pub id: String,
    /// Absolute path, with links resolved.
    pub path: PathBuf,
}

impl Datasource {
    /// Creates a datasource from a folder or file, resolving its links.
    ///
    /// # Errors
    /// It does not exist, or its links cannot be resolved.
    pub fn at(id: impl Into<String>, path: &Path) -> std::io::Result<Self> {
        Ok(Self {
            id: id.into(),
            path: path.canonicalize()?,
        })
    }
}

/// Files that one attempt of a stage has read, as the model last saw them.
#[derive(Debug, Default)]
pub struct Seen(Mutex<BTreeMap<String, String>>);

/// A file, and its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Absolute, links resolved.
    pub path: String,
    /// SHA-256 of its contents, in lower-case hexadecimal.
    pub digest: String,
}

impl Seen {
    /// Creates an empty record.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records the present state of a file; a rebuilt attempt records what its results contain.
    pub fn note(&self, file: &SeenFile) {
        self.files().insert(file.path.clone(), file.digest.clone());
    }

    /// Returns the digest of a file when it was last seen.
    #[must_use]
    pub fn digest_of(&self, path: &str) -> Option<String> {
        self.files().get(path).cloned()
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        // Every change of it is one insertion.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
