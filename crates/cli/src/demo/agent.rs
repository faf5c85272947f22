//! The demo's scripted agent: it does what a client does around each tool call, with the real hook and the real server.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Value, json};

/// Session of every hook call of the demo.
const SESSION: &str = "demo-session";
/// Prefix of the server's tools in the client.
const SERVER: &str = "mcp__interlock__";

/// A hook's answer to a tool call.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The call may run.
    Allow,
    /// The call may not run, with the reason.
    Deny(String),
}

/// An agent with a script in place of a model.
#[derive(Debug)]
pub(crate) struct Agent {
    program: PathBuf,
    root: PathBuf,
    home: PathBuf,
    server: Server,
    calls: u32,
}

impl Agent {
    /// Starts the control server, as a client does at the start of a session.
    pub(crate) fn start(program: PathBuf, root: PathBuf, home: PathBuf) -> anyhow::Result<Self> {
        let server = Server::start(&program, &root, &home)?;
        let agent = Self {
            program,
            root,
            home,
            server,
            calls: 0,
        };
        agent.hook(&json!({ "hook_event_name": "SessionStart", "source": "startup" }))?;
        Ok(agent)
    }

    /// Sends a person's prompt; returns what Interlock adds to it.
    pub(crate) fn prompt(&mut self, text: &str) -> anyhow::Result<String> {
        let answer =
            self.hook(&json!({ "hook_event_name": "UserPromptSubmit", "prompt": text }))?;
        let added = answer
            .pointer("/hookSpecificOutput/additionalContext")
            .and_then(Value::as_str);
        Ok(added.unwrap_or_default().to_owned())
    }

    /// Proposes a tool call.
    pub(crate) fn propose(&mut self, tool: &str, input: &Value) -> anyhow::Result<Verdict> {
        self.calls += 1;
        let answer = self.hook(&json!({
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": self.id(),
        }))?;
        let get = |key: &str| {
            answer
                .pointer(&format!("/hookSpecificOutput/{key}"))
                .and_then(Value::as_str)
        };
        match get("permissionDecision") {
            Some("deny" | "ask") => Ok(Verdict::Deny(
                get("permissionDecisionReason")
                    .unwrap_or_default()
                    .to_owned(),
            )),
            _ => Ok(Verdict::Allow),
        }
    }

    /// Reports how an allowed call ended.
    pub(crate) fn ended(
        &mut self,
        tool: &str,
        input: &Value,
        ok: bool,
        response: &Value,
    ) -> anyhow::Result<()> {
        let event = if ok {
            "PostToolUse"
        } else {
            "PostToolUseFailure"
        };
        self.hook(&json!({
            "hook_event_name": event, "tool_name": tool, "tool_input": input,
            "tool_use_id": self.id(), "tool_response": response,
        }))?;
        Ok(())
    }

    /// Requests a transition through the server; `Err` in the result is a refusal.
    pub(crate) fn transition(
        &mut self,
        event: &str,
        data: &Value,
    ) -> anyhow::Result<Result<String, String>> {
        let input = json!({ "event": event, "data": data });
        let tool = format!("{SERVER}interlock_transition");
        if let Verdict::Deny(reason) = self.propose(&tool, &input)? {
            return Ok(Err(reason));
        }
        let result = self.server.call("interlock_transition", &input)?;
        let text = result
            .pointer("/content/0/text")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let refused = result.get("isError") == Some(&Value::Bool(true));
        self.ended(&tool, &input, !refused, &result)?;
        Ok(if refused { Err(text) } else { Ok(text) })
    }

    fn id(&self) -> String {
        format!("toolu_demo_{}", self.calls)
    }

    fn hook(&self, event: &Value) -> anyhow::Result<Value> {
        let mut input = json!({
            "session_id": SESSION, "cwd": self.root, "permission_mode": "bypassPermissions",
            "transcript_path": self.home.join("transcript.jsonl"),
        });
        for (key, value) in event.as_object().into_iter().flatten() {
            if let Some(input) = input.as_object_mut() {
                input.insert(key.clone(), value.clone());
            }
        }
        let mut child = confined(&self.program, &self.root, &self.home)
            .args(["hook", "claude-code"])
            .stderr(Stdio::piped())
            .spawn()
            .context("the hook cannot be started")?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.to_string().as_bytes())?;
        }
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!(
                "the hook failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        serde_json::from_slice(&output.stdout).context("the hook's answer is not JSON")
    }
}

/// The control server, as a client talks to it.
#[derive(Debug)]
struct Server {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    requests: u32,
}

impl Server {
    fn start(program: &PathBuf, root: &PathBuf, home: &PathBuf) -> anyhow::Result<Self> {
        let mut process = confined(program, root, home)
            .arg("gateway")
            .stderr(Stdio::null())
            .spawn()
            .context("the control server cannot be started")?;
        let to = process.stdin.take().context("the server has no input")?;
        let from = BufReader::new(process.stdout.take().context("the server has no output")?);
        let mut server = Self {
            process,
            to,
            from,
            requests: 0,
        };
        server.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "interlock demo", "version": env!("CARGO_PKG_VERSION") },
            }),
        )?;
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(server)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<Value> {
        self.request(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        )
    }

    fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line)? == 0 {
                bail!("the control server ended");
            }
            let message: Value =
                serde_json::from_str(&line).context("the server's answer is not JSON")?;
            if message.get("id") != Some(&json!(id)) {
                continue;
            }
            return match message.get("result") {
                Some(result) => Ok(result.clone()),
                None => Err(anyhow!("the server refused `{method}`: {message}")),
            };
        }
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        writeln!(self.to, "{message}")?;
        Ok(self.to.flush()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input would end it, too; this also ends one that hangs.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Prepares a call of this program with the demo's own directories.
fn confined(program: &PathBuf, root: &PathBuf, home: &PathBuf) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(root)
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env_remove("INTERLOCK_TOKEN")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}
