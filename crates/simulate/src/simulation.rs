//! Runs the engine line by line and collects its output.

mod ended;
mod named;
mod proposals;
mod stages;
mod talk;
mod verdicts;
mod wording;

use interlock_core::{
    Decision, Finding, Reply,
    call::{ToolCall, WrittenPath},
    command::{ActivityOutcome, Answer, Command, CommandKind, TransitionRequest},
    decide,
    dialogue::RunInput,
    event::Event,
    evolve,
    facts::SimpleCommand,
    machine::{Machine, Object},
    names::{AgentId, FramePath, RunId},
    run::{DurableRun, Run},
    shell_finding,
    substance::Checked,
};
use interlock_expr::text::Places;
use interlock_view::{briefing, report, taught};

use crate::{
    calls,
    given_reports::GivenReports,
    input::{AnswerLine, BadLine, InputLine, ResultLine, ToolLine, TransitionLine},
    output::{OutputLine, Verdict},
    passkey::with_passkey,
    scenario::Scenario,
};

/// A run without an agent. Ids and times are the same each time.
#[derive(Debug, Clone)]
pub struct Simulation {
    machine: Machine,
    setting: Scenario,
    run: Run,
    now_ms: u64,
    lines: usize,
    calls: usize,
    /// Whether an allowed call has no outcome yet.
    open_call: bool,
    /// Commands of the last proposed shell line.
    commands: Vec<SimpleCommand>,
    named: named::NamedCalls,
    stages: stages::Stages,
    /// Test reports with which later ones may be compared.
    reports: GivenReports,
    /// Notes since the last line.
    notes: Vec<String>,
    /// All events.
    events: Vec<Event>,
}

impl Simulation {
    /// Starts a run of `machine` at time 0.
    #[must_use]
    pub fn new(machine: Machine, setting: Scenario) -> Self {
        Self::begun_with(machine, setting, Object::new())
    }

    /// Starts a run of `machine` at time 0 with `input` merged into its context.
    #[must_use]
    pub fn begun_with(machine: Machine, setting: Scenario, input: Object) -> Self {
        let mut simulation = Self {
            machine,
            setting,
            run: Run::new(RunId::new("sim")),
            now_ms: 0,
            lines: 0,
            calls: 0,
            open_call: false,
            commands: Vec::new(),
            named: named::NamedCalls::default(),
            stages: stages::Stages::default(),
            reports: GivenReports::default(),
            notes: Vec::new(),
            events: Vec::new(),
        };
        let places = simulation.machine.durable.then(|| Places {
            run_dir: "/run".to_owned(),
            project: "/project".to_owned(),
            home: "/home".to_owned(),
        });
        simulation.command(CommandKind::Start {
            input,
            by: "simulate".to_owned(),
            durable: places.map(|places| DurableRun {
                places,
                mode: None,
                input: Some(RunInput {
                    text: simulation.setting.input.clone(),
                    attached: Vec::new(),
                }),
            }),
        });
        simulation.begin_stages();
        simulation
    }

    /// Returns all events of the run, from its start.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Answers one line of JSON text.
    ///
    /// # Errors
    /// [`BadLine`] if it is malformed; the run is unchanged.
    pub fn step(&mut self, line: &str) -> Result<OutputLine, BadLine> {
        self.lines += 1;
        let line = InputLine::parse(line).and_then(|line| self.check(line));
        match line {
            Ok(line) => Ok(self.take(line)),
            Err(message) => Err(BadLine {
                line: self.lines,
                message,
            }),
        }
    }

    /// Counts a line that is not answered, such as an empty one.
    pub const fn skip(&mut self) {
        self.lines += 1;
    }

    /// Refuses a line that names something unknown.
    ///
    /// # Errors
    /// Returns what is unknown and what is known.
    pub fn check(&self, line: InputLine) -> Result<InputLine, String> {
        match &line {
            InputLine::Tool(tool) => {
                calls::known_client(tool.client.as_deref().unwrap_or(&self.setting.client))?;
                if let Some(id) = &tool.id {
                    self.may_begin(id)?;
                }
            }
            InputLine::Result(result) => {
                let commands = match &result.id {
                    Some(id) => &self.named.get(id)?.commands,
                    None => &self.commands,
                };
                ended::known(&result.commands, commands)?;
            }
            InputLine::LineStarted(id) => {
                self.named.get(id)?;
            }
            InputLine::LineEnded(end) => {
                ended::known(&end.commands, &self.named.get(&end.id)?.commands)?;
            }
            _ => {}
        }
        Ok(line)
    }

    /// Answers one line.
    pub fn take(&mut self, line: InputLine) -> OutputLine {
        let output = self.taken(line);
        OutputLine {
            talk: self.talk(),
            ..output
        }
    }

    fn taken(&mut self, line: InputLine) -> OutputLine {
        match line {
            InputLine::State => {
                let message = wording::standing(&self.machine, &self.run);
                self.output(true, message, Vec::new(), None)
            }
            InputLine::Result(result) => {
                let output = self.record(result);
                self.stages_after(output)
            }
            other => {
                let mut log = self.settle_open_call();
                let mut output = self.act(other);
                log.append(&mut output.log);
                self.stages_after(OutputLine { log, ..output })
            }
        }
    }

    /// Continues stages as far as they need no line, then reports the state of the run.
    fn stages_after(&mut self, output: OutputLine) -> OutputLine {
        let OutputLine {
            mut log, mut calls, ..
        } = output;
        let (more, events) = self.go_on_everywhere();
        if !more.is_empty() {
            calls.get_or_insert_default().extend(more);
        }
        let began = self.begin_stages();
        let moved = !events.is_empty() || !began.is_empty();
        log.extend(events);
        log.extend(began);
        let report = if moved {
            report(&self.machine, &self.run, None)
        } else {
            output.report
        };
        OutputLine {
            log,
            calls,
            report,
            ..output
        }
    }

    /// Returns what the shell rules say of a call; `None`: it is not a shell line.
    pub(crate) fn shell_finding(&self, call: &ToolCall) -> Option<Finding> {
        shell_finding(&self.machine, &self.run, call)
    }

    /// Answers one call with known facts, consuming the simulation.
    pub(crate) fn answer_to(mut self, call: ToolCall) -> OutputLine {
        self.judge(call)
    }

    /// Returns the run in its present state.
    #[must_use]
    pub const fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the briefing that an agent would get now.
    #[must_use]
    pub fn briefing(&self) -> String {
        briefing(&self.machine, &self.run, None)
    }

    fn act(&mut self, line: InputLine) -> OutputLine {
        match line {
            InputLine::Tool(line) => match self.propose_in_stage(&line) {
                Some(output) => output,
                None => self.propose(&line),
            },
            InputLine::Message(line) => self.message(line),
            InputLine::Transition(line) => self.transition(line),
            InputLine::Approve(line) => {
                let said = format!("{} said yes", line.by);
                let focus = line.path.is_some();
                let passkey = line.passkey;
                let mut yes = answer(line);
                if passkey {
                    yes = with_passkey(&self.machine, &self.run, yes);
                }
                self.answer(CommandKind::Approve(yes), said, focus)
            }
            InputLine::Reject(line) => {
                let note = line
                    .note
                    .as_deref()
                    .map_or_else(String::new, |note| format!(": {note}"));
                let said = format!("{} said no{note}", line.by);
                let focus = line.path.is_some();
                self.answer(CommandKind::Reject(answer(line)), said, focus)
            }
            InputLine::Stopped(agent) => {
                let said = format!("sub-agent `{agent}` has stopped");
                let agent = AgentId::new(agent);
                self.answer(CommandKind::ReleaseAgent { agent }, said, false)
            }
            InputLine::Finish => self.answer(
                CommandKind::Finish,
                "the agent may end its work".to_owned(),
                false,
            ),
            InputLine::Activity(line) => {
                if let ActivityOutcome::Done { output, .. } = &line.outcome
                    && let Some(answer) = self.hand_in(line.path.as_deref(), output)
                {
                    return answer;
                }
                if let ActivityOutcome::Failed(cause) = &line.outcome
                    && let Some(answer) = self.model_fails(line.path.as_deref(), cause)
                {
                    return answer;
                }
                let focus = line.path.is_some();
                let ask = CommandKind::EndActivity {
                    path: line.path,
                    outcome: line.outcome,
                };
                self.answer(ask, "the activity ended".to_owned(), focus)
            }
            InputLine::Pause => {
                let (by, reason) = (PERSON.to_owned(), None);
                self.answer(
                    CommandKind::Pause { by, reason },
                    "paused".to_owned(),
                    false,
                )
            }
            InputLine::Resume => {
                let by = PERSON.to_owned();
                self.answer(
                    CommandKind::Resume { by, seen: None },
                    "resumed".to_owned(),
                    false,
                )
            }
            InputLine::Cancel => {
                let by = PERSON.to_owned();
                self.answer(CommandKind::Cancel { by }, "cancelled".to_owned(), false)
            }
            InputLine::Advance(ms) => {
                self.now_ms = self.now_ms.saturating_add(ms);
                let said = format!("it is {} ms later", ms);
                self.answer(CommandKind::Advance, said, false)
            }
            InputLine::Result(result) => self.record(result),
            InputLine::LineStarted(id) => self.line_started(&id),
            InputLine::LineEnded(end) => self.line_ended(&end),
            InputLine::State => self.output(true, String::new(), Vec::new(), None),
        }
    }

    fn propose(&mut self, line: &ToolLine) -> OutputLine {
        self.calls += 1;
        let id = line
            .id
            .clone()
            .unwrap_or_else(|| format!("call-{}", self.calls));
        let mut call = calls::call(&self.setting, line, id.clone());
        call.prompts_in = line.asked.then(|| self.setting.client.clone());
        if line.id.is_none() {
            return self.judge(call);
        }
        let before = self.commands.clone();
        let output = self.judge(call);
        let commands = std::mem::replace(&mut self.commands, before);
        self.open_call = false;
        self.named.begin(id, commands, &self.run);
        output
    }

    /// Answers a proposed call.
    fn judge(&mut self, call: ToolCall) -> OutputLine {
        let said = format!("`{}` may run", call.tool);
        let line = call.facts.shell.as_ref();
        self.commands = line.map_or_else(Vec::new, |line| line.commands.clone());
        let branch = call.branch.is_some() || call.agent.is_some();
        let decision = self.command(CommandKind::Propose(Box::new(call)));
        self.open_call = decision.reply == Reply::Accepted && !self.run.is_over();
        let verdict = match &decision.reply {
            Reply::Accepted | Reply::Pending { .. } => Verdict::Allow,
            Reply::Ask(_) => Verdict::Ask,
            Reply::Refused(_) => Verdict::Deny,
        };
        let path = decision.path.clone();
        let refused = matches!(decision.reply, Reply::Ask(_) | Reply::Refused(_));
        let mut output = self.answered(decision, said, branch.then_some(&path));
        if refused {
            output.message = taught(&self.machine, &self.run, &path, &output.message);
        }
        OutputLine {
            verdict: Some(verdict),
            ..output
        }
    }

    fn transition(&mut self, line: TransitionLine) -> OutputLine {
        let named = line.branch.is_some() || line.agent.is_some();
        let said = format!("`{}` taken", line.event);
        let request = TransitionRequest {
            event: line.event,
            data: line.data,
            branch: line.branch,
            agent: line.agent.map(AgentId::new),
            by: AGENT.to_owned(),
            approved_by: None,
        };
        self.answer(CommandKind::Transition(request), said, named)
    }

    fn record(&mut self, result: ResultLine) -> OutputLine {
        if self.stages.is_open()
            && let Some(output) = self.record_in_stage(result.clone())
        {
            return output;
        }
        let line = match result.id.as_ref().map(|id| self.named.get(id)) {
            Some(Ok(named)) => &named.commands,
            _ => &self.commands,
        };
        let commands = ended::probed(&result.commands, line);
        if result.id.is_none() {
            self.open_call = false;
        }
        let wrote = self.written(&result.wrote);
        let checked = self.reports.checked(
            (&self.machine, &self.run),
            result.id.as_deref(),
            &result.reports,
            &result.frozen,
        );
        let ask = CommandKind::Record(result.into_result(wrote, commands, checked));
        self.answer(ask, "the outcome is recorded".to_owned(), false)
    }

    /// Locates the paths that a call was observed to write; an invalid path cannot have been written.
    fn written(&self, paths: &[String]) -> Vec<WrittenPath> {
        let found = paths.iter().map(|path| calls::written(&self.setting, path));
        found.filter_map(Result::ok).collect()
    }

    /// Assumes success for an open call without an outcome, before the next line.
    fn settle_open_call(&mut self) -> Vec<&'static str> {
        if self.stages.is_open() {
            return self.settle_open_stage();
        }
        if !std::mem::take(&mut self.open_call) {
            return Vec::new();
        }
        let ask = CommandKind::Record(ResultLine::default().into_result(
            Vec::new(),
            Vec::new(),
            Checked::default(),
        ));
        names(&self.command(ask).events)
    }

    fn command(&mut self, ask: CommandKind) -> Decision {
        let command = Command {
            at_ms: self.now_ms,
            kind: ask,
        };
        let decision = decide(&self.machine, &self.run, &command);
        self.notes.extend(talk::notes(&decision.events));
        for event in &decision.events {
            let run = std::mem::replace(&mut self.run, Run::new(RunId::new("sim")));
            self.run = evolve(run, event);
        }
        self.events.extend(decision.events.iter().cloned());
        decision
    }

    fn answer(&mut self, ask: CommandKind, said: String, named: bool) -> OutputLine {
        let decision = self.command(ask);
        let focus = named.then(|| decision.path.clone());
        self.answered(decision, said, focus.as_ref())
    }

    fn answered(&self, decision: Decision, said: String, focus: Option<&FramePath>) -> OutputLine {
        let log = names(&decision.events);
        let calls = verdicts::of(&decision.events);
        let (ok, code, message) = match decision.reply {
            Reply::Accepted => {
                let message = wording::accepted(&self.machine, &self.run, &decision.events, said);
                (true, None, message)
            }
            Reply::Pending { message, .. } => (
                true,
                None,
                format!("a person has to approve this: {message}"),
            ),
            Reply::Ask(refusal) => (true, None, refusal.message),
            Reply::Refused(refusal) => (false, Some(refusal.code), refusal.message),
        };
        let output = self.output(ok, message, log, focus);
        OutputLine {
            code,
            calls: Some(calls).filter(|calls| !calls.is_empty()),
            ..output
        }
    }

    fn output(
        &self,
        ok: bool,
        message: String,
        log: Vec<&'static str>,
        focus: Option<&FramePath>,
    ) -> OutputLine {
        OutputLine {
            ok,
            verdict: None,
            code: None,
            calls: None,
            message,
            report: report(&self.machine, &self.run, focus),
            talk: None,
            log,
        }
    }
}

/// Default name of the agent.
const AGENT: &str = "agent";
/// Default name of a person.
const PERSON: &str = "a person";

fn answer(line: AnswerLine) -> Answer {
    Answer {
        by: line.by,
        data: line.data,
        note: line.note,
        path: line.path,
        before: None,
        message: line.message,
        edit: line.edit,
        of: line.of,
        passkey: None,
        votes: None,
    }
}

fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(Event::name).collect()
}
