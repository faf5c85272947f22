//! Start options that make a client call the hooks, whatever its settings contain.
//!
//! Nothing of the person or the project is changed: flags and variables of this one start provide the hooks, with files in a
//! folder of Interlock.

use std::{fs, io, os::unix::fs::symlink, path::Path};

use serde_json::{Value, json};

use super::trust;
use crate::codex::install::VARIABLES;
use crate::registry::definition;
use crate::settings::{
    EditError, HookState, Scope, Site,
    client_def::{ClientDef, ServersAs},
    read,
    servers::SERVER,
};
use crate::{
    app_server::{self, ListedHook},
    client::ClientId,
    doctor,
    session::GUARD,
};

/// A client that is about to be started.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// Which client.
    pub client: ClientId,
    /// Program of the client.
    pub program: &'a Path,
    /// Directory in which it starts.
    pub directory: &'a Path,
    /// Variables set in addition to this process's environment.
    pub environment: &'a [(String, String)],
    /// Locations of its files.
    pub site: &'a Site,
    /// Interlock's state directory.
    pub state: &'a Path,
    /// A folder of Interlock that the client may read.
    pub folder: &'a Path,
}

/// Options with which a client is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartOptions {
    /// Arguments before all others.
    pub arguments: Vec<String>,
    /// Variables.
    pub environment: Vec<(String, String)>,
}

/// Ensures that the hooks of a client will be called, and returns the options to start it with.
///
/// # Errors
/// Returns one sentence if they would not be called, or if this cannot be determined.
pub fn start_options(start: &Start<'_>) -> Result<StartOptions, String> {
    if let Some(check) = doctor::switched_off(start.client, start.site, start.state) {
        return Err(format!("{}: {}", check.seen, check.advice));
    }
    let site = as_the_project(start);
    let start = &Start {
        site: &site,
        ..*start
    };
    match start.client {
        ClientId::ClaudeCode => claude_code(start),
        ClientId::Codex => codex(start),
        ClientId::Gemini => gemini(start),
        other => Err(format!("`{}` is not among these", other.word())),
    }
}

/// Returns the site with the program named as in the project's own hooks.
///
/// A client runs identical lines only once; different ones would both be judged and counted.
fn as_the_project(start: &Start<'_>) -> Site {
    let client = definition(start.client);
    let shared = start.site.in_scope(Scope::Project);
    let path = (client.hook_file)(start.site, Scope::Project);
    let text = read(&path).ok().flatten().unwrap_or_default();
    let settings: Value = serde_json::from_str(&text).unwrap_or_default();
    let is_there = client.form().is_some_and(|form| {
        form.events.iter().any(|event| {
            let wanted = HookState::Complete(form.command(event, &shared));
            form.state(&settings, event, &shared) == wanted
        })
    });
    if is_there { shared } else { start.site.clone() }
}

/// Returns the hooks of a client as it would find them in an empty file.
fn hooks(client: &ClientDef, site: &Site) -> Result<Value, String> {
    let form = client.form().ok_or("it has no hooks")?;
    let text = form.put(None, site).map_err(|fault| fault.reason)?;
    let hooks: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(hooks.get("hooks").cloned().unwrap_or(Value::Null))
}

fn write(start: &Start<'_>, name: &str, text: &str) -> Result<String, String> {
    let path = start.folder.join(name);
    let failed = |error| format!("`{}` cannot be written: {error}", path.display());
    fs::create_dir_all(start.folder).map_err(failed)?;
    fs::write(&path, text).map_err(failed)?;
    let shown = path.to_str().map(str::to_owned);
    shown.ok_or_else(|| format!("`{}` is not text", path.display()))
}

fn claude_code(start: &Start<'_>) -> Result<StartOptions, String> {
    let client = definition(ClientId::ClaudeCode);
    let settings = json!({ "disableAllHooks": false, "hooks": hooks(client, start.site)? });
    let settings = write(start, "claude-settings.json", &settings.to_string())?;
    let server = (client.server)(start.site, Scope::User);
    let servers = json!({ "mcpServers": { SERVER: server } });
    let servers = write(start, "claude-servers.json", &servers.to_string())?;
    Ok(StartOptions {
        // The option would otherwise take all words up to the next option; the `=` prevents that.
        arguments: vec![
            format!("--mcp-config={servers}"),
            "--settings".to_owned(),
            settings,
        ],
        environment: Vec::new(),
    })
}

/// The path that Codex reports for hooks of its own command line.
const FLAGS: &str = "/<session-flags>/config.toml";

fn codex(start: &Start<'_>) -> Result<StartOptions, String> {
    let client = definition(ClientId::Codex);
    let mut flags = vec![("features.hooks".to_owned(), json!(true))];
    let mut server = (client.server)(start.site, Scope::User);
    if let Value::Object(server) = &mut server {
        let [state, configuration] = VARIABLES;
        server.insert("env_vars".to_owned(), json!([state, configuration, GUARD]));
        server.insert("default_tools_approval_mode".to_owned(), json!("approve"));
    }
    flags.push((format!("mcp_servers.{SERVER}"), server));
    if !codex_asks_already(start, client, &flags)? {
        flags = codex_hooks(start, client, flags)?;
    }
    Ok(StartOptions {
        arguments: arguments(&flags),
        environment: Vec::new(),
    })
}

/// Returns whether the same hooks are in a file of the project or the person, and would run.
///
/// Codex would call both, and a call would be counted twice.
fn codex_asks_already(
    start: &Start<'_>,
    client: &ClientDef,
    flags: &[(String, Value)],
) -> Result<bool, String> {
    let (site, Some(form)) = (start.site, client.form()) else {
        return Ok(false);
    };
    let mut keys = Vec::new();
    for scope in [Scope::Project, Scope::User] {
        let path = (client.hook_file)(site, scope);
        let text = read(&path).ok().flatten().unwrap_or_default();
        let settings: Value = serde_json::from_str(&text).unwrap_or_default();
        let same = |event: &str| {
            let wanted = HookState::Complete(form.command(event, site));
            form.state(&settings, event, site) == wanted
        };
        if form.events.iter().all(|event| same(event)) {
            keys.push(trust::keys(&text, &path, site));
        }
    }
    if keys.is_empty() {
        return Ok(false);
    }
    let listed = asked(start, flags)?;
    let runs = |key: &String| {
        listed
            .iter()
            .any(|hook| hook.key == *key && would_run(hook))
    };
    Ok(keys.iter().any(|keys| keys.iter().all(runs)))
}

fn would_run(hook: &ListedHook) -> bool {
    hook.enabled && matches!(hook.trust.as_str(), "trusted" | "managed")
}

/// Adds the hooks to the command line, with the hashes under which Codex trusts them.
fn codex_hooks(
    start: &Start<'_>,
    client: &ClientDef,
    mut flags: Vec<(String, Value)>,
) -> Result<Vec<(String, Value)>, String> {
    let hooks = hooks(client, start.site)?;
    let events = hooks.as_object().into_iter().flatten();
    let before = flags.len();
    flags.extend(events.map(|(event, groups)| (format!("hooks.{event}"), groups.clone())));
    let count = flags.len() - before;
    let of_flags = |hook: &ListedHook| hook.key.starts_with(FLAGS);
    let mut ours = asked(start, &flags)?;
    ours.retain(of_flags);
    if ours.len() != count {
        return Err(format!(
            "Codex lists {} of the {count} hooks: use a newer version",
            ours.len()
        ));
    }
    let trust = ours
        .into_iter()
        .map(|hook| (hook.key, json!({ "trusted_hash": hook.hash })));
    flags.push(("hooks.state".to_owned(), Value::Object(trust.collect())));
    let listed = asked(start, &flags)?;
    match listed
        .iter()
        .find(|hook| of_flags(hook) && !would_run(hook))
    {
        None => Ok(flags),
        Some(hook) => Err(format!(
            "Codex would skip the hook `{}`: see `/hooks` in Codex, and who manages this machine",
            hook.key
        )),
    }
}

/// Asks Codex for its hooks, with settings on its command line.
fn asked(start: &Start<'_>, flags: &[(String, Value)]) -> Result<Vec<ListedHook>, String> {
    let asked = app_server::ServerQuery {
        directory: start.directory,
        arguments: &arguments(flags),
        environment: start.environment,
    };
    app_server::listed_hooks(start.program, &asked)
        .map_err(|why| format!("Codex does not say which hooks it would run: {why}"))
}

/// Formats settings as arguments of Codex.
fn arguments(flags: &[(String, Value)]) -> Vec<String> {
    flags
        .iter()
        .flat_map(|(key, value)| ["-c".to_owned(), format!("{key}={}", inline(value))])
        .collect()
}

/// Formats a value as TOML on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| format!("{}={}", Value::from(key.as_str()), inline(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(","))
        }
        // JSON and TOML strings differ in one character only.
        other => other.to_string().replace('\u{7f}', "\\u007F"),
    }
}

/// Variable that puts Gemini CLI's own directory below another home.
const GEMINI_HOME: &str = "GEMINI_CLI_HOME";

/// Creates a home for Gemini CLI that is like the person's except for the hooks.
///
/// Gemini CLI accepts no settings on its command line, and reads system settings only from paths of root.
fn gemini(start: &Start<'_>) -> Result<StartOptions, String> {
    let client = definition(ClientId::Gemini);
    let own = &start.site.gemini_home;
    let settings = own.join(SETTINGS);
    let before = read(&settings).map_err(|error| error.to_string())?;
    let text = gemini_settings(client, before.as_deref(), start.site)
        .map_err(|fault| fault.said(&settings))?;
    let home = start.folder.join("gemini");
    let directory = home.join(".gemini");
    let failed = |error| format!("`{}` cannot be made: {error}", directory.display());
    match fs::remove_dir_all(&home) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::create_dir_all(&directory).map_err(failed)?;
    link_all(own, &directory, &[SETTINGS, POLICIES]).map_err(failed)?;
    fs::write(directory.join(SETTINGS), text).map_err(failed)?;
    let policies = directory.join(POLICIES);
    fs::create_dir(&policies).map_err(failed)?;
    link_all(&own.join(POLICIES), &policies, &[POLICY]).map_err(failed)?;
    fs::write(policies.join(POLICY), CONTROL_TOOLS).map_err(failed)?;
    let home = home.to_str().map(str::to_owned);
    let home = home.ok_or("the state directory has a path that is not text")?;
    Ok(StartOptions {
        arguments: Vec::new(),
        environment: vec![(GEMINI_HOME.to_owned(), home)],
    })
}

const SETTINGS: &str = "settings.json";
const POLICIES: &str = "policies";
const POLICY: &str = "interlock-step.toml";
/// Rules that allow the control tools without a prompt: their hook has judged the call, and nobody can be asked.
const CONTROL_TOOLS: &str = "[[rule]]
mcpName = \"interlock\"
toolName = \"*\"
decision = \"allow\"
priority = 899
";

/// Creates links in `to` for everything in `from` except these names.
fn link_all(from: &Path, to: &Path, without: &[&str]) -> io::Result<()> {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if without.iter().all(|left_out| name != *left_out) {
            symlink(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

/// Adds hooks and control server to the person's settings.
fn gemini_settings(
    client: &ClientDef,
    before: Option<&str>,
    site: &Site,
) -> Result<String, EditError> {
    let mut text = before.map(str::to_owned);
    if let Some(form) = client.form() {
        text = Some(form.put(text.as_deref(), site)?);
    }
    if let ServersAs::Json(form) = &client.servers {
        let server = (client.server)(site, Scope::User);
        text = Some(form.put(text.as_deref(), &server)?);
    }
    Ok(text.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use serde_json::{Value, json};

    use super::inline;

    #[test]
    fn a_value_on_one_line_is_read_back_by_toml() {
        let value = json!({
            "a b": ["x", "it's \"so\" \\ \n", 1, true],
            "c": {"d/e:0": {"f": "\u{7f}\u{1}"}},
        });
        let document: toml_edit::DocumentMut = format!("x = {}", inline(&value)).parse().unwrap();
        let table = document.get("x").and_then(|item| item.as_inline_table());
        let read = table.unwrap();
        let list = read.get("a b").unwrap().as_array().unwrap();
        let second = list.get(1).unwrap().as_str().unwrap();
        assert_eq!(
            Value::from(second),
            value.pointer("/a b/1").unwrap().clone()
        );
        let inner = read.get("c").unwrap().as_inline_table().unwrap();
        let inner = inner.get("d/e:0").unwrap().as_inline_table().unwrap();
        assert_eq!(inner.get("f").unwrap().as_str(), Some("\u{7f}\u{1}"));
    }
}
