//! `start`: a run that holds the session that asks for it.

use std::path::Path;

use interlock_core::{
    call::ControlTool,
    command::{Ask, Command},
    machine::Object,
    names::RunId,
    refusal::Code,
};
use interlock_formats::Source;
use interlock_project::Config;
use interlock_store::{
    Bindings, Durability, Home, Lookup, NewRun, Note, SessionKey, SourceFile, StartError, Started,
    submit,
};

use super::{
    AGENT, Control, Incoming,
    caller::{Caller, Held},
    judged, several, workflows,
};
use crate::{
    answer::{Answer, Said},
    live::{Live, refusal},
    refused::{Refused, Word},
};

/// What stands in the way of a new run.
enum InTheWay {
    /// Nothing, or a run that has ended and is replaced.
    Ended(Option<RunId>),
    /// A run that is open.
    Open(RunId),
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
        let person = Config::of_person(self.settings.configuration.as_deref())?;
        self.library(&caller)
            .check_trust(&machine, &source.name, &root, &person)
            .map_err(|error| Refused::new(Word::Engine(Code::Protected), error.to_string()))?;
        let home = &self.settings.home;
        let bindings = home.lock_bindings()?;
        // Looked at again, now that nobody else can bind: a refusal leaves nothing behind.
        let replaced = match self.in_the_way(&bindings, caller.note.as_ref(), &root)? {
            InTheWay::Ended(run) => run,
            InTheWay::Open(run) => {
                drop(bindings);
                return self.open_run_answer(&run, &caller, incoming);
            }
        };
        let new = NewRun {
            machine: &machine,
            source: &source_file(source),
            project_root: &root,
            name: None,
            durability: durability(&config),
            at_ms: incoming.at_ms,
        };
        let input = arguments.object("input");
        let started = match caller.note {
            Some(note) => begin_for(&bindings, home, &new, input, &note, replaced.as_ref())?,
            None => begin_for_next(&bindings, home, &new, input, replaced.as_ref())?,
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
            &Said {
                message,
                events: &started.decision.events,
                focus: None,
            },
        ))
    }

    /// Refuses beside an open run, in the engine's words.
    fn open_already(
        &self,
        caller: &Caller,
        incoming: &Incoming,
    ) -> Result<Option<Answer>, Refused> {
        match self.held(caller, incoming)? {
            Held::Nothing => Ok(None),
            Held::Several(runs) => Err(several(runs)),
            Held::Run(run) => judged(&mut self.open(&run)?, ControlTool::Start, caller, incoming),
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

    fn in_the_way(
        &self,
        bindings: &Bindings<'_>,
        note: Option<&Note>,
        root: &Path,
    ) -> Result<InTheWay, Refused> {
        // Without a session, only what waits for the next one is asked for: no session has this key.
        let nobody = SessionKey::new("", "");
        let key = note.map_or(&nobody, |note| &note.session);
        let run = match bindings.look_up(key, root)? {
            Lookup::Unbound => return Ok(InTheWay::Ended(None)),
            Lookup::Waiting(run) | Lookup::Project(run) => run,
            Lookup::Bound(binding) => binding.run,
        };
        Ok(if self.open(&run)?.run.is_over() {
            InTheWay::Ended(Some(run))
        } else {
            InTheWay::Open(run)
        })
    }
}

/// Refuses any other workflow than the one that guards every session of the project.
fn by_policy(config: &Config, name: &str) -> Result<(), Refused> {
    match &config.workflow {
        Some(wanted) if wanted != name => Err(Refused::new(
            Word::Engine(Code::Protected),
            format!(
                "`.interlock/config.toml` holds every session of this project to `{wanted}`: only that can be started here; another one is for a person to start"
            ),
        )),
        _ => Ok(()),
    }
}

/// Begins a run that holds the session a hook has told of.
fn begin_for(
    bindings: &Bindings<'_>,
    home: &Home,
    new: &NewRun<'_>,
    input: Object,
    note: &Note,
    replaced: Option<&RunId>,
) -> Result<Started, Refused> {
    let process = note.process.clone();
    let prepared = home
        .prepare_run(new, (input, AGENT), &note.session, process)
        .map_err(not_started)?;
    Ok(bindings.begin(prepared, replaced)?.0)
}

/// Begins a run that waits for the project's next session.
fn begin_for_next(
    bindings: &Bindings<'_>,
    home: &Home,
    new: &NewRun<'_>,
    input: Object,
    replaced: Option<&RunId>,
) -> Result<Started, Refused> {
    let mut started = home.start_run(new, input, AGENT).map_err(not_started)?;
    if let Err(error) = bindings.wait_for_next(&started.run.id, new.project_root, replaced) {
        // A run that holds nobody would be in everybody's way.
        let by = "interlock".to_owned();
        let command = Command {
            at_ms: new.at_ms,
            ask: Ask::Cancel { by },
        };
        let _ = submit(&mut started.log, new.machine, &mut started.run, &command);
        return Err(error.into());
    }
    Ok(started)
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
