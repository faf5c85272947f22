//! `start`: begins a run that guards the calling session.

use interlock_core::{call::ControlTool, machine::Object, names::RunId, refusal::Code};
use interlock_formats::Source;
use interlock_project::Config;
use interlock_store::{
    BindError, Durability, Lookup, NewRun, Note, SessionKey, SessionScope, SourceFile, StartError,
    Started,
};

use super::{
    AGENT, Control, Incoming,
    caller::{Caller, CallerRun},
    judged, several, workflows,
};
use crate::{
    answer::{Answer, RunReply},
    live::{Live, refusal},
    refused::{Refused, Word},
};

/// Result of a start.
enum Begun {
    /// The new run.
    Run(Box<Started>),
    /// An open run prevents the start.
    Beside(RunId),
}

impl Control {
    pub(super) fn begun(&mut self, incoming: &Incoming) -> Result<Answer, Refused> {
        let (caller, arguments) = self.receive(ControlTool::Start, incoming)?;
        if let Some(answer) = self.open_already(&caller, incoming)? {
            return Ok(answer);
        }
        if let crate::govern::Caller::Run(run) = &self.who {
            let message = format!(
                "run `{run}` is over, and the credential with it: a person starts the next one"
            );
            return Err(Refused::new(Word::Engine(Code::RunOver), message));
        }
        if let Some(run) = self.started_for()? {
            let message = format!("run `{run}` is over, and with it what this agent is here for");
            return Err(Refused::new(Word::Engine(Code::RunOver), message));
        }
        let root = self.root_of(&caller).to_owned();
        let name = arguments.text("workflow").unwrap_or_default();
        let config = Config::of_project(&root)?;
        by_policy(&config, name)?;
        let (source, machine) = workflows::by_name(&self.library(&caller), name)?;
        let person = Config::of_person(self.settings.environment.configuration.as_deref())?;
        self.library(&caller)
            .check_trust(&machine, &source.name, &root, &person)
            .map_err(|error| Refused::new(Word::Engine(Code::Protected), error.to_string()))?;
        let new = NewRun {
            machine: &machine,
            source: &source_file(source),
            project_root: &root,
            name: None,
            durability: durability(&config),
            at_ms: incoming.at_ms,
        };
        let input = arguments.object("input");
        let started = match self.begin(&new, input, caller.note.as_ref())? {
            Begun::Run(started) => *started,
            Begun::Beside(run) => return self.open_run_answer(&run, &caller, incoming),
        };
        let live = Live::begun(started.log, machine, started.run);
        self.started = Some(live.id().clone());
        let message = format!(
            "started run `{}` of `{}`; {}",
            live.id(),
            live.machine.id,
            live.standing()
        );
        Ok(Answer::of_run(
            &live,
            &RunReply {
                message,
                events: &started.decision.events,
                focus: None,
            },
        ))
    }

    /// Refuses the start because of an open run, in the engine's words.
    fn open_already(
        &self,
        caller: &Caller,
        incoming: &Incoming,
    ) -> Result<Option<Answer>, Refused> {
        match self.held(caller, incoming)? {
            CallerRun::Nothing => Ok(None),
            CallerRun::Several(runs) => Err(several(runs)),
            CallerRun::Run(run) => {
                judged(&mut self.open(&run)?, ControlTool::Start, caller, incoming)
            }
        }
    }

    fn open_run_answer(
        &self,
        run: &RunId,
        caller: &Caller,
        incoming: &Incoming,
    ) -> Result<Answer, Refused> {
        let answer = judged(&mut self.open(run)?, ControlTool::Start, caller, incoming)?;
        answer.ok_or_else(|| {
            Refused::new(
                Word::Engine(Code::RunOpen),
                "another run has just ended: call again",
            )
        })
    }

    /// Begins a run for the session that a hook has reported, or for the project's next one; a refusal leaves nothing behind.
    fn begin(
        &self,
        new: &NewRun<'_>,
        input: Object,
        note: Option<&Note>,
    ) -> Result<Begun, Refused> {
        let home = &self.settings.environment.home;
        // Without a session, only the run that waits for the next one is looked up: no session has this key.
        let nobody = SessionKey::new("", "");
        let key = note.map_or(&nobody, |note| &note.session);
        let found = in_the_way(&home.look_up(key, new.project_root)?);
        if let Some(run) = &found
            && !self.open(run)?.run.is_over()
        {
            return Ok(Begun::Beside(run.clone()));
        }
        let replaced = found.as_ref();
        let prepared = home.prepare_run(new, input, AGENT).map_err(not_started)?;
        // The bindings stay locked until the run is visible, and all hooks wait for them.
        let begun = match note {
            Some(note) => {
                let prepared = prepared.for_session(&note.session, note.process.clone())?;
                let begun = home.lock_bindings()?.begin(prepared, replaced);
                begun.map(|(started, _)| started)
            }
            None => home
                .lock_bindings()?
                .begin_waiting(prepared, SessionScope::Next, replaced),
        };
        match begun {
            Ok(started) => Ok(Begun::Run(Box::new(started))),
            // Another start was first.
            Err(BindError::SessionBound { run, .. } | BindError::OtherWaits { run }) => {
                Ok(Begun::Beside(run))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the run that a session or project already has.
fn in_the_way(found: &Lookup) -> Option<RunId> {
    match found {
        Lookup::Unbound => None,
        Lookup::Waiting(run) | Lookup::Project(run) => Some(run.clone()),
        Lookup::Bound(binding) => Some(binding.run.clone()),
    }
}

/// Refuses every workflow except the one that guards every session of the project.
fn by_policy(config: &Config, name: &str) -> Result<(), Refused> {
    match &config.workflow {
        Some(wanted) if wanted != name => Err(Refused::new(
            Word::Engine(Code::Protected),
            format!(
                "`.interlock/config.toml` guards every session of this project with `{wanted}`: only that can be started here; only a person can start another"
            ),
        )),
        _ => Ok(()),
    }
}

fn source_file(source: Source) -> SourceFile {
    SourceFile {
        name: source.name,
        text: source.text,
    }
}

const fn durability(config: &Config) -> Durability {
    match config.store.durability {
        interlock_project::Durability::Process => Durability::Process,
        interlock_project::Durability::Power => Durability::Power,
    }
}

fn not_started(error: StartError) -> Refused {
    match error {
        StartError::Refused(decision) => refusal(&decision.reply).into(),
        StartError::Store(error) => error.into(),
    }
}
