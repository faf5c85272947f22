//! What `init` knows of opencode: a plugin in place of hooks.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    Scope, Site,
    edit::MARK,
    footprint::{Footprint, HooksAs, ServersAs},
    json::Syntax,
    servers::ServerForm,
};
use crate::{client::ClientId, opencode::PLUGIN};

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

/// Stands in the plugin before the program that it calls, as JSON text.
const BEFORE: &str = "\nconst PROGRAM = ";
const SHIPPED: &str = "\"interlock\"";

/// Returns the plugin with the program to call.
pub(crate) fn plugin(site: &Site) -> String {
    let program = serde_json::Value::from(site.program.display().to_string());
    let (shipped, own) = (format!("{BEFORE}{SHIPPED}"), format!("{BEFORE}{program}"));
    format!("//{MARK}\n{}", PLUGIN.replacen(&shipped, &own, 1))
}

/// Finds the program that a plugin calls.
pub(crate) fn program_in(plugin: &str) -> Option<String> {
    let (_, rest) = plugin.split_once(BEFORE)?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    values.next()?.ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::path::Path;

    use super::{Site, plugin, program_in};

    #[test]
    fn the_plugin_calls_the_program_that_was_asked_for() {
        let here = Path::new("/p");
        let site = Site::new(here, here, Path::new("/opt/my \"tools\"/interlock"));
        let text = plugin(&site);
        assert_eq!(Path::new(&program_in(&text).unwrap()), site.program);
        assert!(!text.contains("const PROGRAM = \"interlock\""));
    }
}
