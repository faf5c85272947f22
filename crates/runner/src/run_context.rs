//! Where a run is carried out: its folders, its terminal, its screen.

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

/// Places where bash is looked for: only the system writes there.
const SHELLS: [&str; 4] = [
    "/bin/bash",
    "/usr/bin/bash",
    "/usr/local/bin/bash",
    "/opt/homebrew/bin/bash",
];

/// Where a run is carried out.
#[derive(Clone)]
pub struct RunContext {
    /// The run's id.
    pub run: String,
    /// The folders that its paths are resolved against.
    pub places: Places,
    /// The directory of its log; outputs, groups and the lease lie there.
    pub beside: PathBuf,
    /// What this process's environment is taken to be where programs are looked for.
    pub path: Option<OsString>,
    /// Where bash is looked for, in order.
    pub shells: Vec<PathBuf>,
    /// The terminal that a person sits at.
    pub terminal: Option<Arc<Terminal>>,
    /// What shows the programs' output.
    pub screen: Arc<dyn Screen>,
    /// What holds agents to a workflow of their own.
    pub guard: Option<Arc<dyn Guard>>,
    /// How many programs run at once, in all runs that share it.
    pub slots: Arc<Slots>,
    /// Where model stages work; `None`: nothing here can carry one out.
    pub stages: Option<Arc<Stages>>,
    /// Where tools of states and custom nodes work; `None`: nothing here can carry one out.
    pub nodes: Option<Arc<Nodes>>,
}

impl RunContext {
    /// Takes a run's folders; no terminal, nobody looking, `PATH` as this process has it.
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

    /// Returns the terminal when whoever asks would be served there now.
    pub(crate) fn terminal(&self) -> Option<&Terminal> {
        self.terminal
            .as_deref()
            .filter(|terminal| terminal.is_ours())
    }

    /// Returns the records of the groups that run.
    pub(crate) fn records(&self) -> GroupRecords {
        GroupRecords::beside(&self.beside)
    }

    /// Returns what every program of the state at `path` finds in its environment.
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

/// The variable that names the effect and the try a program belongs to.
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
