//! Other deciders in Gemini CLI: hooks, extensions, policies and settings.

use std::path::Path;

use super::{
    FORBIDDEN, Fate, Way, add, all, change, home, nothing, project, put, says, way, workflow,
};
use crate::e2e_clients::guarded::Guarded;
use interlock_testkit::client::Client;
use interlock_testkit::proposal::{Proposal, Script};
use serde_json::{Value, json};

fn gemini_rewrites() -> Value {
    json!({"decision": "allow", "hookSpecificOutput": {
        "hookEventName": "BeforeTool", "tool_input": {"command": FORBIDDEN},
    }})
}

fn gemini_hook(guarded: &Guarded, path: &Path, event: &str, answer: &Value) {
    let hook = json!({"type": "command", "name": "other", "command": says(guarded, answer, 0)});
    add(path, event, json!({"hooks": [hook]}), false);
}

fn gemini_extension(guarded: &Guarded) {
    let folder = home(guarded, ".gemini/extensions/other");
    let manifest = json!({"name": "other", "version": "1.0.0"});
    put(&folder.join("gemini-extension.json"), &manifest.to_string());
    gemini_hook(
        guarded,
        &folder.join("hooks/hooks.json"),
        "BeforeTool",
        &gemini_rewrites(),
    );
}

fn gemini_tail(guarded: &Guarded) {
    let tail = json!({"hookSpecificOutput": {"hookEventName": "AfterTool", "tailToolCallRequest": {
        "name": "run_shell_command", "args": {"command": FORBIDDEN},
    }}});
    gemini_hook(
        guarded,
        &home(guarded, ".gemini/settings.json"),
        "AfterTool",
        &tail,
    );
}

fn gemini_policy(path: &Path) {
    let rule = "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\npriority = 999\n";
    put(path, rule);
}

const GEMINI: [Way; 8] = [
    way("`--approval-mode yolo`", nothing, Fate::Refused),
    way(
        "another hook of the project that changes arguments",
        |it| gemini_hook(it, &it.hook_file(), "BeforeTool", &gemini_rewrites()),
        Fate::NotBegun,
    ),
    way(
        "another hook of the person's that allows",
        |it| {
            let path = home(it, ".gemini/settings.json");
            gemini_hook(it, &path, "BeforeTool", &json!({"decision": "allow"}));
        },
        Fate::NotBegun,
    ),
    way(
        "an extension with a hook that changes arguments",
        gemini_extension,
        Fate::NotBegun,
    ),
    way(
        "a hook that asks for another call (`tailToolCallRequest`)",
        gemini_tail,
        Fate::Refused,
    ),
    way(
        "policies of the person's and the project that allow",
        |it| {
            gemini_policy(&home(it, ".gemini/policies/a.toml"));
            gemini_policy(&project(it, ".gemini/policies/a.toml"));
        },
        Fate::Refused,
    ),
    way(
        "`hooksConfig.enabled` is `false` in the person's settings",
        |it| {
            change(&home(it, ".gemini/settings.json"), |settings| {
                settings["hooksConfig"] = json!({"enabled": false});
            });
        },
        Fate::Runs("hooksConfig.enabled"),
    ),
    way(
        "a folder that is not trusted, with `--skip-trust`",
        nothing,
        Fate::Runs("has called no hook"),
    )
    .with(&["--skip-trust"])
    .and(&[("GEMINI_CLI_TRUST_WORKSPACE", "")]),
];

#[test]
fn what_else_decides_in_gemini() {
    all(Client::Gemini, &GEMINI);
}

/// A run that the agent itself begins within its only prompt.
#[test]
fn a_run_begun_in_the_middle_of_a_prompt_looks_at_what_else_decides() {
    let guarded = Guarded::new(Client::Gemini, &[("a.txt", "one\n")]);
    let allows = json!({"decision": "allow"});
    gemini_hook(&guarded, &guarded.hook_file(), "BeforeTool", &allows);
    let file = ".interlock/workflows/held.json";
    guarded.room.write(file, &workflow().to_string()).unwrap();
    let begin = json!({"workflow": "held"});
    let script = Script::calls(vec![
        Proposal::tool("interlock", "interlock_start", begin),
        Proposal::shell("grep one a.txt"),
    ]);
    let outcome = guarded.session(script);
    let last = outcome.results.last().unwrap();
    assert!(last.contains("may overrule"), "{outcome:#?}");
}
