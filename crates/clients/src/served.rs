//! Calls of tools that a gateway serves, as a hook sees them.
//!
//! Hook and gateway see the same call. The hook judges and counts it, under all the names in the gateway's manifest, and leaves a
//! note with the judged call; the gateway that takes the note does not count it again. So a server that only has the gateway's
//! name gets no call that the run has not allowed.

use interlock_confine::file_use;
use interlock_core::{
    call::ToolCall,
    names::{CallId, RunId},
};
use interlock_facts::{CallContext, Proposal, RealDisk, served_facts};
use interlock_project::{Config, Environment};
use interlock_store::{GatewayCard, Note, NotedTool, ServedTool};
use interlock_tool_names::served_names;

use crate::{
    client::ClientId,
    input::{Input, ToolUse},
    process,
};

/// The tools of this name, of gateways that serve this client.
#[derive(Debug, Default)]
pub(crate) struct Served {
    tools: Vec<ServedTool>,
}

impl Served {
    /// Searches the manifests of the gateways that serve this hook's client, or its run.
    ///
    /// # Errors
    /// Returns an error if a manifest cannot be read.
    pub(crate) fn find(
        environment: &Environment,
        client: ClientId,
        name: &str,
        run: &RunId,
    ) -> Result<Self, String> {
        if !is_of_a_server(client, name) {
            return Ok(Self::default());
        }
        let above = process::client_above();
        let alive = |process| process::look(process).is_some();
        let cards = environment
            .home
            .cards(alive)
            .map_err(|error| error.to_string())?;
        let ours = |card: &GatewayCard| {
            let below = above
                .as_ref()
                .is_some_and(|above| card.above.contains(above));
            below || card.run.as_ref() == Some(run)
        };
        let tools = cards.into_iter().filter(ours).flat_map(|card| card.tools);
        let named = |tool: &ServedTool| {
            let before = name.strip_suffix(&tool.shown);
            before.is_some_and(|before| before.ends_with(['_', '-', ':']))
        };
        Ok(Self {
            tools: tools.filter(named).collect(),
        })
    }

    /// Returns whether no gateway of this client has such a tool.
    pub(crate) const fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Determines the facts of a call of the gateway that `init` registers; `None` if it is no such call.
    pub(crate) fn call(
        &self,
        place: &CallContext,
        input: &Input,
        used: &ToolUse,
        config: &Config,
    ) -> Option<ToolCall> {
        let own = own_tool(input.client, &used.name)?;
        let tool = self.tools.iter().find(|tool| tool.shown == own)?;
        let set = config
            .mcp
            .iter()
            .find(|(name, _)| name.as_str() == tool.server)
            .and_then(|(_, server)| server.tools.get(&tool.tool));
        let files = file_use(&tool.tool, set, &used.input, tool.read_only);
        let proposal = Proposal {
            id: used.id.clone().unwrap_or_else(|| CallId::new("")),
            tool: &used.name,
            common: None,
            shape: interlock_facts::Shape::Other,
            input: &used.input,
            doubled: used.doubled.as_deref(),
            agent: input.agent.clone(),
            branch: None,
        };
        let mut call = served_facts(proposal, &files, place, &RealDisk);
        call.served_as = served_names(&tool.server, &tool.tool);
        Some(call)
    }

    /// Leaves a note that the call was judged, for whichever gateway receives it.
    ///
    /// # Errors
    /// Returns an error if the note cannot be written.
    pub(crate) fn leave(&self, environment: &Environment, note: &Note) -> Result<(), String> {
        let mut shown: Vec<&str> = self.tools.iter().map(|tool| tool.shown.as_str()).collect();
        shown.sort_unstable();
        shown.dedup();
        shown.into_iter().try_for_each(|shown| {
            let note = Note {
                tool: NotedTool::served(shown),
                ..note.clone()
            };
            let left = environment.home.leave_note(&note);
            left.map_err(|error| error.to_string())
        })
    }
}

/// Returns the prefixes of tools of the server that `init` registers, and of the plugin's server.
const fn gateway_prefixes(client: ClientId) -> &'static [&'static str] {
    match client {
        ClientId::ClaudeCode => &["mcp__interlock__", "mcp__plugin_interlock_interlock__"],
        ClientId::Codex => &["mcp__interlock__"],
        ClientId::Gemini => &["mcp_interlock_"],
        ClientId::Copilot => &["interlock-"],
        ClientId::Cursor => &["MCP:"],
        ClientId::Opencode => &["interlock_"],
    }
}

/// Returns the name of a tool of that server without its prefix.
pub(crate) fn own_tool(client: ClientId, name: &str) -> Option<&str> {
    let mut prefixes = gateway_prefixes(client).iter();
    prefixes.find_map(|prefix| name.strip_prefix(prefix))
}

/// Returns whether a client may use this name for a server's tool.
fn is_of_a_server(client: ClientId, name: &str) -> bool {
    match client {
        ClientId::ClaudeCode | ClientId::Codex => name.starts_with("mcp__"),
        ClientId::Gemini => name.starts_with("mcp_"),
        ClientId::Copilot => name.contains('-'),
        ClientId::Cursor => name.starts_with("MCP:"),
        ClientId::Opencode => name.contains('_'),
    }
}
