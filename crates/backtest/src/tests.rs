//! Classes of calls and repeated steps, compared with the engine.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod classes;
mod steps;

use std::{fs, path::Path};

use interlock_core::machine::Machine;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_sessions::{Call, Ended, Format, Losses, Session};
use interlock_testkit::shipped::SHIPPED;
use serde_json::Value;

/// A workflow with rules that the shipped ones do not have; another also refuses to read secrets, see [`odd`].
const ODD: &str = r#"
id: odd
initial: reading
guards:
  reported: {evidence: {command: make test, report: {junit: out/junit.xml}}}
  tested: {evidence: {command: cargo test, directory: sub}}
  looked: {evidence: {tool: Read, path: src/a.rs}}
interrupts:
  schema: {trigger: {file_pattern: "**/schema*"}, target: checking}
states:
  reading:
    allowed_tools: [Read, Grep, Bash]
    on: {GO: writing}
  writing:
    disallowed_tools: [WebFetch]
    blocked_env: [PROD_URL]
    max_edit_lines: 3
    on: {GO: listed}
  listed:
    allowed_tools: [Read, Edit, Write, Bash]
    allowed_commands: ["make *", git commit, cargo test, cat, sed -n, env CI=1 npm test]
    background: [npm run dev]
    on: {GO: end, BACK: {target: reading, guards: [reported]}, AGAIN: {target: writing, guards: [tested, looked]}}
  checking:
    allowed_tools: [Read, Bash]
    on: {GO: {target: $return}}
  end: {type: final}
"#;

/// Makes the workflow above, with `secrets: deny` if asked to.
fn odd(secrets: bool) -> Machine {
    let text = match secrets {
        true => ODD.replace("  reading:\n", "  reading:\n    secrets: deny\n"),
        false => ODD.to_owned(),
    };
    machine("odd.yaml", text)
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn machine(name: &str, text: String) -> Machine {
    let loaded = load(&Source::new(name, text), None, &NoWorkflows);
    loaded.unwrap().machine
}

fn call(tool: &str, input: Value) -> Call {
    Call {
        id: "c".to_owned(),
        tool: tool.to_owned(),
        input,
        agent: None,
        at_ms: None,
        directory: None,
        ended: Ended::Well,
        exit: (tool == "Bash").then_some(0),
        bytes: 10,
        files: Vec::new(),
        record: None,
    }
}

fn session(calls: Vec<Call>) -> Session {
    Session {
        id: "s".to_owned(),
        source: String::new(),
        format: Format::ClaudeCode,
        client: Some("claude-code".to_owned()),
        version: None,
        directory: Some("/project".to_owned()),
        calls,
        losses: Losses::default(),
    }
}

/// Loads every shipped workflow.
fn shipped() -> Vec<(String, Machine)> {
    let load = |name: &str| {
        let path = root().join("workflows").join(name).with_extension("yaml");
        let text = fs::read_to_string(path).unwrap();
        (name.to_owned(), machine(name, text))
    };
    SHIPPED.into_iter().map(load).collect()
}
