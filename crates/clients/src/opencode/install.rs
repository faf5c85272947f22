//! What `init` writes for opencode: a plugin in place of hooks.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::settings::{
    Scope, Site,
    client_def::{ClientDef, HooksAs, ServersAs},
    code,
    json::Syntax,
    servers::{ServerForm, gateway_words},
};
use crate::{client::ClientId, opencode::PLUGIN};

pub(crate) static FOOTPRINT: ClientDef = ClientDef {
    client: ClientId::Opencode,
    title: "opencode",
    programs: &["opencode"],
    signs: |site| {
        vec![
            site.project_root.join(".opencode"),
            site.project_root.join("opencode.json"),
            site.project_root.join("opencode.jsonc"),
            site.configuration.join("opencode"),
        ]
    },
    hooks: HooksAs::Plugin(plugin),
    hook_file: |site, scope| match scope {
        Scope::Project | Scope::Local => site.project_root.join(".opencode/plugins/interlock.ts"),
        Scope::User => site.configuration.join("opencode/plugins/interlock.ts"),
    },
    servers: ServersAs::Json(SERVERS),
    server_file,
    server: |site, scope| {
        let program = site.called();
        let words = gateway_words(scope).iter().map(|word| (*word).to_owned());
        let command: Vec<String> = std::iter::once(program).chain(words).collect();
        json!({
            "type": "local",
            "command": command,
            "enabled": true,
        })
    },
    files: |_, _| Vec::new(),
    not_mediated: &[
        (
            "a plugin that cannot be loaded guards nothing, and so does `opencode --pure`",
            "see `interlock doctor` after an update of opencode",
        ),
        (
            "lines behind `!`, in commands too, run unseen, also for whoever reaches `opencode serve`",
            "set `OPENCODE_SERVER_PASSWORD` where it serves",
        ),
    ],
};

const SERVERS: ServerForm = ServerForm {
    under: "mcp",
    syntax: Syntax::Loose,
};

/// Returns the configuration file: of its two possible names, the one that exists.
pub(crate) fn server_file(site: &Site, scope: Scope) -> PathBuf {
    let directory = match scope {
        Scope::Project | Scope::Local => site.project_root.clone(),
        Scope::User => site.configuration.join("opencode"),
    };
    let with_comments = directory.join("opencode.jsonc");
    if is_there(&with_comments) {
        with_comments
    } else {
        directory.join("opencode.json")
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Returns the plugin with the program to call.
pub(crate) fn plugin(site: &Site) -> String {
    code::written(PLUGIN, &site.called())
}
