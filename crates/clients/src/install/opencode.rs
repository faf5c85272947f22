//! What `init` knows of opencode: a plugin in place of hooks.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    Scope, Site,
    edit::MARK,
    footprint::{Footprint, HooksAs, ServersAs},
    json::Syntax,
    servers::{ServerForm, gateway_words},
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

/// Returns the configuration file: the one that is there, of the two names it may have.
pub(super) fn server_file(site: &Site, scope: Scope) -> PathBuf {
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

/// Begins the line of the plugin that names the program to call.
const NAMES: &str = "const PROGRAM = ";

/// Returns the plugin with the program to call, in a file that `init` knows as its own.
pub(crate) fn plugin(site: &Site) -> String {
    let program = serde_json::Value::from(site.called());
    let mark = format!("//{MARK}");
    let lines = PLUGIN.lines().skip_while(|line| *line == mark);
    let lines = lines.map(|line| {
        if line.starts_with(NAMES) {
            format!("{NAMES}{program}")
        } else {
            line.to_owned()
        }
    });
    let lines: Vec<String> = std::iter::once(mark.clone()).chain(lines).collect();
    format!("{}\n", lines.join("\n"))
}

/// Finds the program that a plugin calls.
pub(crate) fn program_in(plugin: &str) -> Option<String> {
    let line = plugin.lines().find_map(|line| line.strip_prefix(NAMES))?;
    let mut values = serde_json::Deserializer::from_str(line).into_iter::<String>();
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
        // As it comes with the program, it would call whatever is on the PATH.
        assert_eq!(program_in(super::PLUGIN).as_deref(), Some("interlock"));
        assert_eq!(text.matches(super::MARK).count(), 1);
    }
}
