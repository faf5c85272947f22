//! What `init` writes for Copilot CLI.

use serde_json::json;

use crate::client::ClientId;
use crate::settings::{
    Scope,
    client_def::{ClientDef, HooksAs, ServersAs},
    hooks::{DAY_S, HookForm, Member, Timeout},
    json::Syntax,
    servers::{ServerForm, gateway_words},
};

pub(crate) static FOOTPRINT: ClientDef = ClientDef {
    client: ClientId::Copilot,
    title: "Copilot CLI",
    programs: &["copilot"],
    signs: |site| {
        vec![
            site.project_root.join(".github/hooks"),
            site.copilot_home.clone(),
        ]
    },
    hooks: HooksAs::Json(HookForm {
        client: ClientId::Copilot,
        events: &[
            "preToolUse",
            "postToolUse",
            "postToolUseFailure",
            "userPromptSubmitted",
            "sessionStart",
            "subagentStart",
            "agentStop",
        ],
        settings_only: &[],
        stopping: &["preToolUse"],
        fails_closed: false,
        grouped: false,
        timeout: Timeout {
            name: "timeoutSec",
            per_s: 1,
            usual_s: 30,
            stopping_s: DAY_S,
        },
        // Every event has this, since the command line, not the input, names the event.
        probe: |session, directory| {
            json!({
                "sessionId": session, "timestamp": 0, "cwd": directory,
                "toolName": "view", "toolArgs": { "path": format!("{directory}/nothing") },
                "toolResult": { "resultType": "success", "textResultForLlm": "" },
                "error": "", "prompt": "", "source": "new", "initialPrompt": "",
                "agentName": "none", "agentType": "none", "stopReason": "end_turn",
            })
        },
        line: "bash",
        names_event: true,
        version: Some(1),
        syntax: Syntax::Strict,
        members: &[("type", Member::Text("command"))],
        narrowing: &[],
    }),
    hook_file: |site, scope| match scope {
        Scope::Project | Scope::Local => site.project_root.join(".github/hooks/interlock.json"),
        Scope::User => site.copilot_home.join("hooks/interlock.json"),
    },
    servers: ServersAs::Json(ServerForm {
        under: "mcpServers",
        syntax: Syntax::Strict,
    }),
    // In a project, Copilot reads the same file as Claude Code.
    server_file: |site, scope| match scope {
        Scope::Project | Scope::Local => site.project_root.join(".mcp.json"),
        Scope::User => site.copilot_home.join("mcp-config.json"),
    },
    server: |site, scope| match scope {
        Scope::Project | Scope::Local => json!({
            "command": site.called(),
            "args": gateway_words(scope),
        }),
        Scope::User => json!({
            "type": "local",
            "command": site.called(),
            "args": gateway_words(scope),
            "tools": ["*"],
        }),
    },
    files: |_, _| Vec::new(),
    not_mediated: &[(
        "a call runs when its hook takes longer than the time-out in the file",
        "leave the time-out that `init` writes",
    )],
};
