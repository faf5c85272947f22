//! What the model of a state has beside its prompt.

use indexmap::IndexMap;
use interlock_expr::template::Template;
use serde::{Deserialize, Serialize};

/// What the model of a state has beside its prompt: servers of its own, folders, values for its tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentWork {
    /// Servers that the workflow brings along for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerWork>,
    /// The datasources that it looks things up in; empty: all there are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datasources: Vec<String>,
    /// Tools of servers of the configuration: `server/tool`, or a name that one of them has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configured: Vec<String>,
    /// The integration that a tool alone gets, by the tool's name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub integrations: IndexMap<String, String>,
}

/// An MCP server that a workflow brings along. Every text may have templates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerWork {
    /// Its name.
    pub name: String,
    /// How it is started or reached.
    pub start: ServerStart,
    /// Whether each call has a fresh one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub single_usage: bool,
    /// The only tools that are taken; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tokens of one result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    /// The integration of the configuration that it alone gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integration: Option<String>,
}

/// How a server is started or reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerStart {
    /// A program, without a shell.
    Program {
        /// The program.
        command: Template,
        /// Its arguments.
        arguments: Vec<Template>,
        /// Its variables.
        env: Vec<(String, Template)>,
    },
    /// An address.
    Address {
        /// The address.
        url: Template,
        /// Headers sent along.
        headers: Vec<(String, Template)>,
        /// Sent as `Authorization: Bearer`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<Template>,
        /// Streamable HTTP, else HTTP with a stream of events beside it.
        streams: bool,
    },
    /// `[mcp_servers.ID]` of the configuration.
    Configured(String),
}
