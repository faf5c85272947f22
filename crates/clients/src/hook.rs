//! What happens between a client's hook and the engine.
//!
//! INVARIANT: in a guarded session every failure of ours is a denial: the
//! answer is either one JSON document of the client, or exit code 2.

use std::{
    ffi::OsString,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use interlock_core::{briefing, call::CallResult, command::Ask, event::Event as RunEvent, notice};
use interlock_facts::{RealDisk, Shape};
use interlock_store::{Binding, Home, SessionKey};
use serde_json::Value;

use crate::{
    claude_code::{self, Event, Input, ToolUse},
    client::ClientId,
    failed, judge, policy, session,
    session::Guarded,
    tools::tool,
    watch,
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
/// After that `too_late` is given the answer instead, while this still waits; it
/// is to end the process. A panic, a time-out and an error end as a denial.
#[must_use]
pub fn answer(
    client: &str,
    event: Option<&str>,
    read: impl FnOnce() -> std::io::Result<Vec<u8>>,
    too_late: impl FnOnce(HookAnswer) + Send + 'static,
) -> HookAnswer {
    if ClientId::named(client) != Some(ClientId::ClaudeCode) {
        return HookAnswer::failed(
            &format!("no client `{client}` is known; there is `claude-code`"),
            true,
        );
    }
    // The work stays in the first thread: another one's memory would be set up anew for each call.
    let watch = match Watch::begin(too_late) {
        Ok(watch) => watch,
        Err(error) => {
            return HookAnswer::failed(&format!("no thread can be started: {error}"), true);
        }
    };
    let answer = catch_unwind(AssertUnwindSafe(|| match read() {
        Ok(stdin) => answer_input(&stdin, event),
        Err(error) => {
            HookAnswer::failed(&format!("the hook's input cannot be read: {error}"), true)
        }
    }));
    watch.end();
    answer.unwrap_or_else(|_| {
        HookAnswer::failed(
            "a mistake in Interlock itself; nothing was let through",
            true,
        )
    })
}

/// A thread that answers when the deadline has passed.
struct Watch {
    answered: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl Watch {
    fn begin(too_late: impl FnOnce(HookAnswer) + Send + 'static) -> std::io::Result<Self> {
        let answered = Arc::new(AtomicBool::new(false));
        let known = Arc::clone(&answered);
        let watch = move || {
            thread::sleep(DEADLINE);
            if !known.swap(true, Ordering::SeqCst) {
                too_late(HookAnswer::failed(
                    &format!(
                        "no verdict within {} s; nothing was let through",
                        DEADLINE.as_secs()
                    ),
                    true,
                ));
            }
        };
        let named = thread::Builder::new().name("deadline".to_owned());
        named.spawn(watch).map(|thread| Self { answered, thread })
    }

    /// Returns when it is sure that the thread has not answered, and will not.
    fn end(self) {
        // Too late: the thread is about to end the process.
        if self.answered.swap(true, Ordering::SeqCst) {
            let _ = self.thread.join();
        }
    }
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
    let begins = matches!(
        input.event,
        Event::SessionStart | Event::Prompt | Event::BeforeTool(_)
    );
    let bound =
        session::binding(setting, &key, &root, begins).map_err(|error| error.to_string())?;
    // The project stays that of the session's first call.
    let root = bound
        .as_ref()
        .map_or(root, |binding| binding.project_root.clone());
    let policy = policy::workflow(&root)?;
    // A policy begins with the first prompt, not when the client is opened.
    let begins = begins && input.event != Event::SessionStart;
    let binding = match (bound, &policy) {
        (Some(binding), _) => binding,
        (None, Some(policy)) if begins => policy::start(setting, &root, &key, policy, None)?,
        (None, _) => return unguarded(setting, input, &key, &root),
    };
    if input.event == Event::SessionEnd {
        return session_ended(setting, &binding.session);
    }
    // What neither asks the run nor tells it anything needs no database.
    if matches!(input.event, Event::Other(_)) {
        return Ok(claude_code::nothing());
    }
    let mut guarded = open(setting, binding)?;
    if guarded.run.is_over() {
        match (&policy, &input.event) {
            (Some(policy), Event::Prompt) => {
                let binding = policy::start(setting, &root, &key, policy, Some(&guarded.binding))?;
                guarded = open(setting, binding)?;
            }
            (policy, Event::BeforeTool(tool)) => {
                return judge::after_the_end(setting, &guarded, input, tool, policy.is_some());
            }
            _ => return Ok(claude_code::nothing()),
        }
    }
    let found = watch::compare(setting, &mut guarded, input)?;
    answer_event(setting, &mut guarded, input).map(|answer| match found {
        Some(found) => claude_code::telling(answer, &found),
        None => answer,
    })
}

/// Answers an event of a session that an open run guards.
fn answer_event(
    setting: &HookSetting,
    guarded: &mut Guarded,
    input: &Input,
) -> Result<Value, String> {
    match &input.event {
        Event::BeforeTool(tool) => judge::before_tool(setting, guarded, input, tool),
        Event::AfterTool { tool, ok, response } => {
            after_tool(setting, guarded, tool, *ok, response)
        }
        Event::SessionStart => Ok(brief(guarded, input, "SessionStart")),
        Event::Prompt => Ok(brief(guarded, input, "UserPromptSubmit")),
        Event::SubagentStart => Ok(brief(guarded, input, "SubagentStart")),
        Event::SubagentStop => released(guarded, input),
        Event::Stop { again: false } => Ok(unfinished(guarded)),
        Event::Stop { again: true } | Event::SessionEnd | Event::Other(_) => {
            Ok(claude_code::nothing())
        }
    }
}

/// Answers a session that no run guards: no opinion.
fn unguarded(
    setting: &HookSetting,
    input: &Input,
    key: &SessionKey,
    root: &Path,
) -> Result<Value, String> {
    match &input.event {
        Event::BeforeTool(tool) => judge::note_for_server(setting, input, tool, key, root)?,
        Event::SessionEnd => return session_ended(setting, key),
        _ => {}
    }
    Ok(claude_code::nothing())
}

/// Takes away the notes of a session: none of its calls is under way any more.
fn session_ended(setting: &HookSetting, key: &SessionKey) -> Result<Value, String> {
    setting
        .home
        .drop_notes(key)
        .and_then(|()| setting.home.drop_tickets(key, setting.at_ms))
        .map_err(|error| error.to_string())?;
    Ok(claude_code::nothing())
}

fn open(setting: &HookSetting, binding: Binding) -> Result<Guarded, String> {
    Guarded::open(setting, binding).map_err(|error| error.to_string())
}

/// Leaves what a sub-agent did not finish to others.
fn released(guarded: &mut Guarded, input: &Input) -> Result<Value, String> {
    if let Some(agent) = input.agent.clone() {
        guarded
            .ask(Ask::ReleaseAgent { agent })
            .map_err(|error| error.to_string())?;
    }
    Ok(claude_code::nothing())
}

/// Says where the run stands, seen from the branch of the sub-agent that acts.
fn brief(guarded: &Guarded, input: &Input, event: &str) -> Value {
    let branch = input
        .agent
        .as_ref()
        .and_then(|agent| guarded.run.agents.get(agent));
    claude_code::add(event, &briefing(&guarded.machine, &guarded.run, branch))
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

/// Records what became of a call, and says so where that moved the run.
/// Keeps the text of a result beside the log, where the workflow asks for it.
fn keep_output(guarded: &Guarded, events: &[RunEvent], response: &Value) -> Result<(), String> {
    let wanted = guarded.machine.meta.get("capture_output") == Some(&Value::Bool(true));
    let ended = events.iter().find_map(|event| match event {
        RunEvent::CallEnded { call, .. } => Some(call),
        _ => None,
    });
    let Some(call) = ended.filter(|_| wanted) else {
        return Ok(());
    };
    let text = match response {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    guarded
        .log
        .keep_output(call, &text)
        .map_err(|error| error.to_string())
}

/// Tells whether a line was carried by `interlock exec`.
fn is_carried(setting: &HookSetting, used: &ToolUse) -> bool {
    let line = used.input.get("command").and_then(Value::as_str);
    line.is_some_and(|line| claude_code::line::is_carried(setting.program.as_deref(), line))
}

fn after_tool(
    setting: &HookSetting,
    guarded: &mut Guarded,
    used: &ToolUse,
    ok: bool,
    response: &Value,
) -> Result<Value, String> {
    let shape = tool(ClientId::ClaudeCode, &used.name).shape;
    let result = CallResult {
        id: Some(used.id.clone()),
        ok,
        exit: match shape {
            // What `interlock exec` carried, it has told itself.
            Shape::Shell { .. } if is_carried(setting, used) => None,
            Shape::Shell { .. } => claude_code::exit_code(used, ok, response),
            _ => None,
        },
        bytes: claude_code::result_bytes(&used.name, response),
        wrote: failed::wrote(&guarded.run, &used.id, ok, &RealDisk),
    };
    let decision = guarded
        .ask(Ask::Record(result))
        .map_err(|error| error.to_string())?;
    keep_output(guarded, &decision.events, response)?;
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
