//! Claude Code: the JSON of its hooks, in and out.
//!
//! Tested with 2.1.197 and 2.1.332. A denial holds in every permission mode; an
//! `ask` reaches a person only if the client's mode prompts at all.

pub(crate) mod install;
pub(crate) mod mods;
pub(crate) mod plugin;
mod results;
pub(crate) mod rules;
mod tasks;

use std::path::{Path, PathBuf};

use interlock_core::{
    facts::ShellFacts,
    names::{AgentId, CallId},
};
use interlock_project::Environment;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, Say, cut},
    client::ClientId,
    input::{Event, HookPayload, Input, Mode, ToolUse, is_set},
    mods::Look,
    process,
    protocol::{self, Effect, Ended, Origin, Protocol, RewriteMode},
};

use interlock_store::ClientMod;
use mods::Plugins;
use plugin::SKILL_COMMAND;
use rules::{Rules, Settings};

/// Longest text a hook may add to the conversation, in characters.
const ADDED_MAX: usize = 9_500;

/// Keys of the input that affect a decision, and so must not be duplicated.
const ONCE: [&str; 7] = [
    "session_id",
    "hook_event_name",
    "tool_name",
    "cwd",
    "agent_id",
    "tool_use_id",
    "permission_mode",
];

/// Managed settings, which the administrator of the machine gives the client.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];

/// Returns the exit code of a shell line if the client's own fields state it reliably.
pub(crate) fn exit_code(used: &ToolUse, ok: bool, response: &Value) -> Option<i64> {
    results::exit_code(used, ok, response)
}

/// Claude Code.
pub(crate) struct ClaudeCode;

impl Protocol for ClaudeCode {
    fn borrower(&self, stdin: &[u8]) -> Option<ClientId> {
        HookPayload::parse(stdin, &ONCE).ok()?.borrower()
    }

    fn read(&self, stdin: &[u8], event: Option<&str>) -> Result<Input, String> {
        let told = HookPayload::parse(stdin, &ONCE)?;
        let named = told.event(event)?;
        let tool = || told.tool(Some(CallId::new(told.text("tool_use_id")?)));
        let event = match named.as_str() {
            "SessionStart" => Event::SessionStart,
            "UserPromptSubmit" => Event::Prompt,
            "PreToolUse" | SKILL_COMMAND => Event::BeforeTool(tool()?),
            plugin::EVENT => Event::Running(plugin::as_judged(tool()?, &told.text("cwd")?)),
            "PostToolUse" | "PostToolUseFailure" => Event::AfterTool {
                tool: tool()?,
                ok: named == "PostToolUse",
                response: response(&told),
            },
            "Stop" => Event::Stop {
                again: told.is_set("stop_hook_active"),
            },
            "SessionEnd" => Event::SessionEnd,
            "TaskCompleted" => Event::TaskDone {
                task: told.text("task_id")?,
            },
            "SubagentStart" => Event::SubagentStart,
            "SubagentStop" => Event::SubagentStop,
            _ => protocol::other_event(&named, &["PreToolUse", SKILL_COMMAND])?,
        };
        Ok(Input {
            client: ClientId::ClaudeCode,
            borrowed: false,
            by_plugin: false,
            session: told.text("session_id")?,
            parent: None,
            beside: None,
            directory: told.text("cwd")?,
            mode: Mode::named(told.word("permission_mode")),
            source: told.word("source").map(str::to_owned),
            transcript: None,
            plugins: Vec::new(),
            agent: told.said("agent_id")?.map(AgentId::new),
            named,
            event,
        })
    }

    fn write(&self, input: &Input, answer: &Answer) -> Value {
        let mut document = match &answer.say {
            Say::Nothing | Say::Menu(_) => json!({}),
            Say::Stop(reason) => stop(input, reason),
            Say::GoOn(reason) => json!({ "decision": "block", "reason": cut(reason, ADDED_MAX) }),
            Say::Ask(reason) if input.named == SKILL_COMMAND => {
                decision(input, "deny", &protocol::needs_a_person(reason))
            }
            Say::Deny(reason) => decision(input, "deny", reason),
            Say::Ask(reason) => decision(input, "ask", reason),
            Say::Allow(reason) => decision(input, "allow", reason),
            Say::Rewrite {
                asks,
                reason,
                input: made,
            } => {
                let word = if *asks { "ask" } else { "allow" };
                rewrite(decision(input, word, reason), made)
            }
            Say::Add(text) => json!({ "hookSpecificOutput": {
                "hookEventName": input.named,
                "additionalContext": cut(text, ADDED_MAX),
            } }),
        };
        if let (Value::Object(object), Some(text)) = (&mut document, &answer.person) {
            object.insert("systemMessage".to_owned(), cut(text, ADDED_MAX).into());
        }
        document
    }

    fn tell_person(&self, text: &str) -> Value {
        json!({ "systemMessage": cut(text, ADDED_MAX) })
    }

    fn failure_stops(&self, stdin: &[u8], event: Option<&str>) -> bool {
        protocol::stops_but_a_second_stop(stdin, event)
    }

    fn mods(&self, look: &Look<'_>) -> Vec<ClientMod> {
        let plugins = Plugins {
            settings: look.site.claude_home.clone(),
            arguments: look.arguments.to_vec(),
            directory: look.directory.to_owned(),
            added: Plugins::added_by(look.environment),
        };
        plugins.mods()
    }

    fn is_last_task(&self, environment: &Environment, input: &Input, task: &str) -> bool {
        tasks::is_last(environment, input, task)
    }

    /// The client reports that a session is a fork, but not of which session; at most the command line names it.
    fn origin(&self, input: &Input) -> Origin {
        if input.source.as_deref() != Some("fork") {
            return Origin::Itself;
        }
        resumed(&process::client_arguments()).map_or(Origin::Unknown, Origin::Session)
    }

    /// A client that runs without a person says so in its own variables.
    fn is_attended(&self, environment: &Environment, input: &Input) -> bool {
        let variable = |name: &str| environment.variable(name);
        let alone = match variable("CLAUDE_CODE_SESSION_ATTENDED").as_deref() {
            Some("0") => true,
            Some(_) => false,
            // Older versions report only their entry point: `cli`, or `sdk-cli` for `-p`.
            None => {
                variable("CLAUDE_CODE_ENTRYPOINT").is_some_and(|entry| entry.starts_with("sdk"))
            }
        };
        input.mode.asks() && !alone && input.named != SKILL_COMMAND
    }

    fn carrying(&self, _setting: &Environment, input: &Input, _project: &Path) -> RewriteMode {
        match input.named.as_str() {
            SKILL_COMMAND => RewriteMode::No,
            _ => RewriteMode::ByRules,
        }
    }

    fn about_line(
        &self,
        environment: &Environment,
        input: &Input,
        project: &Path,
        line: &ShellFacts,
    ) -> Option<Effect> {
        rules(environment, project, self.is_attended(environment, input)).about(line)
    }

    fn exit_code(&self, ended: &Ended<'_>) -> Option<i64> {
        results::exit_code(ended.used, ended.ok, ended.response)
    }

    fn result_bytes(&self, used: &ToolUse, response: &Value) -> u64 {
        results::result_bytes(&used.name, response)
    }

    fn proves(&self, used: &ToolUse) -> bool {
        used.name == "Bash" && !is_set(used.input.get("run_in_background"))
    }
}

/// Returns the session that a command line resumes, if it names one.
fn resumed(arguments: &[String]) -> Option<String> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if let Some(named) = word.strip_prefix("--resume=") {
            return Some(named.to_owned());
        }
        if word == "--resume" || word == "-r" {
            let named = words.next().filter(|named| !named.starts_with('-'));
            return named.cloned();
        }
    }
    None
}

/// Returns the result of a call, or its error.
fn response(told: &HookPayload) -> Value {
    if told.get("is_interrupt") == Some(&Value::Bool(true)) {
        return json!({ "interrupted": true });
    }
    told.get("tool_response")
        .or_else(|| told.get("error"))
        .cloned()
        .unwrap_or(Value::Null)
}

/// Ends a session before its model is called.
fn stop(input: &Input, reason: &str) -> Value {
    let reason = cut(reason, ADDED_MAX);
    let mut document = json!({ "continue": false, "stopReason": reason });
    if let (Value::Object(object), Event::Prompt) = (&mut document, &input.event) {
        object.insert("decision".to_owned(), "block".into());
        object.insert("reason".to_owned(), reason.into());
    }
    document
}

fn rewrite(mut answer: Value, input: &Value) -> Value {
    if let Some(Value::Object(said)) = answer.get_mut("hookSpecificOutput") {
        said.insert("updatedInput".to_owned(), input.clone());
    }
    answer
}

fn decision(input: &Input, word: &str, reason: &str) -> Value {
    // Input that could not be read is answered like the event before a tool call.
    let named = match input.named.as_str() {
        SKILL_COMMAND => SKILL_COMMAND,
        _ => "PreToolUse",
    };
    json!({ "hookSpecificOutput": {
        "hookEventName": named,
        "permissionDecision": word,
        "permissionDecisionReason": cut(reason, ADDED_MAX),
    } })
}

/// Returns the folder of the client's personal files.
fn own_folder(environment: &Environment) -> Option<PathBuf> {
    let directory = |name: &str| environment.variable(name).map(PathBuf::from);
    directory("CLAUDE_CONFIG_DIR").or_else(|| directory("HOME").map(|home| home.join(".claude")))
}

/// Reads the client's own rules for shell lines.
fn rules(environment: &Environment, project: &Path, attended: bool) -> Rules {
    let directory = |name: &str| environment.variable(name).map(PathBuf::from);
    let own = own_folder(environment);
    let project = directory("CLAUDE_PROJECT_DIR")
        .unwrap_or_else(|| project.to_owned())
        .join(".claude");
    let own = own.map(|own| (own.join("settings.json"), true));
    // At a client with a person, that person has been asked whether to trust the folder.
    let of_project =
        ["settings.json", "settings.local.json"].map(|name| (project.join(name), attended));
    let managed = MANAGED.map(|path| (PathBuf::from(path), true));
    let files: Vec<Settings> = own
        .into_iter()
        .chain(of_project)
        .chain(managed)
        .map(|(path, may_allow)| Settings { path, may_allow })
        .collect();
    Rules::read(&files)
}
