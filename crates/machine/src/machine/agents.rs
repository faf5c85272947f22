//! What the model of a state has besides its prompt.

use indexmap::IndexMap;
use interlock_expr::template::Template;
use serde::{Deserialize, Serialize};

/// What the model of a state has besides its prompt: servers, folders, values for its tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentWork {
    /// Servers that the workflow defines for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerWork>,
    /// Datasources that it can search; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datasources: Vec<String>,
    /// Tools of configured servers: `server/tool`, or a tool name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configured: Vec<String>,
    /// Integration that only this tool gets, by the name of the tool.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub integrations: IndexMap<String, String>,
}

/// An MCP server that a workflow defines. All its texts may be templates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerWork {
    /// Name of the server.
    pub name: String,
    /// How the server is started or reached.
    pub start: ServerStart,
    /// Whether each call starts a new server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub single_usage: bool,
    /// Tools to use; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Token limit of one result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    /// Integration of the configuration that only this server gets.
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
        /// Arguments of the program.
        arguments: Vec<Template>,
        /// Environment variables of the program.
        env: Vec<(String, Template)>,
    },
    /// An address.
    Address {
        /// The address.
        url: Template,
        /// HTTP headers of each request.
        headers: Vec<(String, Template)>,
        /// Bearer token for the `Authorization` header.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<Template>,
        /// Whether the server uses streamable HTTP; otherwise HTTP with server-sent events.
        streams: bool,
    },
    /// A server from `[mcp_servers.ID]` of the configuration.
    Configured(String),
}
