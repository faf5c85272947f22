//! The loop of one attempt: determines the next step, performs it, and reports the outcome.

use std::{
    io,
    sync::{Arc, mpsc::channel},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use interlock_core::{
    attempt::{MessageCall, PendingCall, StageAttempt},
    call::ToolCall,
    command::{CommandKind, NodeCommand, StageCommand},
    event::{Event, TokenPlace},
    machine::{Ending, Machine, ModelStage, Retry},
    names::CallId,
    place::stage_of,
    stage::{Step, step},
    stage_task, stage_text,
};
use interlock_store::refuse_for_token;
use interlock_tools::Arguments;

use super::{
    calls::{self, Ended, ExecutionContext, Job, Judged, facts, plan_of, summary},
    cancel::{CancelToken, Timer, Why},
    line::{Cut, Outbox, StageLink, StageOrder, Standing},
    messages::Reader,
    person::Word,
    place::Stages,
    transcript::Transcript,
};
use crate::{
    carry::mark,
    order::{Failed, Order, Outcome},
    run_context::EFFECT_VARIABLE,
    screen::Screen,
};

/// Code of a stage that cannot continue here.
const BROKEN: i64 = 1;

/// Carries out one attempt of a stage, until the run continues elsewhere or waits.
///
/// The outcome only says whether it could be carried out; the result of the stage is in the log.
pub(crate) fn act(
    order: &Order,
    stage: &StageOrder,
    stages: &Stages,
    screen: &Arc<dyn Screen>,
    cancel_token: &CancelToken,
    outbox: Outbox,
) -> Outcome {
    let ended = Attempt::begin(order, stage, stages, screen.as_ref(), cancel_token, outbox)
        .and_then(Attempt::go);
    match ended {
        Ok(()) | Err(Halt::Cut) => Outcome::Done {
            stdout: String::new(),
            stderr: String::new(),
        },
        Err(Halt::Broken(why)) => Failed::new(BROKEN, why).into(),
    }
}

/// Why an attempt stops.
pub(super) enum Halt {
    /// The run no longer waits for it.
    Cut,
    /// It cannot be carried out here: the run stays unchanged.
    Broken(String),
}

impl From<Cut> for Halt {
    fn from(_: Cut) -> Self {
        Self::Cut
    }
}

pub(super) fn broken(why: impl std::fmt::Display) -> Halt {
    Halt::Broken(why.to_string())
}

/// A running attempt.
pub(super) struct Attempt<'a> {
    pub(super) line: StageLink,
    pub(super) machine: &'a Machine,
    pub(super) stages: &'a Stages,
    pub(super) cancel_token: &'a CancelToken,
    pub(super) told: Standing,
    pub(super) stage: ModelStage,
    pub(super) screen: &'a dyn Screen,
    pub(super) transcript: Transcript,
    /// `None` if the stage has no time limit.
    timer: Option<Timer>,
    /// Path of the stage, as shown to people.
    pub(super) path: String,
    /// Number of requests to people so far.
    requests: usize,
}

/// A running call, with everything that belongs to it.
struct Running {
    id: CallId,
    arguments: Arguments,
    call: ToolCall,
}

impl<'a> Attempt<'a> {
    fn begin(
        order: &Order,
        given: &'a StageOrder,
        stages: &'a Stages,
        screen: &'a dyn Screen,
        cancel_token: &'a CancelToken,
        outbox: Outbox,
    ) -> Result<Self, Halt> {
        let run = &given.told.run;
        let frame = run.frame(&given.path).ok_or(Halt::Cut)?;
        let stage = stage_of(&given.machine, frame).ok_or(Halt::Cut)?.clone();
        let task = stage_task(&given.machine, run, &given.path);
        let task = match task {
            // The attempt then ends as soon as it begins.
            Some(Err(_)) if stage.history => None,
            task => task.transpose().map_err(broken)?,
        };
        let (answers, inbox) = channel();
        let timed = stage.timeout_ms.map(|_| Timer::new(cancel_token.clone()));
        let mut attempt = Self {
            transcript: Transcript::new(task.as_deref(), stage.completion_tool()),
            stage,
            line: StageLink {
                id: order.id.clone(),
                attempt: order.attempt,
                path: given.path.clone(),
                outbox,
                answers,
                inbox,
            },
            machine: &given.machine,
            stages,
            cancel_token,
            told: given.told.clone(),
            screen,
            timer: timed.transpose().map_err(broken)?,
            path: order.path.clone(),
            requests: 0,
        };
        let events = std::mem::take(&mut attempt.told.events);
        attempt.fold(&events)?;
        Ok(attempt)
    }

    /// Continues until the attempt is over, or the run waits.
    fn go(mut self) -> Result<(), Halt> {
        loop {
            match self.cancel_token.reason() {
                Some(Why::Stopped) => return Ok(()),
                Some(Why::Late) => return self.late(),
                None => {}
            }
            let Some(next) = self.step() else {
                return Ok(());
            };
            self.set_clock(&next);
            let told = match next.clone() {
                Step::Begin => {
                    let tools = self.stages.there();
                    self.line.ask_stage(StageCommand::Begin { tools })?
                }
                Step::Condense => match self.condense()? {
                    Some(told) => told,
                    None => continue,
                },
                Step::Wait(until_ms) => {
                    self.cancel_token.rest(until_ms.saturating_sub(now_ms()));
                    if self.cancel_token.reason().is_some() || now_ms() < until_ms {
                        continue;
                    }
                    self.again()?
                }
                Step::Model { logged, .. } => match self.model(logged)? {
                    Some(told) => told,
                    None => continue,
                },
                Step::Propose(at) => self.propose(at)?,
                Step::Run(at) => match self.run(&at)? {
                    Some(told) => told,
                    None => continue,
                },
                Step::Person(at) => match self.person(at)? {
                    Word::Told(told) => told,
                    Word::Stands => return Ok(()),
                },
            };
            self.heard(told, &next)?;
        }
    }

    /// Returns the next step; `None` if there is none for this attempt.
    fn step(&self) -> Option<Step> {
        let frame = self.told.run.frame(&self.line.path)?;
        let attempt = frame.stay.effect().map(|effect| effect.attempt);
        if attempt != Some(self.line.attempt) {
            return None;
        }
        step(self.machine, &self.told.run, &self.line.path)
    }

    pub(super) fn next_request(&mut self) -> usize {
        self.requests += 1;
        self.requests
    }

    /// Takes over the present state of the run; a refusal without progress ends the loop.
    fn heard(&mut self, told: Standing, before: &Step) -> Result<(), Halt> {
        let refused = told.refused.clone();
        self.fold(&told.events)?;
        // The run never returns to an earlier state.
        if told.run.seq >= self.told.run.seq {
            self.told.run = told.run;
        }
        match refused {
            Some(refusal) if self.step().as_ref() == Some(before) => Err(broken(format!(
                "the run does not take what comes next: {}",
                refusal.message
            ))),
            _ => Ok(()),
        }
    }

    fn fold(&mut self, events: &[Event]) -> Result<(), Halt> {
        for event in events {
            self.transcript
                .take(event, &self.stages.messages)
                .map_err(broken)?;
        }
        Ok(())
    }

    pub(super) fn progress(&self) -> Result<&StageAttempt, Halt> {
        let frame = self.told.run.frame(&self.line.path);
        frame
            .and_then(|frame| frame.stay.stage_attempt())
            .ok_or(Halt::Cut)
    }

    /// Runs the clock unless the attempt waits for a person.
    fn set_clock(&self, next: &Step) {
        let Some(timer) = &self.timer else { return };
        let left = self
            .progress()
            .ok()
            .filter(|_| !matches!(next, Step::Person(_)))
            .and_then(|progress| {
                let most = self.stage.timeout_ms?;
                let used = now_ms()
                    .saturating_sub(progress.started_ms)
                    .saturating_sub(progress.waited_ms);
                Some(most.saturating_sub(used))
            });
        match left {
            Some(left) => timer.run(Duration::from_millis(left)),
            None => timer.stand(),
        }
    }

    /// Ends an attempt that has exceeded its time.
    fn late(&self) -> Result<(), Halt> {
        let seconds = self.stage.timeout_ms.unwrap_or_default() / 1000;
        self.line.ask_stage(StageCommand::End {
            code: "timeout".to_owned(),
            message: format!("the attempt took longer than {seconds} s"),
        })?;
        Ok(())
    }

    /// Writes a note to the log.
    fn note(&mut self, code: &str, message: String) -> Result<(), Halt> {
        let told = self.line.ask(CommandKind::Node {
            path: self.line.path.clone(),
            attempt: self.line.attempt,
            command: NodeCommand::Note {
                code: code.to_owned(),
                message,
            },
        })?;
        self.heard(told, &Step::Begin)
    }

    /// Voids the person's token if a message of the model or a request to it contains it.
    pub(super) fn void_token(&mut self, raw: &[u8], place: TokenPlace) -> Result<(), Halt> {
        let raw = String::from_utf8_lossy(raw);
        let home = &self.stages.home;
        let found = home.void_token_in_json(&raw, &self.told.run.id);
        if found.map_err(broken)? != Some(true) {
            return Ok(());
        }
        let text = format!(
            "your token (`INTERLOCK_TOKEN`) stood {}. Make a new one with `interlock token`",
            place.as_str()
        );
        self.screen.warn(&self.path, &text);
        let told = self.line.ask(CommandKind::ReportToken { place })?;
        self.heard(told, &Step::Begin)
    }

    /// Ends an attempt that cannot continue.
    pub(super) fn end(&self, code: &str, message: String) -> Result<Standing, Halt> {
        let code = code.to_owned();
        Ok(self.line.ask_stage(StageCommand::End { code, message })?)
    }

    pub(super) fn reader(&self) -> Reader<'_> {
        let rules = self.machine.stages.as_ref();
        Reader {
            schema_text: self.schema_text(),
            stage: &self.stage,
            of_run: rules.and_then(|rules| rules.tools.as_deref()),
            stages: self.stages,
        }
    }

    /// Fills the schema of an answer if it has holes; a text that cannot be filled is not a schema.
    fn schema_text(&self) -> Option<String> {
        let Ending::Answer {
            schema: None,
            schema_text: Some(text),
            ..
        } = &self.stage.ending
        else {
            return None;
        };
        stage_text(self.machine, &self.told.run, &self.line.path, text)?.ok()
    }

    /// Returns the call at an index of the last message, with its arguments.
    fn call_at(&self, at: usize) -> Result<(PendingCall, Arguments), Halt> {
        let acted = self.progress()?.calls.get(at).cloned();
        let acted = acted.ok_or(Halt::Cut)?;
        let said = self.transcript.open();
        let said = said.and_then(|kept| kept.answer.calls().nth(at));
        let said = said.ok_or_else(|| broken("the message of the model is not there"))?;
        let read = self.reader().call(said);
        if !is_as_judged(&acted, &read.call) {
            return Err(broken(format!("`{}` is not the call in the log", acted.id)));
        }
        match read.arguments {
            Some(arguments) => Ok((acted, arguments)),
            None => Err(broken(format!(
                "`{}` is no longer available, or its arguments no longer match its schema",
                acted.tool
            ))),
        }
    }

    /// Has the call at `at` judged.
    fn propose(&mut self, at: usize) -> Result<Standing, Halt> {
        let (acted, arguments) = self.call_at(at)?;
        let mut call = facts(self.stages, acted.id, &acted.tool, &arguments);
        let is_asked = !self.lists(&call);
        call.summary = summary(self.stages, &call, &arguments, is_asked);
        let home = &self.stages.home;
        let token = home.void_token_in(arguments.value(), &self.told.run.id);
        if token.map_err(broken)?.is_some() {
            refuse_for_token(&mut call);
        }
        Ok(self.line.ask_stage(StageCommand::Propose(Box::new(call)))?)
    }

    /// Returns whether the stage lists the tool of a call, so that nobody is asked about it.
    fn lists(&self, call: &ToolCall) -> bool {
        let frame = self.told.run.frame(&self.line.path);
        let state = frame.and_then(|frame| {
            let machine = self.machine.called(frame.machine.as_ref())?;
            machine.states.get(&frame.at)
        });
        state.is_some_and(|state| {
            state.policy.allowed_tools.is_some() && call.is_listed(&state.policy)
        })
    }

    /// Runs the calls at these indices and reports their ends in order; returns `None` if they were given up.
    fn run(&mut self, places: &[usize]) -> Result<Option<Standing>, Halt> {
        let mut jobs = Vec::new();
        for &at in places {
            let (acted, arguments) = self.call_at(at)?;
            let call = facts(self.stages, acted.id.clone(), &acted.tool, &arguments);
            jobs.push(Running {
                id: acted.id,
                arguments,
                call,
            });
        }
        let ends = self.carry(&jobs)?;
        // Whoever stopped it does not wait for it.
        if self.cancel_token.reason().is_some() {
            return Ok(None);
        }
        let mut last = None;
        for ended in ends {
            let ended = ended.map_err(broken)?;
            for why in ended.again {
                self.note("called_again", why)?;
            }
            let told = self.line.ask_stage(StageCommand::Record {
                result: ended.result,
                code: ended.code,
                ms: ended.ms,
                told: ended.told,
            })?;
            if let Some(told) = last.replace(told) {
                self.heard(told, &Step::Begin)?;
            }
        }
        Ok(last)
    }

    /// Runs calls concurrently.
    fn carry(
        &self,
        jobs: &[Running],
    ) -> Result<Vec<Result<Ended, interlock_store::StoreError>>, Halt> {
        let screen = self.screen;
        let path = &self.path;
        let printed = |bytes: &[u8]| screen.show(path, interlock_process::Stream::Err, bytes);
        let again = |why: &str| screen.warn(path, why);
        let bytes = self
            .machine
            .stages
            .as_ref()
            .map_or(30_000, |rules| rules.result_bytes);
        let bytes = self.stage.result_bytes.unwrap_or(bytes);
        let mark = mark(&self.line.id, self.line.attempt);
        let environment = [(EFFECT_VARIABLE.to_owned(), mark)];
        let bench = ExecutionContext {
            environment: &environment,
            stages: self.stages,
            transcript: &self.transcript,
            cancel_token: self.cancel_token,
            result_bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            retry: self.retry(),
            printed: &printed,
            again: &again,
        };
        let jobs: Vec<Job<'_>> = jobs.iter().map(|running| self.job(running)).collect();
        if let [job] = jobs.as_slice() {
            return Ok(vec![calls::run(bench, job)]);
        }
        thread::scope(|scope| {
            let begun: Vec<_> = jobs
                .iter()
                .map(|job| {
                    thread::Builder::new()
                        .name("call".to_owned())
                        .spawn_scoped(scope, move || calls::run(bench, job))
                })
                .collect();
            begun.into_iter().map(joined).collect()
        })
    }

    /// Returns the retry policy of tool calls, if the stage is part of a conversation.
    fn retry(&self) -> Option<&'a Retry> {
        let frame = self.told.run.frame(&self.line.path)?;
        let machine = self.machine.called(frame.machine.as_ref())?;
        let retry = machine.states.get(&frame.at)?.retry.as_ref();
        retry.filter(|_| self.stage.history)
    }

    fn job<'j>(&'j self, running: &'j Running) -> Job<'j> {
        let judged = Judged {
            machine: self.machine,
            run: &self.told.run,
            path: &self.line.path,
            granted: self.transcript.is_granted(&running.id),
        };
        Job {
            id: running.id.clone(),
            tool: &running.call.tool,
            arguments: &running.arguments,
            facts: &running.call.facts,
            judged: self
                .told
                .run
                .calls
                .iter()
                .find(|open| open.id == running.id)
                .map_or(&[], |open| open.marks.files.as_slice()),
            plan: plan_of(self.stages, &judged, &running.call, &running.arguments),
        }
    }
}

fn joined<T>(begun: io::Result<thread::ScopedJoinHandle<'_, T>>) -> Result<T, Halt> {
    let thread = begun.map_err(broken)?;
    thread.join().map_err(|_| broken("a tool broke"))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// Returns whether a call of a message is the one that was judged.
///
/// INVARIANT: what runs is exactly what was judged, down to the last byte of its arguments.
fn is_as_judged(acted: &PendingCall, said: &MessageCall) -> bool {
    said.tool == acted.tool && said.digest == acted.digest
}

#[cfg(test)]
mod tests {
    use interlock_core::{
        attempt::{CallStatus, MessageCallKind},
        names::Digest,
    };

    use super::*;

    #[test]
    fn a_call_is_the_judged_one_by_its_tool_and_its_arguments() {
        let acted = PendingCall {
            id: CallId::new("c1"),
            tool: "Edit".to_owned(),
            digest: Digest::new("d1"),
            reads: false,
            status: CallStatus::Waiting,
        };
        let is = |tool: &str, digest: &str| {
            let said = MessageCall {
                tool: tool.to_owned(),
                digest: Digest::new(digest),
                kind: MessageCallKind::Tool { reads: false },
            };
            is_as_judged(&acted, &said)
        };
        assert!(is("Edit", "d1"));
        assert!(!is("Edit", "d2"));
        assert!(!is("Write", "d1"));
    }
}
