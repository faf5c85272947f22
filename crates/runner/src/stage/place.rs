//! The context of a run's stages: their models, their tools, the people who are asked.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use interlock_confine::Decided;
use interlock_core::command::AvailableTool;
use interlock_facts::CallContext;
use interlock_models::ToolSpec;
use interlock_store::{Home, Messages};
use interlock_tools::{Datasource, Secrets, Tool};

use super::{channel::Channel, models::Models, servers::Servers};

/// The context in which the stages of a run work.
#[derive(Clone)]
pub struct Stages {
    /// The models.
    pub models: Arc<dyn Models>,
    /// Model of stages that name none, from `--model`.
    pub model: Option<String>,
    /// The built-in tools.
    pub tools: Vec<Tool>,
    /// Values masked in what people read: variables whose name suggests a secret.
    pub secrets: Secrets,
    /// The MCP servers.
    pub servers: Option<Arc<dyn Servers>>,
    /// Messages stored beside the log.
    pub messages: Messages,
    /// State directory, which has the person's token.
    pub home: Home,
    /// Project and protected files, with links resolved.
    pub place: CallContext,
    /// Decisions of person and project about shell lines.
    pub decided: Decided,
    /// Path of Interlock's program, which runs shell lines.
    pub program: PathBuf,
    /// People who can be asked.
    pub people: People,
    /// Folders and files besides the project that tools may use.
    pub datasources: Vec<Datasource>,
    /// Variables for single tools, by the name of the tool. They are secrets and shown in no result.
    pub variables: BTreeMap<String, Vec<(String, String)>>,
}

/// People who are asked about calls that a stage does not list.
#[derive(Clone, Default)]
pub struct People {
    /// Terminal, or another channel in this process.
    pub here: Option<Arc<dyn Channel>>,
    /// Whether answers can come from other processes, through the log.
    pub elsewhere: bool,
    /// Whether the run stops instead of waiting for them.
    pub no_wait: bool,
}

impl People {
    /// Returns whether a request leaves the run waiting until somebody answers it elsewhere.
    pub(crate) const fn stands(&self) -> bool {
        self.here.is_none() && self.elsewhere && self.no_wait
    }
}

impl Stages {
    /// Lists all tools that are available now, built-in ones first.
    pub(super) fn there(&self) -> Vec<AvailableTool> {
        let built_in = self
            .tools
            .iter()
            .map(|tool| AvailableTool::own(tool.name()));
        let servers = self.servers.iter().flat_map(|servers| servers.tools());
        let served = servers.map(|served| AvailableTool {
            name: served.spec.name,
            served_as: served.served_as,
        });
        built_in.chain(served).collect()
    }

    /// Describes the tool that a model calls by `name`; `None` if there is none.
    pub(super) fn spec(&self, name: &str) -> Option<(ToolSpec, AvailableTool)> {
        if let Some(tool) = Tool::named(&self.tools, name) {
            let spec = ToolSpec {
                name: tool.name().to_owned(),
                description: tool.description().to_owned(),
                schema: tool.schema().clone(),
            };
            return Some((spec, AvailableTool::own(name)));
        }
        let served = self.servers.as_ref()?.known(name)?;
        let there = AvailableTool {
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
