//! What `init` knows of opencode: a plugin in place of hooks.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    Scope, Site,
    footprint::{Footprint, HooksAs, ServersAs},
    json::Syntax,
    servers::ServerForm,
};
use crate::client::ClientId;

pub(super) static FOOTPRINT: Footprint = Footprint {
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
        Scope::Project => site.project_root.join(".opencode/plugins/interlock.ts"),
        Scope::User => site.configuration.join("opencode/plugins/interlock.ts"),
    },
    servers: ServersAs::Json(SERVERS),
    server_file,
    server: |site, _| {
        json!({
            "type": "local",
            "command": [site.program.display().to_string(), "gateway"],
            "enabled": true,
        })
    },
    not_mediated: &[(
        "a plugin that cannot be loaded guards nothing, and so does `opencode --pure`",
        "see `interlock doctor` after an update of opencode",
    )],
};

const SERVERS: ServerForm = ServerForm {
    under: "mcp",
    syntax: Syntax::Loose,
};

/// Returns the configuration file: the one that is there, of the two names it may have.
pub(super) fn server_file(site: &Site, scope: Scope) -> PathBuf {
    let directory = match scope {
        Scope::Project => site.project_root.clone(),
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

/// Stands in the plugin where the program's path goes, as JSON text.
const PROGRAM: &str = "\"interlock\" /* the program that init writes here */";

/// Returns the plugin with the program to call.
pub(crate) fn plugin(site: &Site) -> String {
    let program = serde_json::Value::from(site.program.display().to_string());
    PLUGIN.replace(PROGRAM, &program.to_string())
}

/// Finds the program that a plugin calls.
pub(crate) fn program_in(plugin: &str) -> Option<String> {
    let (before, _) = PLUGIN.split_once(PROGRAM)?;
    let rest = plugin.strip_prefix(before)?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    values.next()?.ok()
}

const PLUGIN: &str = include_str!("../../plugins/opencode.ts");
