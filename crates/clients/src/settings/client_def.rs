//! Where each client keeps its hooks and its MCP servers, and how it writes them: one row a client.

use std::path::PathBuf;

use serde_json::Value;

use super::{Scope, Site, hooks::HookForm, servers::ServerForm};
use crate::client::ClientId;

/// What `init` and `doctor` know of a client.
#[derive(Debug)]
pub(crate) struct ClientDef {
    /// The client.
    pub(crate) client: ClientId,
    /// What it is called.
    pub(crate) title: &'static str,
    /// Its programs, the one to be asked for its version first.
    pub(crate) programs: &'static [&'static str],
    /// Directories that show that it is used.
    pub(crate) signs: fn(&Site) -> Vec<PathBuf>,
    /// How it calls hooks.
    pub(crate) hooks: HooksAs,
    /// The file that holds them.
    pub(crate) hook_file: fn(&Site, Scope) -> PathBuf,
    /// How it names MCP servers.
    pub(crate) servers: ServersAs,
    /// The file that names them.
    pub(crate) server_file: fn(&Site, Scope) -> PathBuf,
    /// What is written there for the control server.
    pub(crate) server: fn(&Site, Scope) -> Value,
    /// Files of ours beside them, with their texts.
    pub(crate) files: fn(&Site, Scope) -> Vec<(PathBuf, String)>,
    /// What it does without a hook, in sentences.
    pub(crate) not_mediated: &'static [(&'static str, &'static str)],
}

/// How a client calls hooks.
#[derive(Debug)]
pub(crate) enum HooksAs {
    /// Programs named in a JSON file.
    Json(HookForm),
    /// A module of its own, loaded into the client.
    Plugin(fn(&Site) -> String),
}

/// How a client names MCP servers.
#[derive(Debug)]
pub(crate) enum ServersAs {
    /// In a JSON file.
    Json(ServerForm),
    /// In Codex's TOML file.
    Toml,
}

impl ClientDef {
    /// Returns how it writes hooks, where they are programs named in a file.
    pub(crate) fn form(&self) -> Option<&HookForm> {
        match &self.hooks {
            HooksAs::Json(form) => Some(form),
            HooksAs::Plugin(_) => None,
        }
    }

    /// Finds its program on the `PATH`.
    pub(crate) fn program(&self, site: &Site) -> Option<PathBuf> {
        self.programs
            .iter()
            .find_map(|name| site.program_named(name))
    }

    /// Tells whether it is here: its program on the `PATH`, or a directory of its settings.
    pub(crate) fn is_here(&self, site: &Site) -> bool {
        self.program(site).is_some() || (self.signs)(site).iter().any(|path| path.exists())
    }
}
