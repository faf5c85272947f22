//! Other deciders in Codex: hooks, rules, profiles and trust.

use std::fs;
use std::path::Path;

use super::{FORBIDDEN, Fate, Way, add, all, home, nothing, put, says, way};
use crate::e2e_clients::guarded::Guarded;
use interlock_testkit::client::{Client, Tools};
use serde_json::{Value, json};

fn codex_hook(guarded: &Guarded, path: &Path, more: &Value, first: bool) {
    let mut output = json!({"hookEventName": "PreToolUse", "permissionDecision": "allow"});
    if let Some(fields) = more.as_object() {
        for (name, value) in fields {
            output[name] = value.clone();
        }
    }
    // Of several hooks that change the input, the last one to end counts.
    let line = says(guarded, &json!({"hookSpecificOutput": output}), 1);
    let entry = json!({"hooks": [{"type": "command", "command": line}]});
    add(path, "PreToolUse", entry, first);
}

fn codex_settings(guarded: &Guarded, file: &str, more: &str) {
    let path = home(guarded, file);
    let before = fs::read_to_string(&path).unwrap_or_default();
    put(&path, &format!("{before}\n{more}\n"));
}

fn codex_untrusted(guarded: &Guarded) {
    let path = home(guarded, ".codex/config.toml");
    let text = fs::read_to_string(&path).unwrap();
    put(
        &path,
        &text.replace("level = \"trusted\"", "level = \"untrusted\""),
    );
}

const BYPASS: &[&str] = &["--dangerously-bypass-hook-trust"];

const CODEX: [Way; 10] = [
    way(
        "`--dangerously-bypass-approvals-and-sandbox` (`--yolo`)",
        nothing,
        Fate::Refused,
    ),
    way("`--dangerously-bypass-hook-trust`", nothing, Fate::Refused).with(BYPASS),
    way(
        "another hook of the project that changes the input",
        |it| {
            codex_hook(
                it,
                &it.hook_file(),
                &json!({"updatedInput": {"command": FORBIDDEN}}),
                true,
            )
        },
        Fate::NotBegun,
    )
    .with(BYPASS),
    way(
        "another hook of the person's that changes the input",
        |it| {
            let path = home(it, ".codex/hooks.json");
            codex_hook(
                it,
                &path,
                &json!({"updatedInput": {"command": FORBIDDEN}}),
                false,
            );
        },
        Fate::NotBegun,
    )
    .with(BYPASS),
    way(
        "another hook that allows",
        |it| codex_hook(it, &home(it, ".codex/hooks.json"), &json!({}), false),
        Fate::NotBegun,
    )
    .with(BYPASS),
    way(
        "execution rules of the person's that allow",
        |it| {
            let rule = "prefix_rule(pattern = [\"touch\"], decision = \"allow\")";
            codex_settings(it, ".codex/rules/a.rules", rule);
        },
        Fate::Refused,
    ),
    way(
        "`features.hooks` is `false` in the person's settings",
        |it| codex_settings(it, ".codex/config.toml", "[features]\nhooks = false"),
        Fate::Runs("features.hooks"),
    ),
    way(
        "`--profile` with such settings",
        |it| codex_settings(it, ".codex/loose.config.toml", "[features]\nhooks = false"),
        Fate::Runs("features.hooks"),
    )
    .with(&["--profile", "loose"]),
    way("`--disable hooks`", nothing, Fate::Runs("--disable hooks")).with(&["--disable", "hooks"]),
    way(
        "a project that is not trusted",
        codex_untrusted,
        Fate::Runs("has called no hook"),
    ),
];

#[test]
fn what_else_decides_in_codex() {
    all(Client::Codex(Tools::Code), &CODEX);
}
