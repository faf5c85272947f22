//! What `init` writes for Cursor, according to its documentation; not tested with the program.

use serde_json::json;

use crate::client::ClientId;
use crate::settings::{
    Scope,
    client_def::{ClientDef, HooksAs, ServersAs},
    hooks::{HookForm, Member, Timeout},
    json::Syntax,
    servers::{ServerForm, gateway_words},
};

pub(crate) static FOOTPRINT: ClientDef = ClientDef {
    client: ClientId::Cursor,
    title: "Cursor",
    programs: &["cursor-agent", "cursor"],
    signs: |site| vec![site.project_root.join(".cursor"), site.home.join(".cursor")],
    hooks: HooksAs::Json(HookForm {
        client: ClientId::Cursor,
        events: &[
            "preToolUse",
            "postToolUse",
            "postToolUseFailure",
            "beforeShellExecution",
            "afterShellExecution",
            "beforeMCPExecution",
            "afterMCPExecution",
            "beforeReadFile",
            "afterFileEdit",
            "beforeSubmitPrompt",
            "sessionStart",
            "subagentStart",
            "subagentStop",
            "stop",
        ],
        settings_only: &[],
        stopping: &[],
        fails_closed: true,
        grouped: false,
        timeout: Timeout {
            name: "timeout",
            per_s: 1,
            usual_s: 30,
            stopping_s: 30,
        },
        probe: |session, directory| {
            json!({
                "conversation_id": session, "generation_id": session, "model": "none",
                "hook_event_name": "preToolUse", "cursor_version": "0",
                "workspace_roots": [directory], "user_email": null, "transcript_path": null,
                "cwd": directory, "tool_name": "Read", "tool_use_id": session,
                "tool_input": { "file_path": format!("{directory}/nothing") },
            })
        },
        line: "command",
        names_event: false,
        version: Some(1),
        syntax: Syntax::Comments,
        members: &[("failClosed", Member::MustBeTrue)],
        narrowing: &[],
    }),
    hook_file: |site, scope| match scope {
        Scope::Project | Scope::Local => site.project_root.join(".cursor/hooks.json"),
        Scope::User => site.home.join(".cursor/hooks.json"),
    },
    servers: ServersAs::Json(ServerForm {
        under: "mcpServers",
        syntax: Syntax::Comments,
    }),
    server_file: |site, scope| match scope {
        Scope::Project | Scope::Local => site.project_root.join(".cursor/mcp.json"),
        Scope::User => site.home.join(".cursor/mcp.json"),
    },
    server: |site, scope| {
        json!({
            "command": site.called(),
            "args": gateway_words(scope),
        })
    },
    files: |_, _| Vec::new(),
    not_mediated: &[
        (
            "what a person types into a terminal of the editor, and completions while typing",
            "",
        ),
        (
            "Cursor also runs Claude Code's hooks where they are switched on: such a call is judged twice",
            "",
        ),
    ],
};
