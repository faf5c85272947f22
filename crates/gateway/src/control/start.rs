//! `start`: a run that holds the session that asks for it.

use std::path::Path;

use interlock_core::{call::ControlTool, command::Ask, names::RunId, refusal::Code};
use interlock_formats::Source;
use interlock_project::Config;
use interlock_store::{
    BindError, Binding, Bindings, Durability, Lookup, NewRun, Note, SessionKey, SourceFile,
    StartError,
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
        let started = home
            .start_run(&new, arguments.object("input"), AGENT)
            .map_err(not_started)?;
        let mut live = Live::begun(started.log, machine, started.run);
        let bound = bind(
            &bindings,
            live.id(),
            caller.note,
            &root,
            replaced.as_ref(),
            incoming.at_ms,
        );
        if let Err(error) = bound {
            // A run that holds nobody would be in everybody's way.
            let _ = live.ask(
                incoming.at_ms,
                Ask::Cancel {
                    by: "interlock".to_owned(),
                },
            );
            return Err(error.into());
        }
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
            Lookup::Waiting(run) => run,
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

/// Holds the session to the run, or lets the run wait for the project's next one.
fn bind(
    bindings: &Bindings<'_>,
    run: &RunId,
    note: Option<Note>,
    root: &Path,
    replaced: Option<&RunId>,
    at_ms: u64,
) -> Result<(), BindError> {
    let Some(note) = note else {
        return bindings.wait_for_next(run, root, replaced);
    };
    let binding = Binding {
        run: run.clone(),
        session: note.session,
        project_root: root.to_owned(),
        process: note.process,
        at_ms,
    };
    bindings.bind(binding, replaced).map(|_| ())
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
