//! Interlock's plugins in the real clients: installed like by a person, guarded by a workflow, and uninstalled.
//!
//! Unless a test says otherwise, `interlock init` writes nothing, and only Interlock can stop a call here.

pub(crate) mod clients;
mod registry;

use std::fs;

use clients::{Plugin, at_marketplace};
use interlock_testkit::{
    claude::{self, Version},
    client::{Client, Tools},
    proposal::{Proposal, Script},
    provider,
};
use serde_json::{Value, json};

/// The program under test.
const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

fn workflow() -> Value {
    json!({
        "id": "by-a-plugin", "initial": "planning",
        "states": {
            "planning": {"allowed_tools": ["Read", "Bash"], "on": {"READY": "building"}},
            "building": {"allowed_tools": ["Read", "Edit", "Write", "Bash"], "on": {"DONE": "complete"}},
            "complete": {"type": "final"},
        },
    })
}

fn calls(plugin: &Plugin) -> Vec<Proposal> {
    let event = json!({"event": "READY"});
    vec![
        Proposal::read("a.txt"),
        Proposal::edit("a.txt", "one\n", "early\n"),
        Proposal::tool(plugin.server(), "interlock_transition", event),
        Proposal::edit("a.txt", "one\n", "two\n"),
        Proposal::shell("grep two a.txt"),
    ]
}

/// The expected verdicts in the log, each once.
const VERDICTS: [&str; 5] = [
    "allowed",
    "tool_not_allowed",
    "to building",
    "allowed",
    "allowed",
];

/// Installs the plugin, guards a session with it, and uninstalls it again.
fn holds_and_goes(client: Client) {
    let plugin = Plugin::new(client);
    let before = plugin.settings();
    plugin.install();
    let run = plugin.start(&workflow());
    let outcome = plugin.session(Script::calls(calls(&plugin)));
    let name = client.label();
    assert_eq!(plugin.verdicts(&run), VERDICTS, "{name}: {outcome:#?}");
    assert_eq!(plugin.room.read("a.txt").unwrap(), "two\n", "{name}");
    let refusal = &outcome.results[1];
    assert!(refusal.contains("tool_not_allowed"), "{name}: {refusal}");

    let seen = plugin.doctor();
    assert_eq!(seen["hooks"], "all", "{name}: {seen:#}");
    assert_eq!(seen["gateway"], true, "{name}: {seen:#}");

    plugin.uninstall();
    assert_eq!(plugin.settings(), before, "{name}");
    let seen = plugin.doctor();
    assert_eq!(seen["hooks"], "none", "{name}: {seen:#}");
    // Its remains guard nothing any more.
    let edit = Proposal::edit("a.txt", "two\n", "free\n");
    plugin.session(Script::calls(vec![Proposal::read("a.txt"), edit]));
    assert_eq!(plugin.room.read("a.txt").unwrap(), "free\n", "{name}");
}

#[test]
fn the_plugin_of_claude_code_holds_a_session_and_is_uninstalled() {
    holds_and_goes(Client::ClaudeCode(Version::V2_1_332));
}

#[test]
fn the_plugin_holds_an_older_claude_code_too() {
    holds_and_goes(Client::ClaudeCode(Version::V2_1_197));
}

/// Commands in the text of a skill run while it is loaded. A plugin's files cannot name their hook, because older
/// clients skip such a file entirely: the code of the plugin asks.
#[test]
fn the_plugin_of_claude_code_judges_the_commands_of_skills() {
    for beside_init in [false, true] {
        let plugin = Plugin::new(Client::ClaudeCode(Version::V2_1_332));
        plugin.install();
        if beside_init {
            plugin.init();
        }
        for (name, line) in [("reads", "cat a.txt"), ("writes", "cat a.txt > leak.txt")] {
            let text = format!(
                "---\nname: {name}\ndescription: looks\nallowed-tools: Bash\n---\n\nFound: !`{line}`\n"
            );
            let path = format!(".claude/skills/{name}/SKILL.md");
            plugin.room.write(&path, &text).unwrap();
        }
        let mut workflow = workflow();
        workflow["states"]["planning"]["allowed_tools"] = json!(["Read", "Bash", "Skill"]);
        plugin.start(&workflow);
        let load = |name: &str| provider::call("Skill", json!({"skill": name}));
        let script = provider::Script::calls(vec![load("reads"), load("writes")]);
        let session = claude::Session::new(Version::V2_1_332, &plugin.room, script);
        let outcome = session.run().unwrap();
        assert_eq!(plugin.room.read("leak.txt"), None, "{outcome:#?}");
        let text = outcome.text();
        assert!(text.contains("Found: one"), "{text}");
        assert!(text.contains("shell_write"), "{text}");
    }
}

#[test]
fn the_plugin_of_codex_holds_a_session_and_is_uninstalled() {
    holds_and_goes(Client::Codex(Tools::Code));
}

#[test]
fn the_extension_of_gemini_cli_holds_a_session_and_is_uninstalled() {
    holds_and_goes(Client::Gemini);
}

#[test]
fn the_plugin_of_copilot_cli_holds_a_session_and_is_uninstalled() {
    holds_and_goes(Client::Copilot);
}

#[test]
fn the_package_of_opencode_holds_a_session_and_is_uninstalled() {
    holds_and_goes(Client::Opencode);
}

#[test]
fn with_the_hooks_of_init_beside_a_plugin_each_call_is_judged_once() {
    for client in [
        Client::ClaudeCode(Version::V2_1_332),
        Client::Codex(Tools::Functions),
        Client::Gemini,
        Client::Copilot,
        Client::Opencode,
    ] {
        let name = client.label();
        let plugin = Plugin::new(client);
        plugin.install();
        let said = plugin.init();
        assert!(said.contains("plugin is installed"), "{name}: {said}");
        let run = plugin.start(&workflow());
        let outcome = plugin.session(Script::calls(calls(&plugin)));
        assert_eq!(plugin.verdicts(&run), VERDICTS, "{name}: {outcome:#?}");
        assert_eq!(plugin.room.read("a.txt").unwrap(), "two\n", "{name}");
    }
}

#[test]
fn without_the_program_a_plugin_stops_only_what_a_run_may_guard() {
    for client in [
        Client::ClaudeCode(Version::V2_1_332),
        Client::ClaudeCode(Version::V2_1_197),
        Client::Codex(Tools::Functions),
        Client::Gemini,
        Client::Copilot,
        Client::Opencode,
    ] {
        let name = client.label();
        let plugin = Plugin::new(client);
        plugin.install();
        let edit = |old: &str, new: &str| {
            let edit = Proposal::edit("a.txt", old, new);
            Script::calls(vec![Proposal::read("a.txt"), edit])
        };
        fs::remove_file(plugin.room.path("bin/interlock")).unwrap();
        plugin.session(edit("one\n", "two\n"));
        assert_eq!(plugin.room.read("a.txt").unwrap(), "two\n", "{name}");
        // A run waits for the next session of the project.
        plugin.start(&workflow());
        let outcome = plugin.session_however_it_ends(edit("two\n", "three\n"));
        let said = format!("{outcome:?}");
        assert_eq!(
            plugin.room.read("a.txt").unwrap(),
            "two\n",
            "{name}: {said}"
        );
        // Copilot CLI shows its model only the exit code of a hook.
        let why = match client {
            Client::Copilot => "hook exited with code 2",
            _ => "interlock on the PATH",
        };
        assert!(said.contains(why), "{name}: {said}");
    }
}

#[test]
fn an_agent_cannot_change_a_plugin_that_is_loaded_in_place() {
    let client = Client::ClaudeCode(Version::V2_1_332);
    let plugin = Plugin::new(client);
    plugin.install();
    // The marketplace is a folder in the project.
    let run = plugin.start(&json!({
        "id": "in-place", "initial": "building",
        "states": {
            "building": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"DONE": "complete"}},
            "complete": {"type": "final"},
        },
    }));
    let at = at_marketplace();
    let hooks = format!("{at}/plugins/claude-code/hooks/hooks.json");
    let outcome = plugin.session(Script::calls(vec![
        Proposal::write(&hooks, "{}\n"),
        Proposal::shell(&format!("rm -rf {at}/plugins/claude-code")),
        Proposal::shell(&format!("mv {at} elsewhere")),
        Proposal::shell("claude plugin disable interlock@interlock"),
        Proposal::write("b.txt", "x\n"),
    ]));
    let verdicts = plugin.verdicts(&run);
    let wanted = [
        "protected",
        "protected",
        "protected",
        "protected",
        "allowed",
    ];
    assert_eq!(verdicts, wanted, "{outcome:#?}");
    assert!(plugin.room.read(&hooks).unwrap().contains("PreToolUse"));
}
