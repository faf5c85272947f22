//! Runs Codex: the Responses protocol, settings in TOML, and a model of its catalogue for each way of offering tools.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::process::Command;

use serde_json::{Value, json};

use crate::proposal::{Proposal, search_line};
use crate::provider::{Say, Tool, call};
use crate::room::Room;

/// The way in which Codex offers its tools, which depends on the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    /// As functions.
    Functions,
    /// As one tool that runs JavaScript, which can call the others.
    Code,
}

impl Tools {
    fn model(self) -> &'static str {
        match self {
            Tools::Functions => "gpt-5.5",
            Tools::Code => "gpt-5.6-sol",
        }
    }
}

/// A setting that suppresses questions about newer models on the first screen.
pub(super) const NO_NEWER_MODEL: &str =
    r#"notice.model_migrations={"gpt-5.5"="gpt-6-sol","gpt-5.6-sol"="gpt-6-sol"}"#;

pub(super) fn settle(room: &Room, stub: &str) -> io::Result<()> {
    let folder = room.home().join(".codex");
    fs::create_dir_all(&folder)?;
    let project = room.project();
    let project = project.to_string_lossy();
    let mut settings = String::from("check_for_update_on_startup = false\n");
    let trusted = format!(
        "\n[projects.{}]\ntrust_level = \"trusted\"\n",
        quoted(&project)
    );
    let server = format!("\n[mcp_servers.stub]\ncommand = {}\n", quoted(stub));
    settings.extend([trusted, server]);
    fs::write(folder.join("config.toml"), settings)
}

pub(super) fn arrange(
    command: &mut Command,
    tools: Tools,
    url: &str,
    (sandboxed, words): (bool, &[String]),
) {
    let provider = format!(
        "model_providers.scripted={{name=\"scripted\",base_url={},wire_api=\"responses\"}}",
        quoted(&format!("{url}/v1"))
    );
    command
        .args(["exec", "--json", "--skip-git-repo-check"])
        .args(if sandboxed {
            &["-s", "workspace-write"][..]
        } else {
            &["--dangerously-bypass-approvals-and-sandbox"]
        })
        .args(["-m", tools.model()])
        .args(["-c", &provider, "-c", "model_provider=\"scripted\""])
        .args(words)
        .arg("Do the scripted thing.");
}

/// Configures Codex, whichever program starts it, to use a model at `url`, without any approval.
pub(super) fn point(room: &Room, tools: Tools, url: &str) -> io::Result<()> {
    let path = room.home().join(".codex/config.toml");
    let before = fs::read_to_string(&path)?;
    let provider = format!(
        "model_provider = \"scripted\"\nmodel = {}\nsandbox_mode = \"danger-full-access\"\n\
         model_providers.scripted = {{ name = \"scripted\", base_url = {}, wire_api = \"responses\" }}\n",
        quoted(tools.model()),
        quoted(&format!("{url}/v1")),
    );
    fs::write(path, provider + &before)
}

/// Returns a TOML string; every JSON string is one.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

pub(super) fn say(tools: Tools, proposal: &Proposal) -> Say {
    match tools {
        Tools::Functions => function(proposal),
        Tools::Code => code(proposal),
    }
}

/// Returns a call of a function in a namespace.
fn within(space: String, name: &str, arguments: &Value) -> Say {
    Say::Call {
        name: name.to_owned(),
        arguments: arguments.to_string(),
        tool: Tool::In(space),
    }
}

/// Returns a call of a tool that takes plain text.
fn plain(name: &str, input: String) -> Say {
    Say::Call {
        name: name.to_owned(),
        arguments: input,
        tool: Tool::Text,
    }
}

/// Returns a call that starts a sub-agent, which is a function in both ways.
fn delegate(task: &str) -> Say {
    let arguments = json!({"task_name": "other", "message": task, "fork_turns": "none"});
    within("collaboration".to_owned(), "spawn_agent", &arguments)
}

fn function(proposal: &Proposal) -> Say {
    match proposal {
        Proposal::Tool {
            server,
            tool,
            arguments,
        } => within(format!("mcp__{server}"), tool, arguments),
        Proposal::Write { .. } | Proposal::Edit { .. } => plain("apply_patch", patch(proposal)),
        Proposal::Delegate { task } => delegate(task),
        Proposal::Read { .. } | Proposal::Search { .. } | Proposal::Shell { .. } => {
            call("exec_command", json!({"cmd": line(proposal)}))
        }
    }
}

fn code(proposal: &Proposal) -> Say {
    let call = match proposal {
        Proposal::Delegate { task } => return delegate(task),
        Proposal::Tool {
            server,
            tool,
            arguments,
        } => format!("mcp__{server}__{tool}({arguments})"),
        Proposal::Write { .. } | Proposal::Edit { .. } => {
            format!("apply_patch({})", quoted(&patch(proposal)))
        }
        Proposal::Read { .. } | Proposal::Search { .. } | Proposal::Shell { .. } => {
            format!("exec_command({})", json!({"cmd": line(proposal)}))
        }
    };
    plain("exec", format!("text(await tools.{call});"))
}

/// Returns the shell line for a proposal; Codex reads files by the shell.
fn line(proposal: &Proposal) -> String {
    match proposal {
        Proposal::Read { path } => format!("cat {path}"),
        Proposal::Search { word, folder } => search_line(word, folder),
        Proposal::Shell { line } => line.clone(),
        _ => String::new(),
    }
}

fn patch(proposal: &Proposal) -> String {
    let mut patch = String::from("*** Begin Patch\n");
    let mut lines = |mark: char, text: &str| {
        for line in text.lines() {
            // Writing to a string cannot fail.
            let _ = writeln!(patch, "{mark}{line}");
        }
    };
    match proposal {
        Proposal::Write { path, content } => {
            lines('*', &format!("** Add File: {path}"));
            lines('+', content);
        }
        Proposal::Edit { path, old, new } => {
            lines('*', &format!("** Update File: {path}"));
            lines('@', "@");
            lines('-', old);
            lines('+', new);
        }
        _ => {}
    }
    patch + "*** End Patch\n"
}
