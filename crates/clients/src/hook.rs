//! What happens between a client's hook and the engine.
//!
//! INVARIANT: in a guarded session every failure of ours is a denial: the
//! answer is either one JSON document of the client, or exit code 2.

use std::{
    ffi::OsString,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::mpsc,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use interlock_core::{
    Reply, briefing,
    call::{CallKind, CallResult, ControlTool, ToolCall},
    command::{Ask, Command, TransitionRequest},
    decide,
    machine::Object,
    notice,
    refusal::Refusal,
};
use interlock_facts::{Proposal, RealDisk, Shape, facts};
use interlock_store::{Binding, Home, Note, SessionKey};
use serde_json::Value;

use crate::{
    claude_code::{self, Event, Input, ToolUse},
    client::ClientId,
    policy, session,
    session::Guarded,
    tools::tool,
};

/// Longest that a hook takes, well inside what clients wait for.
pub const DEADLINE: Duration = Duration::from_secs(2);

/// What a hook call needs of the world.
#[derive(Debug, Clone)]
pub struct HookSetting {
    /// The state directory.
    pub home: Home,
    /// The person's configuration directory.
    pub configuration: Option<PathBuf>,
    /// This program.
    pub program: Option<PathBuf>,
    /// The environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
}

impl HookSetting {
    /// Reads what the process was started with.
    ///
    /// # Errors
    /// The state directory is not known.
    pub fn of_process() -> Result<Self, String> {
        let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let look = |name: &str| std::env::var_os(name);
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Self {
            home: Home::locate(look).map_err(|error| error.to_string())?,
            configuration: interlock_project::configuration_directory(look),
            program: std::env::current_exe().ok(),
            environment,
            at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Returns a variable of the environment that is text.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found
            .and_then(|(_, value)| value.to_str())
            .map(str::to_owned)
    }
}

/// What a hook process prints, and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    /// Exactly one JSON document, or nothing.
    pub stdout: String,
    /// One sentence, where something went wrong.
    pub stderr: String,
    /// 0, or 2: the client must stop what it is about to do.
    pub exit: u8,
}

impl HookAnswer {
    fn says(document: &Value) -> Self {
        Self {
            stdout: document.to_string(),
            stderr: String::new(),
            exit: 0,
        }
    }

    /// Stops the client, where it is about to do something; tells the person elsewhere.
    #[must_use]
    pub fn failed(why: &str, stops: bool) -> Self {
        let why = format!("interlock: {why}");
        if stops {
            return Self {
                stdout: String::new(),
                stderr: why,
                exit: 2,
            };
        }
        Self::says(&claude_code::tell_person(&why))
    }
}

/// Answers a hook: reads with `read`, decides, and never takes longer than [`DEADLINE`].
///
/// A panic, a time-out and an error end as a denial.
#[must_use]
pub fn answer(
    client: &str,
    event: Option<String>,
    read: impl FnOnce() -> std::io::Result<Vec<u8>> + Send + 'static,
) -> HookAnswer {
    if ClientId::named(client) != Some(ClientId::ClaudeCode) {
        return HookAnswer::failed(
            &format!("no client `{client}` is known; there is `claude-code`"),
            true,
        );
    }
    let (sender, receiver) = mpsc::channel();
    let worker = thread::Builder::new()
        .name("hook".to_owned())
        .spawn(move || {
            let answer = catch_unwind(AssertUnwindSafe(|| match read() {
                Ok(stdin) => answer_input(&stdin, event.as_deref()),
                Err(error) => {
                    HookAnswer::failed(&format!("the hook's input cannot be read: {error}"), true)
                }
            }));
            let panicked = |_| {
                HookAnswer::failed(
                    "a mistake in Interlock itself; nothing was let through",
                    true,
                )
            };
            // Nobody listens after the deadline.
            let _ = sender.send(answer.unwrap_or_else(panicked));
        });
    if let Err(error) = worker {
        return HookAnswer::failed(&format!("no thread can be started: {error}"), true);
    }
    receiver.recv_timeout(DEADLINE).unwrap_or_else(|_| {
        HookAnswer::failed(
            &format!(
                "no verdict within {} s; nothing was let through",
                DEADLINE.as_secs()
            ),
            true,
        )
    })
}

fn answer_input(stdin: &[u8], event: Option<&str>) -> HookAnswer {
    let answered = HookSetting::of_process().and_then(|setting| {
        claude_code::read(stdin, event).and_then(|input| respond(&setting, &input))
    });
    match answered {
        Ok(document) => HookAnswer::says(&document),
        Err(why) => HookAnswer::failed(&why, claude_code::failure_stops(stdin)),
    }
}

/// Answers one call of the hook with the client's JSON.
///
/// # Errors
/// Whatever went wrong, in one sentence.
pub fn respond(setting: &HookSetting, input: &Input) -> Result<Value, String> {
    let key = SessionKey::new(ClientId::ClaudeCode.word(), &input.session);
    let root = session::root_of(&input.directory);
    let bound = session::binding(setting, &key, &root).map_err(|error| error.to_string())?;
    // The project stays that of the session's first call.
    let root = bound
        .as_ref()
        .map_or(root, |binding| binding.project_root.clone());
    let policy = policy::workflow(&root)?;
    let begins = matches!(input.event, Event::Prompt | Event::BeforeTool(_));
    let binding = match (bound, &policy) {
        (Some(binding), _) => binding,
        (None, Some(policy)) if begins => policy::start(setting, &root, &key, policy, None)?,
        (None, _) => return Ok(claude_code::nothing()),
    };
    let mut guarded = open(setting, binding)?;
    if guarded.run.is_over() {
        match (&policy, &input.event) {
            (Some(policy), Event::Prompt) => {
                let binding = policy::start(setting, &root, &key, policy, Some(&guarded.binding))?;
                guarded = open(setting, binding)?;
            }
            (Some(_), Event::BeforeTool(tool)) => {
                return Ok(after_the_end(setting, &guarded, input, tool));
            }
            _ => return Ok(claude_code::nothing()),
        }
    }
    match &input.event {
        Event::BeforeTool(tool) => before_tool(setting, &mut guarded, input, tool),
        Event::AfterTool { tool, ok, response } => after_tool(&mut guarded, tool, *ok, response),
        Event::SessionStart => Ok(brief(&guarded, "SessionStart")),
        Event::Prompt => Ok(brief(&guarded, "UserPromptSubmit")),
        Event::SubagentStart => Ok(brief(&guarded, "SubagentStart")),
        Event::Stop => Ok(unfinished(&guarded)),
        Event::Other(_) => Ok(claude_code::nothing()),
    }
}

fn open(setting: &HookSetting, binding: Binding) -> Result<Guarded, String> {
    Guarded::open(setting, binding).map_err(|error| error.to_string())
}

fn brief(guarded: &Guarded, event: &str) -> Value {
    claude_code::add(event, &briefing(&guarded.machine, &guarded.run, None))
}

/// Says at the end of a turn what is not done yet.
fn unfinished(guarded: &Guarded) -> Value {
    let report = interlock_core::report(&guarded.machine, &guarded.run, None);
    claude_code::tell_person(&format!(
        "Interlock: run {} of `{}` is not finished: it stands in `{}` ({}).",
        guarded.id(),
        guarded.machine.id,
        report.state,
        report.status.as_str()
    ))
}

fn call_of(setting: &HookSetting, guarded: &Guarded, input: &Input, used: &ToolUse) -> ToolCall {
    let known = tool(ClientId::ClaudeCode, &used.name);
    let process = guarded.binding.process.as_ref().map(|process| process.pid);
    let disk = RealDisk;
    let surroundings = session::surroundings(
        setting,
        &guarded.binding.project_root,
        &input.directory,
        process,
    )
    .resolved(&disk);
    let proposal = Proposal {
        id: used.id.clone(),
        tool: &used.name,
        common: known.common,
        shape: known.shape,
        input: &used.input,
        doubled: used.doubled.as_deref(),
        agent: input.agent.clone(),
        branch: None,
    };
    facts(proposal, &surroundings, &disk)
}

/// Under a project policy, what is protected stays so when the run has ended.
fn after_the_end(setting: &HookSetting, guarded: &Guarded, input: &Input, used: &ToolUse) -> Value {
    let call = call_of(setting, guarded, input, used);
    match call.facts.protected {
        Some(thing) => {
            claude_code::deny(&format!("protected: {thing} is protected in this project"))
        }
        None => claude_code::nothing(),
    }
}

fn before_tool(
    setting: &HookSetting,
    guarded: &mut Guarded,
    input: &Input,
    used: &ToolUse,
) -> Result<Value, String> {
    let call = call_of(setting, guarded, input, used);
    let control = match call.kind {
        CallKind::Control(tool) => Some(tool),
        _ => None,
    };
    let decision = guarded
        .ask(Ask::Propose(Box::new(call.clone())))
        .map_err(|error| error.to_string())?;
    match decision.reply {
        Reply::Accepted | Reply::Parked { .. } => match control {
            Some(tool) => let_control_pass(setting, guarded, input, &call, tool, &used.input),
            None => Ok(claude_code::nothing()),
        },
        Reply::Ask(refusal) if input.asks_a_person => Ok(claude_code::ask(&reason(&refusal))),
        Reply::Ask(refusal) => Ok(claude_code::deny(&format!(
            "{} A person may grant this one call with `interlock approve {}`; propose it again then.",
            reason(&refusal),
            guarded.id()
        ))),
        Reply::Refused(refusal) => Ok(claude_code::deny(&reason(&refusal))),
    }
}

/// Writes a refusal as the agent reads it: the stable word, then the sentence.
fn reason(refusal: &Refusal) -> String {
    format!("{}: {}", refusal.code, refusal.message)
}

/// Leaves the note that tells the server whose call this is; asks the person where one must agree.
fn let_control_pass(
    setting: &HookSetting,
    guarded: &Guarded,
    input: &Input,
    call: &ToolCall,
    tool: ControlTool,
    arguments: &Value,
) -> Result<Value, String> {
    let question = match tool {
        ControlTool::Transition if input.asks_a_person => question(guarded, input, arguments),
        _ => None,
    };
    let note = Note {
        session: guarded.binding.session.clone(),
        run: Some(guarded.id().clone()),
        project_root: guarded.binding.project_root.clone(),
        agent: input.agent.clone(),
        process: guarded.binding.process.clone(),
        call: Some(call.id.clone()),
        tool,
        digest: interlock_facts::control_digest(arguments),
        asked: question.is_some(),
        at_ms: setting.at_ms,
    };
    setting
        .home
        .leave_note(&note)
        .map_err(|error| error.to_string())?;
    Ok(match question {
        Some(question) => claude_code::ask(&question),
        None => claude_code::allow("Interlock answers this itself"),
    })
}

/// Returns what a person has to be asked before the transition, if it would park.
fn question(guarded: &Guarded, input: &Input, arguments: &Value) -> Option<String> {
    let text = |key: &str| {
        arguments
            .get(key)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let request = TransitionRequest {
        event: text("event")?,
        data: arguments
            .get("data")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_else(Object::new),
        branch: text("branch"),
        agent: input.agent.clone(),
        by: "agent".to_owned(),
        approved_by: None,
    };
    let command = Command {
        at_ms: 0,
        ask: Ask::Transition(request),
    };
    match decide(&guarded.machine, &guarded.run, &command).reply {
        Reply::Parked { message } => Some(message),
        _ => None,
    }
}

/// Programs of which exit code 1 is no failure to the client.
const ONE_IS_NO_FAILURE: [&str; 9] = [
    "grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "find",
];

fn after_tool(
    guarded: &mut Guarded,
    used: &ToolUse,
    ok: bool,
    response: &Value,
) -> Result<Value, String> {
    let known = tool(ClientId::ClaudeCode, &used.name);
    let exit = match known.shape {
        Shape::Shell { line, .. } => {
            let line = used
                .input
                .get(line)
                .and_then(Value::as_str)
                .unwrap_or_default();
            claude_code::exit_code(used, ok, response)
                .filter(|code| *code != 0 || zero_is_sure(line))
        }
        _ => None,
    };
    let result = CallResult {
        id: Some(used.id.clone()),
        ok,
        exit,
        bytes: claude_code::result_bytes(response),
        wrote: Vec::new(),
    };
    let decision = guarded
        .ask(Ask::Record(result))
        .map_err(|error| error.to_string())?;
    let event = if ok {
        "PostToolUse"
    } else {
        "PostToolUseFailure"
    };
    let Some(notice) = notice(&guarded.machine, &guarded.run, &decision.events) else {
        return Ok(claude_code::nothing());
    };
    let now = briefing(&guarded.machine, &guarded.run, Some(&decision.path));
    Ok(claude_code::add(event, &format!("{notice}\n{now}")))
}

/// Tells whether the client's success of `line` means exit code 0.
fn zero_is_sure(line: &str) -> bool {
    let facts = interlock_shell::read(line, &interlock_shell::Setting::default());
    let plain = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    facts.commands.iter().all(|command| {
        let name = command
            .words
            .first()
            .and_then(|word| word.literal())
            .map(plain)
            .unwrap_or_default();
        !ONE_IS_NO_FAILURE.contains(&name.as_str())
    })
}
