//! The policy of a session: every call is judged by the run that guards the session.
//!
//! INVARIANT: if a run guards the session, or may, every failure of Interlock is a denial.

mod asked;
mod beside;
mod ended;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use interlock_clients::{Watched, plugins};
use interlock_core::{
    Reply,
    call::{ControlTool, ToolCall},
    command::CommandKind,
    event::{Event, TokenPlace},
    machine::Object,
    names::{CallId, Digest, RunId},
    refusal::Code,
};
use interlock_project::{Config, Servers};
use interlock_served::{Files, Identity, pins, says_read_only};
use interlock_store::{
    GatewayCard, ManifestFile, NotedTool, ServedTool, StoreError, refuse_for_token,
};
use serde_json::Value;

use super::{
    CallDecision, CallEnd, Caller, GatewayCall, Instead, ListedTool, NotRead, OwnCall, PersonSaid,
    Reading, SessionPolicy, Ticket,
    asking::Questions,
    lists::{self, Standing},
    opened::Opened,
    pins::Pins,
    policy::ProjectPolicy,
};
use crate::{
    answer::{Answer, RunReply},
    control::{CallerRun, Control, Incoming, Noted, several},
    error::GatewayError,
    governor_queue::waiting,
    refused::{Refused, Word},
    settings::Settings,
    tools,
};

/// Key with which Claude Code names the model's call.
const CALL_ID_KEY: &str = "claudecode/toolUseId";
/// Maximum number of open calls of one session; older ones are forgotten.
const OPEN_MAX: usize = 4_096;

/// The policy of one session of the gateway.
#[derive(Debug)]
pub struct Governor {
    settings: Settings,
    who: Caller,
    control: Control,
    opened: Opened,
    files: Files,
    pins: Pins,
    policy: ProjectPolicy,
    questions: Questions,
    /// Whether a person has configured that everybody who reaches the port is trusted.
    over_http: bool,
    /// Protected files and settings, by run, since each run has its own baseline.
    watched: Option<(RunId, Watched)>,
    /// Allowed calls that have not ended.
    open: BTreeMap<CallId, Passed>,
    /// What the visible tools depended on when they were last requested.
    listed: Option<Option<(Option<RunId>, Standing)>>,
    calls: u64,
    begun: String,
    /// Span in which the client started this process, in the format of `TRACEPARENT`.
    parent: Option<String>,
    /// Manifest of this gateway's tools, for the hooks of its client.
    card: Option<(ManifestFile, Vec<ServedTool>)>,
}

/// An allowed call.
#[derive(Debug, Clone)]
struct Passed {
    run: RunId,
    number: u64,
    /// Whether its tool declares structured content.
    has_schema: bool,
    digest: Digest,
    /// Whether the server asked for input, so that the client may continue the call.
    waits: bool,
    /// State with which the client continues, if the server gave one.
    state: Option<Value>,
}

impl Governor {
    /// Creates the policy of a session that `who` opens in front of `servers`.
    ///
    /// # Errors
    /// The person's configuration cannot be read, or the system provides no random bytes.
    pub fn new(settings: Settings, who: Caller, servers: &Servers) -> Result<Self, GatewayError> {
        let person = Config::of_person(settings.environment.configuration.as_deref())
            .map_err(|error| GatewayError::Settings(error.to_string()))?;
        let begun = interlock_store::random_word()
            .map_err(|error| GatewayError::Settings(error.to_string()))?;
        let environment = settings.environment.clone();
        let parent = environment.variable("TRACEPARENT");
        let parent = parent.filter(|_| who == Caller::Stdio);
        let control = Control::of_caller(settings.clone(), who.clone());
        let files = Files::new(
            &environment,
            &plugins::in_place(&environment),
            control.project_root(),
            &person,
            servers.clone(),
        );
        // A process on this machine that belongs to the session; over HTTP there is none, and a shell may be the person's own,
        // who must not count as the agent because of it.
        let client = settings.ancestors.first().filter(|_| who == Caller::Stdio);
        let process = client.filter(|process| !interlock_clients::process::is_shell(process));
        let policy = ProjectPolicy::new(
            environment,
            control.project_root(),
            &begun,
            process.cloned(),
        );
        Ok(Self {
            questions: Questions::default(),
            over_http: person.gateway.approvals_over_http,
            policy,
            opened: Opened::new(who.clone(), settings.environment.home.clone()),
            control,
            files,
            pins: Pins::default(),
            who,
            settings,
            watched: None,
            open: BTreeMap::new(),
            listed: None,
            calls: 0,
            begun,
            parent,
            card: None,
        })
    }

    fn rule(&mut self, call: &GatewayCall<'_>) -> Result<CallDecision, Refused> {
        let incoming = incoming(call.arguments, call.meta, call.at_ms);
        let tool = NotedTool::served(call.tool.shown);
        let (held, noted) = self.opened.of_call(&self.control, tool, &incoming)?;
        let run = match held {
            CallerRun::Nothing if noted.is_there() => return Ok(pass_freely()),
            CallerRun::Nothing => match self.begin_by_policy(call.at_ms)? {
                Some(run) => run,
                None => return Ok(pass_freely()),
            },
            CallerRun::Several(runs) => return Err(several(runs)),
            CallerRun::Run(run) => run,
        };
        let id = self.next_id();
        let who = Identity {
            id: id.clone(),
            agent: noted.agent().cloned(),
        };
        let input = Value::Object(call.arguments.clone());
        let mut proposed = self.files.call(&call.tool, &input, who);
        let has_schema = call.tool.definition.get("outputSchema").is_some();
        let live = self.opened.live(&run)?;
        if live.run.is_over() {
            return self.after_the_end(&run, &proposed);
        }
        self.watch(&run, call.at_ms)?;
        let live = self.opened.live(&run)?;
        if let Some(Some(change)) = self.pins.compare(live, &[call.tool])?.pop() {
            proposed.facts.protected = Some(pins::thing(&change, &run));
            live.ask(call.at_ms, CommandKind::ReportTool(change))?;
        }
        if self
            .settings
            .environment
            .home
            .void_token_in(&input, &run)?
            .is_some()
        {
            refuse_for_token(&mut proposed);
            let place = TokenPlace::Call;
            live.ask(call.at_ms, CommandKind::ReportToken { place })?;
        }
        let client = self.settings.ancestors.first();
        let changed = proposed.facts.protected.is_some() || proposed.facts.malformed.is_some();
        let judged = noted.judged(live, client).filter(|id| live.is_current(id));
        if let Some(judged) = judged.filter(|_| !changed) {
            self.keep_parent(&run, &judged, call.meta);
            return self.pass_judged(&run, judged, proposed.digest, has_schema);
        }
        let state = call.request_state;
        let goes_on = |passed: &&Passed| {
            passed.waits
                && passed.run == run
                && passed.digest == proposed.digest
                && passed.state.as_ref() == state
        };
        if (state.is_some() || call.answers_input)
            && !changed
            && let Some((id, _)) = self.open.iter().find(|(_, passed)| goes_on(passed))
            && live.is_current(id)
        {
            return Ok(live.pass(id));
        }
        self.keep_parent(&run, &id, call.meta);
        let how = (call.at_ms, &noted, true);
        self.propose(&run, proposed, has_schema, how)
    }

    /// Begins the run with which the project guards every session, if it does.
    ///
    /// Sessions over HTTP each have their own run; all sessions that one client started share one.
    fn begin_by_policy(&mut self, at_ms: u64) -> Result<Option<RunId>, Refused> {
        let mut held = Ok(CallerRun::Nothing);
        let (control, shares) = (&self.control, self.who == Caller::Stdio);
        let begun = self.policy.begin(at_ms, || {
            if shares {
                held = control.held_by_what_is_open();
            }
            matches!(held, Ok(CallerRun::Nothing))
        })?;
        let Some(run) = begun else {
            return match held? {
                CallerRun::Nothing => Ok(None),
                CallerRun::Several(runs) => Err(several(runs)),
                CallerRun::Run(run) => Ok(Some(run)),
            };
        };
        self.control.adopt(run.clone());
        self.opened.forget();
        // The list already showed its first state.
        if self.listed.is_some() {
            self.listed = Some(self.stand().ok());
        }
        Ok(Some(run))
    }

    /// Allows a call that its hook has judged and counted.
    fn pass_judged(
        &mut self,
        run: &RunId,
        id: CallId,
        digest: Digest,
        has_schema: bool,
    ) -> Result<CallDecision, Refused> {
        self.calls += 1;
        let passed = Passed {
            run: run.clone(),
            number: self.calls,
            has_schema,
            digest,
            waits: false,
            state: None,
        };
        let ruling = self.opened.live(run)?.pass(&id);
        self.remember(id, passed);
        Ok(ruling)
    }

    /// Asks the run whether the call is allowed.
    fn propose(
        &mut self,
        run: &RunId,
        call: ToolCall,
        has_schema: bool,
        (at_ms, noted, asks): (u64, &Noted, bool),
    ) -> Result<CallDecision, Refused> {
        let live = self.opened.live(run)?;
        let (id, digest) = (call.id.clone(), call.digest.clone());
        let before = live.run.seq;
        let decision = live.ask(at_ms, CommandKind::Propose(Box::new(call.clone())))?;
        let opened = |event: &Event| matches!(event, Event::RequestOpened { .. });
        if decision.events.iter().any(opened) {
            interlock_clients::notify::tell(
                self.settings.environment.configuration.as_deref(),
                &self.settings.environment.directory,
                (&live.machine, &live.run),
                before,
            );
        }
        match &decision.reply {
            Reply::Accepted | Reply::Pending { .. } => {
                self.calls += 1;
                let passed = Passed {
                    run: run.clone(),
                    number: self.calls,
                    has_schema,
                    digest,
                    waits: false,
                    state: None,
                };
                let ruling = live.pass(&id);
                self.remember(id, passed);
                Ok(ruling)
            }
            Reply::Ask(refusal) | Reply::Refused(refusal) => {
                let said = RunReply {
                    message: String::new(),
                    events: &decision.events,
                    focus: Some(&decision.path),
                };
                let denial = Answer::no(live, refusal, &said).into_result();
                if asks && matches!(decision.reply, Reply::Ask(_)) {
                    return self.ask_about_call(run, call, has_schema, (noted, denial));
                }
                Ok(CallDecision::Answer(denial))
            }
        }
    }

    /// Decides about a call of a session whose run has ended, so that nothing guards it any more.
    ///
    /// Under a project policy, protected files stay protected; a credential expires with its run.
    fn after_the_end(&mut self, run: &RunId, call: &ToolCall) -> Result<CallDecision, Refused> {
        if matches!(self.who, Caller::Run(_)) {
            let message = format!("run `{run}` is over, and the credential with it");
            return Err(Refused::new(Word::Engine(Code::RunOver), message));
        }
        let policy = Config::of_project(self.control.project_root())?.workflow;
        match (&call.facts.protected, policy) {
            (Some(thing), Some(_)) => Err(Refused::new(
                Word::Engine(Code::Protected),
                format!("{thing} is protected in this project"),
            )),
            _ => Ok(pass_freely()),
        }
    }

    fn remember(&mut self, id: CallId, passed: Passed) {
        self.open.insert(id, passed);
        if self.open.len() > OPEN_MAX {
            let oldest = self.open.iter().min_by_key(|(_, passed)| passed.number);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                self.open.remove(&oldest);
            }
        }
    }

    /// Creates the id of a call, which is unique in any run.
    fn next_id(&mut self) -> CallId {
        self.calls += 1;
        CallId::new(format!("gateway-{}-{}", self.begun, self.calls))
    }

    fn own(&mut self, tool: ControlTool, call: &OwnCall<'_>) -> Result<CallDecision, Refused> {
        let incoming = incoming(call.arguments, call.meta, call.at_ms);
        let about_a_run = matches!(
            tool,
            ControlTool::GetState | ControlTool::Transition | ControlTool::Pause
        );
        if about_a_run
            && !self.opened.has_notes()?
            && matches!(self.opened.of_session(&self.control)?, CallerRun::Nothing)
        {
            self.begin_by_policy(call.at_ms)?;
        }
        if about_a_run && let Ok(CallerRun::Run(run)) = self.opened.of_session(&self.control) {
            self.watch(&run, call.at_ms)?;
        }
        if tool == ControlTool::Transition {
            let moved = self.control.moving(&incoming);
            self.opened.look_anew();
            let (answer, parking) = moved?;
            let answer = answer.into_result();
            return match parking {
                Some(parking) => self.ask_about_transition(parking, answer, &incoming),
                None => Ok(CallDecision::Answer(answer)),
            };
        }
        let answer = self.control.answer(tool, &incoming);
        self.opened.forget();
        Ok(CallDecision::Answer(answer.into_result()))
    }

    fn judge_reading(&mut self, reading: &Reading<'_>) -> Result<Option<NotRead>, Refused> {
        let run = match self.opened.of_session(&self.control)? {
            CallerRun::Nothing => match self.begin_by_policy(reading.at_ms)? {
                Some(run) => run,
                None => return Ok(None),
            },
            CallerRun::Several(runs) => return Err(several(runs)),
            CallerRun::Run(run) => run,
        };
        let who = Identity {
            id: self.next_id(),
            agent: None,
        };
        let call = self.files.reading(reading.server, reading.of, who);
        self.watch(&run, reading.at_ms)?;
        let live = self.opened.live(&run)?;
        if live.run.is_over() {
            return Ok(None);
        }
        let names = call.names();
        let disallowed = live.run.open_leaves().iter().all(|path| {
            lists::state(&live.machine, &live.run, path)
                .is_some_and(|state| state.policy.disallows(&names))
        });
        if call.facts.protected.is_none() && call.facts.malformed.is_none() && !disallowed {
            return Ok(None);
        }
        let decision = live.ask(reading.at_ms, CommandKind::Propose(Box::new(call)))?;
        Ok(match &decision.reply {
            Reply::Refused(refusal) | Reply::Ask(refusal) => {
                let said = RunReply {
                    message: String::new(),
                    events: &decision.events,
                    focus: Some(&decision.path),
                };
                Some(not_read(Answer::no(live, refusal, &said)))
            }
            Reply::Accepted | Reply::Pending { .. } => None,
        })
    }

    /// Returns the present states of the run that guards the session.
    fn stand(&mut self) -> Result<(Option<RunId>, Standing), Refused> {
        match self.opened.of_session(&self.control)? {
            CallerRun::Nothing => Ok((None, None)),
            CallerRun::Several(runs) => Err(several(runs)),
            CallerRun::Run(run) => {
                let standing = lists::standing(&self.opened.live(&run)?.run);
                Ok((Some(run), standing))
            }
        }
    }

    /// Tells the hooks of this client which server each tool belongs to.
    fn tell_hooks(&mut self, tools: &[ListedTool<'_>]) -> Result<(), StoreError> {
        let (above, run) = match &self.who {
            Caller::Stdio => (self.settings.ancestors.clone(), None),
            Caller::Run(run) => (Vec::new(), Some(run.clone())),
            Caller::Nobody => return Ok(()),
        };
        let served: Vec<ServedTool> = tools.iter().map(served_tool).collect();
        if self.card.as_ref().is_some_and(|(_, told)| *told == served) {
            return Ok(());
        }
        let card = GatewayCard {
            above,
            run,
            tools: served.clone(),
        };
        let kept = match self.card.take() {
            Some((kept, _)) => {
                kept.renew(&card)?;
                kept
            }
            None => {
                let alive = |process| interlock_clients::process::look(process).is_some();
                self.settings.environment.home.keep_card(&card, alive)?
            }
        };
        self.card = Some((kept, served));
        Ok(())
    }

    fn shown_now(&mut self, tools: &[ListedTool<'_>]) -> Result<Vec<bool>, Refused> {
        match self.stand()? {
            (Some(run), Some(_)) => {
                let live = self.opened.live(&run)?;
                let changes = self.pins.compare(live, tools)?;
                for change in changes.iter().flatten() {
                    live.ask(crate::now_ms(), CommandKind::ReportTool(change.clone()))?;
                }
                let shown = lists::shown(&live.machine, &live.run, tools).into_iter();
                // A changed definition does not reach the model before a person has seen it.
                let same = |(shown, change): (bool, &Option<_>)| shown && change.is_none();
                Ok(shown.zip(&changes).map(same).collect())
            }
            (None, _) => {
                let by_policy = self.policy.shown(tools)?;
                Ok(by_policy.unwrap_or_else(|| vec![true; tools.len()]))
            }
            (Some(_), None) => Ok(vec![true; tools.len()]),
        }
    }
}

impl SessionPolicy for Governor {
    fn begin(&mut self) {
        self.opened.begin();
    }

    fn own_tools(&self) -> Vec<Value> {
        let prefix = self.settings.tool_prefix;
        let tools = tools::listed_tools().iter();
        tools.map(|tool| tool.definition(prefix)).collect()
    }

    fn instructions(&self) -> String {
        tools::instructions(self.settings.tool_prefix)
    }

    fn own_call(&mut self, name: &str, call: &OwnCall<'_>) -> Option<CallDecision> {
        let tool = tools::control_tool(name)?;
        Some(waiting(|| {
            guarded(|| self.own(tool, call)).unwrap_or_else(denied)
        }))
    }

    fn shown(&mut self, tools: &[ListedTool<'_>]) -> Vec<bool> {
        // Without the manifest a call counts twice, but it is still judged.
        let _ = self.tell_hooks(tools);
        if self.listed.is_none() {
            self.changed();
        }
        // If it is unknown what may be called, nothing is shown; a call gives the reason.
        waiting(|| guarded(|| self.shown_now(tools))).unwrap_or_else(|_| vec![false; tools.len()])
    }

    fn call(&mut self, call: &GatewayCall<'_>) -> CallDecision {
        guarded(|| self.rule(call)).unwrap_or_else(denied)
    }

    fn read(&mut self, reading: &Reading<'_>) -> Option<NotRead> {
        guarded(|| self.judge_reading(reading))
            .unwrap_or_else(|refused| Some(not_read(refused.into())))
    }

    fn answered(&mut self, key: &str, said: &PersonSaid, at_ms: u64) -> CallDecision {
        waiting(|| guarded(|| self.rule_again(key, said, at_ms))).unwrap_or_else(denied)
    }

    fn ended(&mut self, ticket: &Ticket, result: CallEnd<'_>, at_ms: u64) -> Option<Instead> {
        let id = ticket.call.as_ref()?;
        let passed = self.open.remove(id)?;
        guarded(|| Ok(self.record(id, &passed, result, at_ms)?)).unwrap_or_else(|refused| {
            let message = format!(
                "the call was made, and what came of it is withheld because it cannot be recorded: {}",
                refused.message
            );
            let answer = Answer::from(Refused { message, ..refused });
            Some(Instead::Result(answer.into_result()))
        })
    }

    fn changed(&mut self) -> bool {
        let now = guarded(|| self.stand()).ok();
        // Before the first list, nothing can have changed.
        let then = self.listed.replace(now.clone());
        then.is_some_and(|then| then != now)
    }
}

/// Runs something that may fail or, because of a bug, panic.
fn guarded<T>(act: impl FnOnce() -> Result<T, Refused>) -> Result<T, Refused> {
    // A panic leaves no half-made change: everything that counts is in the store.
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_| {
        let message = "Interlock failed while it answered; nothing is certain but what `interlock log` shows: call again, or tell a person";
        Err(Refused::new(Word::Unavailable, message))
    })
}

fn served_tool(tool: &ListedTool<'_>) -> ServedTool {
    ServedTool {
        shown: tool.shown.to_owned(),
        server: tool.server.to_owned(),
        tool: tool.name.to_owned(),
        read_only: says_read_only(tool.definition),
    }
}

fn denied(refused: Refused) -> CallDecision {
    CallDecision::Answer(Answer::from(refused).into_result())
}

const fn pass_freely() -> CallDecision {
    CallDecision::Pass(Ticket {
        call: None,
        bytes_max: None,
    })
}

fn not_read(answer: Answer) -> NotRead {
    NotRead {
        message: answer.text,
        data: Value::Object(answer.structured),
    }
}

fn incoming(arguments: &Object, meta: Option<&Object>, at_ms: u64) -> Incoming {
    let id = meta.and_then(|meta| meta.get(CALL_ID_KEY)?.as_str());
    Incoming {
        arguments: arguments.clone(),
        call: id.map(CallId::new),
        at_ms,
    }
}
