//! Where the stages of a run work: their models, their tools, the people who are asked.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use interlock_confine::Decided;
use interlock_core::command::ToolThere;
use interlock_facts::CallContext;
use interlock_models::ToolSpec;
use interlock_store::{Home, Messages};
use interlock_tools::{Datasource, Secrets, Tool};

use super::{channel::Channel, models::Models, servers::Servers};

/// Where the stages of a run work.
#[derive(Clone)]
pub struct Stages {
    /// The models.
    pub models: Arc<dyn Models>,
    /// The model of stages that name none, where `--model` says so.
    pub model: Option<String>,
    /// The built-in tools.
    pub tools: Vec<Tool>,
    /// What is masked where people read: the values of variables whose name tells a secret.
    pub secrets: Secrets,
    /// The MCP servers.
    pub servers: Option<Arc<dyn Servers>>,
    /// What is kept beside the log.
    pub messages: Messages,
    /// The state directory, which knows the person's token.
    pub home: Home,
    /// The project and what is protected around it, links resolved.
    pub place: CallContext,
    /// What person and project have decided about shell lines.
    pub decided: Decided,
    /// Interlock's program, which carries shell lines.
    pub program: PathBuf,
    /// Who is asked.
    pub people: People,
    /// Folders and files beside the project that tools may touch.
    pub datasources: Vec<Datasource>,
    /// Variables for single tools alone, by the tool's name. Secrets: no result shows them.
    pub variables: BTreeMap<String, Vec<(String, String)>>,
}

/// Who is asked about calls that a stage does not list.
#[derive(Clone, Default)]
pub struct People {
    /// The terminal, or another channel in this process.
    pub here: Option<Arc<dyn Channel>>,
    /// Whether answers may come from other processes, through the log.
    pub elsewhere: bool,
    /// Whether nobody waits for them: the run stands then.
    pub no_wait: bool,
}

impl People {
    /// Tells whether a request leaves the run standing until somebody answers it elsewhere.
    pub(crate) const fn stands(&self) -> bool {
        self.here.is_none() && self.elsewhere && self.no_wait
    }
}

impl Stages {
    /// Finds all tools that are there now, built-in ones first.
    pub(super) fn there(&self) -> Vec<ToolThere> {
        let built_in = self.tools.iter().map(|tool| ToolThere::own(tool.name()));
        let servers = self.servers.iter().flat_map(|servers| servers.tools());
        let served = servers.map(|served| ToolThere {
            name: served.spec.name,
            served_as: served.served_as,
        });
        built_in.chain(served).collect()
    }

    /// Describes the tool that a model calls by `name`; `None`: there is none.
    pub(super) fn spec(&self, name: &str) -> Option<(ToolSpec, ToolThere)> {
        if let Some(tool) = Tool::named(&self.tools, name) {
            let spec = ToolSpec {
                name: tool.name().to_owned(),
                description: tool.description().to_owned(),
                schema: tool.schema().clone(),
            };
            return Some((spec, ToolThere::own(name)));
        }
        let served = self.servers.as_ref()?.known(name)?;
        let there = ToolThere {
            name: name.to_owned(),
            served_as: served.served_as,
        };
        Some((served.spec, there))
    }
}

impl fmt::Debug for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stages")
            .field("project", &self.place.project_root)
            .field("people", &self.people)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for People {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("People")
            .field("here", &self.here.is_some())
            .field("elsewhere", &self.elsewhere)
            .field("no_wait", &self.no_wait)
            .finish()
    }
}
