//! The context of a run: its folders, its terminal, its screen.

use std::{collections::BTreeMap, ffi::OsString, fmt, path::PathBuf, sync::Arc};

use interlock_expr::text::Places;
use interlock_process::{GroupRecords, Terminal};

use crate::{
    guard::Guard,
    nodes::Nodes,
    screen::{NullScreen, Screen},
    slots::Slots,
    stage::Stages,
};

/// Paths where bash is searched: only the system can write there.
const SHELLS: [&str; 4] = [
    "/bin/bash",
    "/usr/bin/bash",
    "/usr/local/bin/bash",
    "/opt/homebrew/bin/bash",
];

/// The context in which a run is carried out.
#[derive(Clone)]
pub struct RunContext {
    /// Id of the run.
    pub run: String,
    /// Folders that paths of the run are resolved against.
    pub places: Places,
    /// Directory of the log, which also holds outputs, groups and the lease.
    pub beside: PathBuf,
    /// `PATH` to search programs in.
    pub path: Option<OsString>,
    /// Paths to search bash in, in order.
    pub shells: Vec<PathBuf>,
    /// Terminal of a person.
    pub terminal: Option<Arc<Terminal>>,
    /// Screen that shows the output of programs.
    pub screen: Arc<dyn Screen>,
    /// What binds agents to a workflow of their own.
    pub guard: Option<Arc<dyn Guard>>,
    /// Limit of programs that run at once, shared between runs.
    pub slots: Arc<Slots>,
    /// What model stages work with; `None`: they cannot run here.
    pub stages: Option<Arc<Stages>>,
    /// What tool states and custom nodes work with; `None`: they cannot run here.
    pub nodes: Option<Arc<Nodes>>,
}

impl RunContext {
    /// Creates a context without terminal and screen, with this process's `PATH`.
    #[must_use]
    pub fn new(run: impl Into<String>, places: Places, beside: impl Into<PathBuf>) -> Self {
        Self {
            run: run.into(),
            places,
            beside: beside.into(),
            path: std::env::var_os("PATH"),
            shells: SHELLS.into_iter().map(PathBuf::from).collect(),
            terminal: None,
            screen: Arc::new(NullScreen),
            guard: None,
            slots: Arc::default(),
            stages: None,
            nodes: None,
        }
    }

    /// Returns the terminal if this process may use it now.
    pub(crate) fn terminal(&self) -> Option<&Terminal> {
        self.terminal
            .as_deref()
            .filter(|terminal| terminal.is_ours())
    }

    /// Returns the records of running process groups.
    pub(crate) fn records(&self) -> GroupRecords {
        GroupRecords::beside(&self.beside)
    }

    /// Returns the variables that every program of the state at `path` finds in its environment.
    pub(crate) fn variables(&self, path: &str, mark: &str) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("INTERLOCK_RUN", self.run.clone()),
            ("INTERLOCK_STATE", path.to_owned()),
            ("INTERLOCK_PROJECT", self.places.project.clone()),
            ("INTERLOCK_RUN_DIR", self.places.run_dir.clone()),
            (EFFECT_VARIABLE, mark.to_owned()),
        ])
    }
}

/// Variable that names the effect and the attempt of a program.
pub(crate) const EFFECT_VARIABLE: &str = "INTERLOCK_EFFECT";

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext")
            .field("run", &self.run)
            .field("places", &self.places)
            .field("beside", &self.beside)
            .finish_non_exhaustive()
    }
}
