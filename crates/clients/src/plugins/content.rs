//! The contents of each client's plugin, made from what `init` writes.

use serde_json::{Map, Value, json};

use crate::{
    claude_code::plugin::CODE as CLAUDE_CODE,
    client::ClientId,
    codex::install::VARIABLES,
    opencode::PLUGIN as OPENCODE,
    registry::definition,
    settings::{Scope, Site, code, servers::gateway_words},
};

use super::{HOOKS, NAME};

/// The clients that have plugins.
pub(super) const CLIENTS: [ClientId; 5] = [
    ClientId::ClaudeCode,
    ClientId::Codex,
    ClientId::Gemini,
    ClientId::Copilot,
    ClientId::Opencode,
];

/// Files that clients themselves add to the folder of a plugin.
pub(super) const ADDED: [&str; 3] = [".gemini-extension-install.json", ".orphaned_at", ".in_use"];

/// First comment in the code of a plugin.
const CODE_MARK: &str =
    "Made from what `interlock init` writes, by `cargo xtask plugins`: change it there.";

const SKILL: &str = include_str!("../../plugins/text/skill.md");
const CONTEXT: &str = include_str!("../../plugins/text/context.md");
const COMMANDS: &str = include_str!("../../plugins/text/commands.txt");

const ABOUT: &str = "Holds the agent to a workflow: a state machine decides which tools and commands each phase allows";
/// Where the project is published, and from where the clients install its plugins.
const HOME: &str = "https://github.com/interlock-cli/interlock";
/// Package of the plugin for opencode.
pub(super) const OPENCODE_PACKAGE: &str = "@interlock-cli/opencode";
/// File of its code.
pub(super) const OPENCODE_CODE: &str = "interlock.ts";
/// File of the code for Claude Code, as named in `hooks.json`.
const CLAUDE_CODE_CODE: &str = "register.js";

/// Returns the folder of a client's plugin in the repository.
pub(super) const fn folder(client: ClientId) -> &'static str {
    match client {
        ClientId::ClaudeCode => "claude-code",
        ClientId::Codex => "codex",
        ClientId::Gemini => "gemini",
        ClientId::Copilot => "copilot",
        ClientId::Cursor => "cursor",
        ClientId::Opencode => "opencode",
    }
}

/// Returns the name of a plugin's manifest.
pub(super) const fn manifest_name(client: ClientId) -> Option<&'static str> {
    match client {
        ClientId::ClaudeCode => Some(".claude-plugin/plugin.json"),
        ClientId::Codex => Some(".codex-plugin/plugin.json"),
        ClientId::Gemini => Some("gemini-extension.json"),
        ClientId::Copilot => Some("plugin.json"),
        ClientId::Opencode => Some("package.json"),
        ClientId::Cursor => None,
    }
}

/// Returns the code of a plugin, with the name of its file.
pub(super) fn code(client: ClientId) -> Option<(&'static str, String)> {
    let server: Vec<&str> = [NAME]
        .into_iter()
        .chain(gateway().iter().copied())
        .collect();
    match client {
        ClientId::ClaudeCode => Some((
            "hooks/register.js",
            code::packaged(CLAUDE_CODE, CODE_MARK, &server),
        )),
        ClientId::Opencode => Some((OPENCODE_CODE, code::packaged(OPENCODE, CODE_MARK, &server))),
        _ => None,
    }
}

const fn gateway() -> &'static [&'static str] {
    // The plugin applies to every project, so the client asks nobody about a project's servers.
    gateway_words(Scope::User)
}

/// Returns the files of a client's plugin, with their names in its folder.
pub(super) fn files(client: ClientId, version: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, text: String| files.push((name.to_owned(), text));
    if let Some(name) = manifest_name(client) {
        add(name, document(&manifest(client, version)));
    }
    if definition(client).form().is_some() {
        add(HOOKS, document(&hooks(client)));
    }
    if let Some((name, text)) = code(client) {
        add(name, text);
    }
    match client {
        ClientId::ClaudeCode => {
            for command in commands() {
                let text = format!(
                    "---\ndescription: {}\nargument-hint: {}\n---\n\n{}",
                    command.about,
                    hint(command.name),
                    command.text("$ARGUMENTS")
                );
                add(&format!("commands/{}.md", command.name), text);
            }
        }
        ClientId::Gemini => {
            add("INTERLOCK.md", CONTEXT.to_owned());
            for command in commands() {
                let text = format!(
                    "description = {}\nprompt = \"\"\"\n{}\"\"\"\n",
                    Value::from(command.about),
                    command.text("{{args}}")
                );
                add(&format!("commands/interlock/{}.toml", command.name), text);
            }
        }
        _ => {}
    }
    if matches!(
        client,
        ClientId::ClaudeCode | ClientId::Codex | ClientId::Copilot
    ) {
        add(
            ".mcp.json",
            document(&json!({ "mcpServers": servers(client) })),
        );
        add("skills/working-under-a-workflow/SKILL.md", SKILL.to_owned());
    }
    add("README.md", readme(client));
    files
}

/// Returns the marketplaces of the repository, one for each client that has marketplaces.
pub(super) fn marketplaces(version: &str) -> Vec<(String, String)> {
    let claude_code = json!({
        "name": NAME,
        "description": ABOUT,
        "owner": { "name": "Interlock" },
        "plugins": [{
            "name": NAME, "source": "./plugins/claude-code",
            "description": ABOUT, "version": version, "category": "security",
        }],
    });
    let codex = json!({
        "name": NAME,
        "interface": { "displayName": "Interlock" },
        "plugins": [{
            "name": NAME,
            "source": { "source": "local", "path": "./plugins/codex" },
            "policy": { "installation": "AVAILABLE", "authentication": "ON_INSTALL" },
            "category": "Coding",
        }],
    });
    let copilot = json!({
        "name": NAME,
        "metadata": { "description": ABOUT, "version": version },
        "owner": { "name": "Interlock" },
        "plugins": [{
            "name": NAME, "source": "./plugins/copilot",
            "description": ABOUT, "version": version,
        }],
    });
    [
        (".claude-plugin/marketplace.json", claude_code),
        (".agents/plugins/marketplace.json", codex),
        (".github/plugin/marketplace.json", copilot),
    ]
    .map(|(name, value)| (name.to_owned(), document(&value)))
    .into()
}

/// Returns the manifest of a client's plugin.
fn manifest(client: ClientId, version: &str) -> Value {
    let mut fields = Map::new();
    let name = match client {
        ClientId::Opencode => OPENCODE_PACKAGE,
        _ => NAME,
    };
    fields.insert("name".to_owned(), name.into());
    fields.insert("version".to_owned(), version.into());
    fields.insert("description".to_owned(), ABOUT.into());
    let mut more = |value: Value| {
        if let Value::Object(more) = value {
            fields.extend(more);
        }
    };
    if client != ClientId::Gemini {
        more(json!({ "license": "Apache-2.0", "homepage": HOME }));
    }
    match client {
        ClientId::ClaudeCode => more(json!({
            "author": { "name": "Interlock" },
            "repository": HOME,
            "keywords": ["workflow", "guard", "hooks", "permissions"],
        })),
        ClientId::Codex => more(json!({
            "author": { "name": "Interlock" },
            "repository": HOME,
            "skills": "./skills/",
            "hooks": format!("./{HOOKS}"),
            "mcpServers": "./.mcp.json",
            "interface": {
                "displayName": "Interlock", "shortDescription": ABOUT,
                "developerName": "Interlock", "category": "Coding",
                "capabilities": ["Hooks", "MCP"],
            },
        })),
        ClientId::Gemini => more(json!({
            "contextFileName": "INTERLOCK.md", "mcpServers": servers(client),
        })),
        ClientId::Copilot => more(json!({
            "author": { "name": "Interlock" },
            "repository": HOME,
            "skills": ["skills/"], "hooks": HOOKS, "mcpServers": ".mcp.json",
        })),
        ClientId::Opencode => more(json!({
            "repository": { "type": "git", "url": format!("git+{HOME}.git") },
            "type": "module",
            "main": format!("./{OPENCODE_CODE}"),
            "exports": { ".": format!("./{OPENCODE_CODE}"), "./server": format!("./{OPENCODE_CODE}") },
            "files": [OPENCODE_CODE],
        })),
        ClientId::Cursor => {}
    }
    Value::Object(fields)
}

/// Returns the hooks that `init` writes, in the form of a plugin.
fn hooks(client: ClientId) -> Value {
    let site = Site::of_plugin();
    let text = definition(client)
        .form()
        .and_then(|form| form.put(None, &site).ok());
    let mut hooks: Value = text
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let settings_only = definition(client)
        .form()
        .map_or(&[][..], |form| form.settings_only);
    if let Some(Value::Object(events)) = hooks.get_mut("hooks") {
        events.retain(|event, _| !settings_only.contains(&event.as_str()));
    }
    if let (ClientId::ClaudeCode, Value::Object(fields)) = (client, &mut hooks) {
        fields.insert("description".to_owned(), ABOUT.into());
        fields.insert(
            "modules".to_owned(),
            json!([format!("./{CLAUDE_CODE_CODE}")]),
        );
    }
    hooks
}

/// Returns the control server, as `init` registers it for all projects of a person.
fn servers(client: ClientId) -> Value {
    let mut server = (definition(client).server)(&Site::of_plugin(), Scope::User);
    if let (ClientId::Codex, Value::Object(fields)) = (client, &mut server) {
        fields.insert("env_vars".to_owned(), json!(VARIABLES));
    }
    json!({ NAME: server })
}

fn document(value: &Value) -> String {
    format!("{value:#}\n")
}

/// A slash command for people.
struct Command {
    name: &'static str,
    about: &'static str,
    prompt: &'static str,
}

impl Command {
    fn text(&self, arguments: &str) -> String {
        format!("{}\n", self.prompt.trim().replace("{arguments}", arguments))
    }
}

fn hint(command: &str) -> &'static str {
    match command {
        "start" => "WORKFLOW",
        _ => "\"\"",
    }
}

/// Parses the commands: blocks separated by an empty line, each beginning with its name and a description.
fn commands() -> impl Iterator<Item = Command> {
    let blocks = COMMANDS
        .split("\n\n")
        .filter(|block| !block.starts_with('#'));
    blocks.filter_map(|block| {
        let (head, prompt) = block.split_once('\n')?;
        let (name, about) = head.split_once(": ")?;
        Some(Command {
            name,
            about,
            prompt,
        })
    })
}

/// Describes what a plugin does, how it is installed and how it is removed.
fn readme(client: ClientId) -> String {
    let title = client.title();
    let install = match client {
        ClientId::ClaudeCode => {
            "claude plugin marketplace add interlock-cli/interlock\nclaude plugin install interlock@interlock"
        }
        ClientId::Codex => {
            "codex plugin marketplace add interlock-cli/interlock\ncodex plugin add interlock@interlock"
        }
        ClientId::Gemini => "gemini extensions install PATH/plugins/gemini",
        ClientId::Copilot => {
            "copilot plugin marketplace add interlock-cli/interlock\ncopilot plugin install interlock@interlock"
        }
        ClientId::Opencode => "opencode plugin --global @interlock-cli/opencode",
        ClientId::Cursor => "",
    };
    let then = match client {
        ClientId::Codex => {
            "\nCodex runs a hook only after you have accepted it: start Codex once and accept the plugin's hooks with `/hooks`.\n"
        }
        ClientId::Gemini => {
            "\nReplace PATH with the path of a clone of the repository; Gemini CLI copies the folder.\n"
        }
        _ => "",
    };
    let uninstall = super::uninstall(client);
    let uninstall = match client {
        ClientId::Opencode => format!("To uninstall it, {uninstall}."),
        ClientId::Gemini => format!("Uninstall it with `{uninstall}`."),
        _ => {
            let program = install.split(' ').next().unwrap_or_default();
            format!(
                "Uninstall it with `{uninstall}`, and remove its marketplace with `{program} plugin marketplace remove interlock`."
            )
        }
    };
    format!(
        "# Interlock for {title}

Interlock puts a deterministic state machine between an AI coding agent and its tools: a workflow file defines the phases of the work,
what the agent may do in each, and what must hold before the work moves on. This plugin installs the hooks with which Interlock judges each
tool call, and the control server through which the agent asks for transitions. Interlock guards a session only after `interlock start`, or
if the project names a workflow; it leaves any other session alone.

The plugin calls the program `interlock`, which must be on the `PATH` of {title}. If it is missing, calls are allowed in a session that no
run can guard, and refused in any other.

```
{install}
interlock doctor
```
{then}
{uninstall}

`cargo xtask plugins` generates these files from what `interlock init` writes. Licence: Apache-2.0.
"
    )
}
