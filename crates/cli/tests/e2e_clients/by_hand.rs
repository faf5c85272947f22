//! Hooks and the control server as `interlock init` writes them.
#![expect(clippy::unwrap_used, reason = "a test may end at the first surprise")]

use std::fs;

use interlock_testkit::client::Client;
use interlock_testkit::interlock::Interlock;
use interlock_testkit::room::Room;
use serde_json::{Map, Value, json};

use super::guarded::INTERLOCK;

/// The line that refuses whenever the hook does not answer.
fn line(client: &str, event: &str) -> String {
    format!(
        "o=$('{INTERLOCK}' hook {client} {event}) && case $o in '{{'*'}}') printf '%s\\n' \"$o\" ;; *) false ;; esac \
         || {{ echo 'interlock: the hook failed, so the call is refused' >&2; exit 2; }}"
    )
}

/// Writes the hooks of `client` and names the control server in its settings.
pub(crate) fn install(client: Client, room: &Room) {
    match client {
        Client::ClaudeCode(_) => Interlock::new(INTERLOCK, room).init().unwrap(),
        Client::Codex(_) => codex(room),
        Client::Gemini => gemini(room),
        Client::Copilot => copilot(room),
        Client::Opencode => opencode(room),
    }
}

/// Arguments of a session in which the hooks count.
pub(crate) fn arguments(client: Client) -> &'static [&'static str] {
    match client {
        Client::Codex(_) => &["--dangerously-bypass-hook-trust"],
        _ => &[],
    }
}

fn hooks(events: &[&str], hook: impl Fn(&str) -> Value) -> Value {
    let hooks = events
        .iter()
        .map(|event| ((*event).to_owned(), hook(event)));
    Value::Object(hooks.collect::<Map<_, _>>())
}

fn codex(room: &Room) {
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "SubagentStart",
        "Stop",
    ];
    let hook = |_: &str| {
        let line = line("codex", "");
        json!([{"hooks": [{"type": "command", "command": line, "timeout": 60}]}])
    };
    let hooks = json!({"hooks": hooks(&events, hook)});
    room.write(".codex/hooks.json", &hooks.to_string()).unwrap();
    let settings = room.home().join(".codex/config.toml");
    let mut text = fs::read_to_string(&settings).unwrap();
    text += &format!(
        "\n[mcp_servers.interlock]\ncommand = {}\nargs = [\"gateway\"]\nenv_vars = [\"XDG_STATE_HOME\", \"XDG_CONFIG_HOME\"]\n",
        json!(INTERLOCK)
    );
    fs::write(settings, text).unwrap();
}

fn gemini(room: &Room) {
    let events = [
        "SessionStart",
        "BeforeAgent",
        "BeforeToolSelection",
        "BeforeTool",
        "AfterTool",
        "AfterAgent",
    ];
    let hook = |_: &str| {
        let line = line("gemini", "");
        json!([{"hooks": [{"type": "command", "command": line, "timeout": 60_000}]}])
    };
    let server = json!({"interlock": {"command": INTERLOCK, "args": ["gateway"]}});
    let settings = json!({"hooks": hooks(&events, hook), "mcpServers": server});
    room.write(".gemini/settings.json", &settings.to_string())
        .unwrap();
}

fn copilot(room: &Room) {
    let events = [
        "sessionStart",
        "userPromptSubmitted",
        "preToolUse",
        "postToolUse",
        "postToolUseFailure",
        "subagentStart",
        "agentStop",
    ];
    let hook = |event: &str| {
        let line = line("copilot", event);
        json!([{"type": "command", "bash": line, "timeoutSec": 60}])
    };
    let hooks = json!({"version": 1, "hooks": hooks(&events, hook)});
    room.write(".github/hooks/interlock.json", &hooks.to_string())
        .unwrap();
    let settings = room.home().join(".copilot/mcp-config.json");
    let text = fs::read_to_string(&settings).unwrap();
    let mut servers: Value = serde_json::from_str(&text).unwrap();
    if let Some(all) = servers
        .pointer_mut("/mcpServers")
        .and_then(Value::as_object_mut)
    {
        let server =
            json!({"type": "local", "command": INTERLOCK, "args": ["gateway"], "tools": ["*"]});
        all.insert("interlock".to_owned(), server);
    }
    fs::write(settings, servers.to_string()).unwrap();
}

fn opencode(room: &Room) {
    let plugin = include_str!("../../../clients/plugins/opencode.ts");
    let plugin = plugin.replace("\"interlock\"", &json!(INTERLOCK).to_string());
    room.write(".opencode/plugins/interlock.ts", &plugin)
        .unwrap();
    let text = room.read("opencode.json").unwrap();
    let mut settings: Value = serde_json::from_str(&text).unwrap();
    if let Some(all) = settings.pointer_mut("/mcp").and_then(Value::as_object_mut) {
        let server = json!({"type": "local", "command": [INTERLOCK, "gateway"], "enabled": true});
        all.insert("interlock".to_owned(), server);
    }
    room.write("opencode.json", &settings.to_string()).unwrap();
}
