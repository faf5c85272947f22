//! What `init` writes for Claude Code.

use std::path::PathBuf;

use serde_json::json;

use crate::settings::{
    Scope, Site,
    client_def::{ClientDef, HooksAs, ServersAs},
    hooks::{DAY_S, HookForm, Member, Timeout},
    json::Syntax,
    servers::{ServerForm, gateway_words},
};
use crate::{
    claude_code::plugin::{self, SKILL_COMMAND},
    client::ClientId,
};

pub(crate) static FOOTPRINT: ClientDef = ClientDef {
    client: ClientId::ClaudeCode,
    title: "Claude Code",
    programs: &["claude"],
    signs: |site| vec![site.project_root.join(".claude"), site.claude_home.clone()],
    hooks: HooksAs::Json(HookForm {
        client: ClientId::ClaudeCode,
        events: &[
            "PreToolUse",
            SKILL_COMMAND,
            "PostToolUse",
            "PostToolUseFailure",
            "UserPromptSubmit",
            "SessionStart",
            "Stop",
            "TaskCompleted",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
        ],
        settings_only: &[SKILL_COMMAND],
        stopping: &["PreToolUse", SKILL_COMMAND],
        fails_closed: true,
        grouped: true,
        timeout: Timeout {
            name: "timeout",
            per_s: 1,
            usual_s: 10,
            stopping_s: DAY_S,
        },
        probe: |session, directory| {
            json!({
                "session_id": session, "cwd": directory, "hook_event_name": "PreToolUse",
                "permission_mode": "default", "tool_name": "Read", "tool_use_id": session,
                "tool_input": { "file_path": format!("{directory}/nothing") },
            })
        },
        line: "command",
        names_event: false,
        version: None,
        syntax: Syntax::Strict,
        members: &[
            ("type", Member::Text("command")),
            ("onFailure", Member::Must("block")),
        ],
        narrowing: &["async", "once", "if"],
    }),
    hook_file: |site, scope| match scope {
        Scope::Project => site.project_root.join(".claude/settings.json"),
        Scope::Local => site.project_root.join(".claude/settings.local.json"),
        Scope::User => site.claude_home.join("settings.json"),
    },
    servers: ServersAs::Json(ServerForm {
        under: "mcpServers",
        syntax: Syntax::Strict,
    }),
    server_file: |site, scope| match scope {
        Scope::Project | Scope::Local => site.project_root.join(".mcp.json"),
        // The file is next to the directory, unless the person has moved the directory.
        Scope::User if site.claude_home == site.home.join(".claude") => {
            site.home.join(".claude.json")
        }
        Scope::User => site.claude_home.join(".claude.json"),
    },
    // `alwaysLoad`: newer clients list a server's tools at once, not only when they are searched for.
    server: |site, scope| {
        json!({
            "command": site.called(),
            "args": gateway_words(scope),
            "alwaysLoad": true,
        })
    },
    files: |site, scope| {
        let folder = plugin_folder(site, scope);
        let files = plugin::files(&site.called()).into_iter();
        files
            .map(|(name, text)| (folder.join(name), text))
            .collect()
    },
    not_mediated: &[(
        "files named with `@` in a prompt are read by the client without a hook",
        "deny such reads in the client's own rules where it matters",
    )],
};

/// Returns the folder of Interlock's own plugin, where the client finds it without any setting.
pub(crate) fn plugin_folder(site: &Site, scope: Scope) -> PathBuf {
    let settings = match scope {
        Scope::Project | Scope::Local => site.project_root.join(".claude"),
        Scope::User => site.claude_home.clone(),
    };
    settings.join("skills/interlock")
}
