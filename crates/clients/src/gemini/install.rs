//! What `init` writes for Gemini CLI.

use std::path::PathBuf;

use serde_json::json;

use crate::client::ClientId;
use crate::settings::{
    Scope, Site,
    client_def::{ClientDef, HooksAs, ServersAs},
    hooks::{DAY_S, HookForm, Member, Timeout},
    json::Syntax,
    servers::{ServerForm, gateway_words},
};

pub(crate) static FOOTPRINT: ClientDef = ClientDef {
    client: ClientId::Gemini,
    title: "Gemini CLI",
    programs: &["gemini"],
    signs: |site| vec![site.project_root.join(".gemini"), site.gemini_home.clone()],
    hooks: HooksAs::Json(HookForm {
        client: ClientId::Gemini,
        events: &[
            "BeforeTool",
            "AfterTool",
            "BeforeToolSelection",
            "BeforeAgent",
            "AfterAgent",
            "SessionStart",
        ],
        settings_only: &[],
        stopping: &["BeforeTool"],
        fails_closed: false,
        grouped: true,
        timeout: Timeout {
            name: "timeout",
            per_s: 1000,
            usual_s: 30,
            stopping_s: DAY_S,
        },
        probe: |session, directory| {
            json!({
                "session_id": session, "transcript_path": "", "cwd": directory,
                "hook_event_name": "BeforeTool", "timestamp": "2026-01-01T00:00:00.000Z",
                "tool_name": "read_file", "tool_input": { "file_path": "nothing" },
            })
        },
        line: "command",
        names_event: false,
        version: None,
        syntax: Syntax::Comments,
        members: &[
            ("name", Member::Text("interlock")),
            ("type", Member::Text("command")),
        ],
        narrowing: &[],
    }),
    hook_file: |site, scope| match scope {
        Scope::Project | Scope::Local => site.project_root.join(".gemini/settings.json"),
        Scope::User => site.gemini_home.join("settings.json"),
    },
    servers: ServersAs::Json(ServerForm {
        under: "mcpServers",
        syntax: Syntax::Comments,
    }),
    server_file: |site, scope| match scope {
        Scope::Project | Scope::Local => site.project_root.join(".gemini/settings.json"),
        Scope::User => site.gemini_home.join("settings.json"),
    },
    server: |site, scope| {
        json!({
            "command": site.called(),
            "args": gateway_words(scope),
        })
    },
    files: |_, _| Vec::new(),
    not_mediated: &[(
        "files named with `@` in a prompt are read by the client without a hook",
        "deny such reads in the client's own rules where it matters",
    )],
};

/// Returns the person's file of rules; Gemini CLI reads none from a project.
pub(crate) fn policy_file(site: &Site) -> PathBuf {
    site.gemini_home.join("policies/interlock.toml")
}
