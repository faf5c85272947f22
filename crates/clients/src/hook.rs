//! Answers a client's hooks with the engine.
//!
//! INVARIANT: in a guarded session every failure of Interlock is a denial: the answer is either one JSON document for the client,
//! or exit code 2.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use interlock_core::{
    call::CallResult,
    command::CommandKind,
    event::{Event as RunEvent, PromptEnd},
    names::AgentId,
};
use interlock_facts::{RealDisk, Shape};
use interlock_project::Environment;
use interlock_store::{Binding, EventLog as _, SessionKey, StoreError};
use interlock_view::{briefing_as, notice};
use serde_json::Value;

use crate::{
    answer::{Answer, Say},
    calls,
    client::ClientId,
    duplicate_hook, failed, finish, gemini, guard_marker,
    input::{Event, Input, ToolUse},
    judge, line, mods, notify, policy, process, prompts,
    protocol::Ended,
    registry, running, session,
    session::Guarded,
    settings::hooks::BY_PLUGIN,
    token,
    tools::{offered_as, tool},
    watch,
};

/// Longest time that a hook takes, well inside the time that clients wait.
pub const DEADLINE: Duration = Duration::from_secs(2);

/// Output and exit code of a hook process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    /// Exactly one JSON document, or nothing.
    pub stdout: String,
    /// One sentence, if something went wrong.
    pub stderr: String,
    /// Exit code: 0, or 2 if the client must stop what it is about to do.
    pub exit: u8,
    /// Whether the output decides about a call that is about to run.
    pub decides: bool,
}

impl HookAnswer {
    fn says(document: &Value, decides: bool) -> Self {
        Self {
            stdout: document.to_string(),
            stderr: String::new(),
            exit: 0,
            decides,
        }
    }

    /// Stops the client, whichever it is.
    #[must_use]
    pub fn stops(why: &str) -> Self {
        Self {
            stdout: String::new(),
            stderr: format!("interlock: {why}"),
            exit: 2,
            decides: true,
        }
    }
}

/// Answers a hook: reads its input with `read`, decides, and never takes longer than [`DEADLINE`].
///
/// `words` are the arguments after the client: the event, if the input does not name it, and the mark of a plugin.
///
/// If the deadline passes, `too_late` receives the answer while this function is still working; it must end the process. A panic,
/// a time-out and an error end as a denial.
#[must_use]
pub fn answer(
    client: &str,
    words: &[&str],
    read: impl FnOnce() -> std::io::Result<Vec<u8>>,
    too_late: impl FnOnce(HookAnswer) + Send + 'static,
) -> HookAnswer {
    let Some(client) = ClientId::named(client) else {
        let known = ClientId::ALL.map(|(word, _)| format!("`{word}`"));
        return HookAnswer::stops(&format!(
            "no client `{client}` is known; there are {}",
            known.join(", ")
        ));
    };
    let by_plugin = words.contains(&BY_PLUGIN);
    let event = words.iter().copied().find(|word| *word != BY_PLUGIN);
    // The work stays in the first thread: the memory of another thread would be set up anew for each call.
    let watch = match Watch::begin(too_late) {
        Ok(watch) => watch,
        Err(error) => {
            return HookAnswer::stops(&format!("no thread can be started: {error}"));
        }
    };
    let answer = catch_unwind(AssertUnwindSafe(|| match read() {
        Ok(stdin) => answer_input(client, &stdin, event, by_plugin),
        Err(error) => HookAnswer::stops(&format!("the hook's input cannot be read: {error}")),
    }));
    watch.end();
    answer
        .unwrap_or_else(|_| HookAnswer::stops("an error in Interlock itself; nothing was allowed"))
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
                too_late(HookAnswer::stops(&format!(
                    "no verdict within {} s; nothing was allowed",
                    DEADLINE.as_secs()
                )));
            }
        };
        let named = thread::Builder::new().name("deadline".to_owned());
        named.spawn(watch).map(|thread| Self { answered, thread })
    }

    /// Returns once it is certain that the thread has not answered and will not answer.
    fn end(self) {
        // Too late: the thread is about to end the process.
        if self.answered.swap(true, Ordering::SeqCst) {
            let _ = self.thread.join();
        }
    }
}

fn answer_input(
    client: ClientId,
    stdin: &[u8],
    event: Option<&str>,
    by_plugin: bool,
) -> HookAnswer {
    let protocol = registry::protocol(client);
    let found = Environment::of_process().map_err(|error| error.to_string());
    let answered = found.and_then(|mut environment| {
        environment.home = environment.home.for_one_answer();
        environment.client = process::client_above();
        let mut input = registry::read(client, stdin, event)?;
        input.by_plugin = by_plugin;
        let document = respond(&environment, &input)?;
        let opinion = document.as_object().is_none_or(|said| !said.is_empty());
        let decides = opinion && matches!(input.event, Event::BeforeTool(_));
        Ok((document, decides))
    });
    match answered {
        Ok((document, decides)) => HookAnswer::says(&document, decides),
        Err(why) if protocol.failure_stops(stdin, event) => HookAnswer::stops(&why),
        Err(why) => HookAnswer::says(&protocol.tell_person(&format!("interlock: {why}")), false),
    }
}

/// Answers one call of a hook with the client's JSON.
///
/// # Errors
/// Returns a one-sentence description of any failure.
pub fn respond(environment: &Environment, input: &Input) -> Result<Value, String> {
    let own = SessionKey::new(input.client.word(), &input.session);
    let top = session::top_session(environment, &own, input);
    let answer = match top.map_err(|error| error.to_string())? {
        Some((top, below)) => {
            let nested = below != own;
            let mut seen = of_sub_agent(input, AgentId::new(below.session));
            // A sub-agent that it started may stop while it continues.
            if nested && seen.event == Event::SubagentStop {
                seen.event = Event::Other;
            }
            judged(environment, &seen, top)?
        }
        None if let Some(agent) = &input.agent => {
            judged(environment, &of_sub_agent(input, agent.clone()), own)?
        }
        None => judged(environment, input, own)?,
    };
    Ok(registry::protocol(input.client).write(input, &answer))
}

/// Converts an event of a sub-agent's session to an event of a sub-agent, which begins and ends no run.
fn of_sub_agent(input: &Input, agent: AgentId) -> Input {
    let mut seen = input.clone();
    seen.agent = Some(agent);
    match seen.event {
        Event::SessionStart | Event::Prompt => seen.event = Event::SubagentStart,
        Event::Stop { .. } | Event::SessionEnd => seen.event = Event::SubagentStop,
        Event::TaskDone { .. } => seen.event = Event::Other,
        _ => {}
    }
    seen
}

fn judged(environment: &Environment, input: &Input, key: SessionKey) -> Result<Answer, String> {
    let root = session::root_of(&input.directory);
    let begins = matches!(
        input.event,
        Event::SessionStart | Event::Prompt | Event::BeforeTool(_) | Event::Running(_)
    );
    let look = || session::guarding(environment, input, &key, &root, begins);
    let found = match look()? {
        Some(found) => Some(found),
        None => match guard_marker::refuse_if_gone(environment, &key) {
            Ok(()) => None,
            // Another hook of the session may have begun its run since: the binding is written before the marker.
            Err(why) => Some(look()?.ok_or(why)?),
        },
    };
    let followed = found.as_ref().is_some_and(|found| found.followed);
    let bound = found.map(|found| found.binding);
    // The project stays that of the session's first call.
    let root = bound
        .as_ref()
        .map_or(root, |binding| binding.project_root.clone());
    let policy = policy::workflow(&root)?;
    // A policy takes effect with the first prompt, not when the client is opened.
    let begins = begins && input.event != Event::SessionStart;
    let binding = match (bound, &policy) {
        (Some(binding), _) => binding,
        (None, Some(policy)) if begins => policy::start(environment, &root, &key, policy, None)?,
        (None, _) => return unguarded(environment, input, &key, &root),
    };
    match input.event {
        Event::SessionEnd => {
            let session = binding.session.clone();
            // The run comes last: if it fails, everything of the session was still recorded.
            session_ended(environment, &session, &root, true)?;
            let mut guarded = open(environment, binding)?;
            prompts::close(&mut guarded, input).map_err(said)?;
            return Ok(Say::Nothing.into());
        }
        Event::SessionStart => session::begin(environment, &binding).map_err(said)?,
        _ => {}
    }
    // Events that neither query nor change the run need no database.
    if input.event == Event::Other {
        return Ok(Say::Nothing.into());
    }
    let mut guarded = open(environment, binding)?;
    if guarded.run.is_over() {
        guard_marker::keep(environment, &guarded)?;
        match (&policy, &input.event) {
            (Some(policy), Event::Prompt) => {
                let binding =
                    policy::start(environment, &root, &key, policy, Some(&guarded.binding))?;
                guarded = open(environment, binding)?;
            }
            (policy, Event::BeforeTool(tool)) => {
                return judge::after_the_end(environment, &guarded, input, tool, policy.is_some());
            }
            _ => return Ok(Say::Nothing.into()),
        }
    }
    if matches!(input.event, Event::SessionStart | Event::Prompt)
        && let Some(reason) = mods::stop(environment, &mut guarded, input)?
    {
        return Ok(Say::Stop(reason).into());
    }
    let goes_on = followed.then(|| goes_on(&guarded));
    prompts::close(&mut guarded, input).map_err(said)?;
    guard_marker::check_baseline(environment, &guarded)?;
    let found = watch::compare(environment, &mut guarded, input)?;
    let token = token::look(environment, &mut guarded, input)?;
    let before = guarded.run.seq;
    let mut answer = answer_event(environment, &mut guarded, input)?;
    answer.held = true;
    guard_marker::keep(environment, &guarded)?;
    notify::tell(
        environment.configuration.as_deref(),
        &guarded.binding.project_root,
        (&guarded.machine, &guarded.run),
        before,
    );
    guarded.leave(environment);
    let told: Vec<String> = [token, found.or(goes_on)].into_iter().flatten().collect();
    Ok(match told.as_slice() {
        [] => answer,
        told => answer.telling(told.join("\n")),
    })
}

/// Answers an event of a session that an open run guards.
fn answer_event(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
) -> Result<Answer, String> {
    match &input.event {
        Event::Running(tool) => running::before_run(environment, guarded, input, tool),
        Event::BeforeTool(tool) => {
            duplicate_hook::judged_once(environment, guarded, input, |guarded| {
                match mods::refuse_first_call(environment, guarded, input)? {
                    Some(reason) => Ok(Answer::deny(reason)),
                    None => judge::before_tool(environment, guarded, input, tool),
                }
            })
        }
        Event::AfterTool { tool, ok, response } => {
            after_tool(environment, guarded, input, (tool, *ok, response))
        }
        Event::SessionStart | Event::Prompt | Event::Turn | Event::SubagentStart => {
            Ok(brief(guarded, input))
        }
        Event::Menu => Ok(menu(guarded)),
        Event::SubagentStop => released(guarded, input),
        Event::Stop { again } => finish::turn(guarded, input, *again),
        Event::TaskDone { task } => finish::task(environment, guarded, input, task),
        Event::SessionEnd | Event::Other => Ok(Say::Nothing.into()),
    }
}

/// Reports that a session continues with the run of the preceding conversation.
fn goes_on(guarded: &Guarded) -> String {
    format!(
        "Interlock: run {} of `{}` continues in this session: it guards the conversation that this one continues.",
        guarded.id(),
        guarded.machine.id
    )
}

fn said(error: StoreError) -> String {
    error.to_string()
}

/// Answers a session that no run guards: no opinion, but a notice of the other open runs of the project.
fn unguarded(
    environment: &Environment,
    input: &Input,
    key: &SessionKey,
    root: &Path,
) -> Result<Answer, String> {
    match &input.event {
        Event::BeforeTool(tool) => judge::note_for_server(environment, input, tool, key, root)?,
        Event::SessionEnd => return session_ended(environment, key, root, false),
        Event::SessionStart | Event::Prompt => {
            // A failure of other runs does not affect a session without a run.
            let told = session::unheld(environment, input, key, root);
            return Ok(told.unwrap_or_else(|_| Say::Nothing.into()));
        }
        _ => {}
    }
    Ok(Say::Nothing.into())
}

/// Removes the notes of a session, none of whose calls is open any more.
fn session_ended(
    environment: &Environment,
    key: &SessionKey,
    root: &Path,
    held: bool,
) -> Result<Answer, String> {
    session::end(environment, key, root, held).map_err(said)?;
    environment
        .home
        .drop_notes(key)
        .and_then(|()| environment.home.drop_tickets(key, environment.at_ms))
        .and_then(|()| environment.home.drop_duplicate_calls(key))
        .map_err(|error| error.to_string())?;
    Ok(Say::Nothing.into())
}

fn open(environment: &Environment, binding: Binding) -> Result<Guarded, String> {
    Guarded::open(environment, binding).map_err(|error| error.to_string())
}

/// Releases what a sub-agent did not finish for other agents.
fn released(guarded: &mut Guarded, input: &Input) -> Result<Answer, String> {
    if let Some(agent) = input.agent.clone() {
        guarded
            .ask(CommandKind::ReleaseAgent { agent })
            .map_err(|error| error.to_string())?;
    }
    Ok(Say::Nothing.into())
}

/// Describes the state of the run, from the branch of the acting sub-agent.
fn brief(guarded: &Guarded, input: &Input) -> Answer {
    let branch = input
        .agent
        .as_ref()
        .and_then(|agent| guarded.run.agents.get(agent));
    let names = |tool: &str| offered_as(input.client, tool);
    Answer::add(briefing_as(&guarded.machine, &guarded.run, branch, &names))
}

/// Limits the tools offered to the model to those that the state lists.
///
/// This is only a hint, so names that cannot be enumerated leave the offer unchanged.
fn menu(guarded: &Guarded) -> Answer {
    let leaves = guarded.run.open_leaves();
    let [path] = leaves.as_slice() else {
        return Say::Nothing.into();
    };
    let state = guarded.run.frame(path).and_then(|frame| {
        let machine = guarded.machine.called(frame.machine.as_ref())?;
        machine.states.get(&frame.at)
    });
    match state.and_then(|state| gemini::menu(&state.policy)) {
        Some(names) => Say::Menu(names).into(),
        None => Say::Nothing.into(),
    }
}

/// Stores the text of a result next to the log if the workflow requires it.
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

/// Records the outcome of a call, and reports it if it moved the run.
fn after_tool(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
    (used, ok, response): (&ToolUse, bool, &Value),
) -> Result<Answer, String> {
    let protocol = registry::protocol(input.client);
    let program = environment.program.as_deref();
    let Some(id) = calls::ended(&guarded.run, input, used, program) else {
        return Ok(Say::Nothing.into());
    };
    let line = match tool(input.client, &used.name).shape {
        Shape::Shell { .. } => used.input.get(crate::tools::LINE).and_then(Value::as_str),
        _ => None,
    };
    if calls::is_another(&guarded.run, &id, input, used, program) {
        // It counts as an ordinary call, but nobody has approved it.
        prompts::close_as(guarded, input, Some(id.clone()), PromptEnd::OtherArguments)
            .map_err(said)?;
    }
    let checked = interlock_store::is_check(&guarded.run, &id);
    let open = guarded.run.calls.iter().find(|call| call.id == id);
    if let Some(begun) = checked.filter(|_| open.is_some_and(|call| call.line.is_none())) {
        let project = &guarded.binding.project_root;
        guarded
            .log
            .folder()
            .keep_files(project, begun)
            .map_err(said)?;
    }
    let proves = open.is_some_and(|call| !call.marks.evidence.is_empty());
    let ended = Ended {
        input,
        used,
        ok,
        response,
        proves,
    };
    // `interlock exec` itself has reported the lines that it ran.
    let exit = line
        .filter(|line| !line::is_carried(program, line))
        .and_then(|_| protocol.exit_code(&ended));
    let line = open.and_then(|call| call.line.as_ref());
    let (line_exit, line_end) = (
        line.and_then(|line| line.exit),
        line.and_then(|line| line.ended_seq),
    );
    let seen = line_exit.or(exit);
    // Some clients report every line that ended as a success.
    let ok = ok && seen.is_none_or(|exit| exit == 0);
    let result = CallResult {
        ok,
        exit,
        bytes: protocol.result_bytes(used, response),
        wrote: failed::wrote(&guarded.run, &id, ok, &RealDisk),
        // `interlock exec` reports them if it runs the line.
        commands: Vec::new(),
        id: Some(id),
        checked: interlock_core::substance::Checked::default(),
    };
    let decision = guarded
        .ask(CommandKind::Record(result))
        .map_err(|error| error.to_string())?;
    keep_output(guarded, &decision.events, response)?;
    let told = notice(&guarded.machine, &guarded.run, &decision.events);
    let Some(notice) = told.or_else(|| line_notice(guarded, line_end?)) else {
        return Ok(Say::Nothing.into());
    };
    let names = |tool: &str| offered_as(input.client, tool);
    let now = briefing_as(&guarded.machine, &guarded.run, Some(&decision.path), &names);
    Ok(Answer::add(format!("{notice}\n{now}")))
}

/// Reports that the observed writes of a rewritten line moved the run when the line ended.
fn line_notice(guarded: &Guarded, end: u64) -> Option<String> {
    let events = guarded.log.events(end).map_while(Result::ok);
    let events: Vec<RunEvent> = events.map(|recorded| recorded.event).collect();
    notice(&guarded.machine, &guarded.run, &events)
}
