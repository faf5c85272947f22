//! Where each client keeps its hooks and its MCP servers, and in which format: one row per client.

use std::path::PathBuf;

use serde_json::Value;

use super::{Scope, Site, hooks::HookForm, servers::ServerForm};
use crate::client::ClientId;

/// A client as `init` and `doctor` need it.
#[derive(Debug)]
pub(crate) struct ClientDef {
    /// The client.
    pub(crate) client: ClientId,
    /// Name of the client.
    pub(crate) title: &'static str,
    /// Its programs; the first is asked for its version.
    pub(crate) programs: &'static [&'static str],
    /// Directories that show that the client is used.
    pub(crate) signs: fn(&Site) -> Vec<PathBuf>,
    /// How the client calls hooks.
    pub(crate) hooks: HooksAs,
    /// File that contains the hooks.
    pub(crate) hook_file: fn(&Site, Scope) -> PathBuf,
    /// How the client lists MCP servers.
    pub(crate) servers: ServersAs,
    /// File that lists the MCP servers.
    pub(crate) server_file: fn(&Site, Scope) -> PathBuf,
    /// Entry of the control server.
    pub(crate) server: fn(&Site, Scope) -> Value,
    /// Additional files of Interlock, with their texts.
    pub(crate) files: fn(&Site, Scope) -> Vec<(PathBuf, String)>,
    /// What the client does without calling a hook, in sentences.
    pub(crate) not_mediated: &'static [(&'static str, &'static str)],
}

/// How a client calls hooks.
#[derive(Debug)]
pub(crate) enum HooksAs {
    /// Programs named in a JSON file.
    Json(HookForm),
    /// A module that is loaded into the client.
    Plugin(fn(&Site) -> String),
}

/// How a client lists MCP servers.
#[derive(Debug)]
pub(crate) enum ServersAs {
    /// In a JSON file.
    Json(ServerForm),
    /// In Codex's TOML file.
    Toml,
}

impl ClientDef {
    /// Returns the format of hooks, if they are programs named in a file.
    pub(crate) fn form(&self) -> Option<&HookForm> {
        match &self.hooks {
            HooksAs::Json(form) => Some(form),
            HooksAs::Plugin(_) => None,
        }
    }

    /// Finds the client's program on the `PATH`.
    pub(crate) fn program(&self, site: &Site) -> Option<PathBuf> {
        self.programs
            .iter()
            .find_map(|name| site.program_named(name))
    }

    /// Returns whether the client is installed: its program is on the `PATH`, or it has a settings directory.
    pub(crate) fn is_here(&self, site: &Site) -> bool {
        self.program(site).is_some() || (self.signs)(site).iter().any(|path| path.exists())
    }
}
