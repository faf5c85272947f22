//! A hook call of a session that a run guards.

use interlock_core::{
    briefing,
    call::CallResult,
    command::{Ask, Command},
    machine::Machine,
    names::FramePath,
    notice,
    report::{Status, status},
    run::Run,
};
use interlock_facts::RealDisk;
use interlock_project::Config;
use interlock_store::{Binding, EventLog as _, RunLog, submit};

use super::{
    answer::{Answer, Trouble},
    environment::HookEnv,
    input::{HookEvent, HookInput, ToolEnd, ToolUse},
    judge,
};
use crate::{
    claude_code,
    client::{ClientId, recognise},
};

/// A run that guards the session of a hook call, open.
pub(super) struct Guarded<'a> {
    pub(super) client: ClientId,
    pub(super) env: &'a HookEnv,
    pub(super) input: &'a HookInput,
    pub(super) binding: Binding,
    pub(super) log: RunLog,
    pub(super) machine: Machine,
    pub(super) run: Run,
}

/// Answers a hook call of a guarded session.
pub(super) fn answer(
    client: ClientId,
    input: &HookInput,
    env: &HookEnv,
    binding: Binding,
) -> Result<Answer, Trouble> {
    // What neither asks the run nor tells it anything needs no database.
    match input.event {
        HookEvent::Other => return Ok(Answer::Silent),
        HookEvent::SessionEnd => {
            env.state.drop_notes(&binding.session)?;
            return Ok(Answer::Silent);
        }
        _ => {}
    }
    let log = env.state.open_run(&binding.run)?;
    let machine = log.machine()?;
    let run = log.load()?;
    let guarded = Guarded {
        client,
        env,
        input,
        binding,
        log,
        machine,
        run,
    };
    guarded.answer()
}

impl Guarded<'_> {
    fn answer(mut self) -> Result<Answer, Trouble> {
        let input = self.input;
        match &input.event {
            HookEvent::BeforeTool(call) if self.run.is_over() => self.after_the_end(call),
            HookEvent::BeforeTool(call) => self.judge(call),
            _ if self.run.is_over() => Ok(Answer::Silent),
            HookEvent::AfterTool(call, end) => self.record(call, end),
            HookEvent::SessionStart | HookEvent::Prompt | HookEvent::AgentStart => {
                Ok(Answer::Inject(self.briefing()))
            }
            HookEvent::Stop { again } => Ok(self.stop(*again)),
            HookEvent::SessionEnd | HookEvent::Other => Ok(Answer::Silent),
        }
    }

    /// Asks the run and records what follows.
    pub(super) fn ask(&mut self, ask: Ask) -> Result<interlock_core::Decision, Trouble> {
        let command = Command {
            at_ms: self.env.now_ms,
            ask,
        };
        Ok(submit(
            &mut self.log,
            &self.machine,
            &mut self.run,
            &command,
        )?)
    }

    /// Returns the branch of the sub-agent that acts, where it has one.
    fn focus(&self) -> Option<&FramePath> {
        let agent = self.input.agent.as_ref()?;
        self.run.agents.get(agent)
    }

    fn briefing(&self) -> String {
        format!(
            "This session is guarded by Interlock (workflow `{}`).\n{}",
            self.machine.id,
            briefing(&self.machine, &self.run, self.focus())
        )
    }

    /// Records what became of a call, and says so where it moved the run.
    fn record(&mut self, call: &ToolUse, end: &ToolEnd) -> Result<Answer, Trouble> {
        let shape = recognise(self.client, &call.tool, &call.input).shape;
        let Some(id) = judge::open_call(&self.run, self.input, call) else {
            return Ok(Answer::Silent);
        };
        let outcome = claude_code::outcome(shape, call, end);
        let decision = self.ask(Ask::Record(CallResult {
            id: Some(id),
            ok: outcome.ok,
            exit: outcome.exit,
            bytes: outcome.bytes,
            wrote: Vec::new(),
        }))?;
        let moved = notice(&self.machine, &self.run, &decision.events);
        Ok(match (moved, end) {
            (Some(notice), ToolEnd::Succeeded(_)) => Answer::Inject(notice),
            _ => Answer::Silent,
        })
    }

    /// Says once that the work is not done, where the agent could go on with it.
    fn stop(&self, again: bool) -> Answer {
        if again || status(&self.machine, &self.run) != Status::Running {
            return Answer::Silent;
        }
        Answer::GoOn(format!(
            "The workflow `{}` is not finished. Go on, or say what you wait for.\n{}",
            self.machine.id,
            briefing(&self.machine, &self.run, None)
        ))
    }

    /// An ended run guards nothing but what is protected, where the project names a workflow.
    fn after_the_end(&self, call: &ToolUse) -> Result<Answer, Trouble> {
        if let Some(control) = judge::control_call(self.client, call) {
            let (env, input) = (self.env, self.input);
            let Binding {
                session,
                project_root,
                ..
            } = &self.binding;
            let note = judge::note(env, input, call, control, session, project_root, None);
            env.state.leave_note(&note)?;
            return Ok(Answer::Silent);
        }
        if Config::of_project(&self.binding.project_root)?
            .workflow
            .is_none()
        {
            return Ok(Answer::Silent);
        }
        let call = self.facts(call, &RealDisk);
        Ok(call.facts.protected.map_or(Answer::Silent, |thing| {
            Answer::Deny(format!(
                "protected: {thing} is protected in this project, also after the end of a run"
            ))
        }))
    }
}
