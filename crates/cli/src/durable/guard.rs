//! Steps that guard their agent by a native workflow, with a separate run for each.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use interlock_clients::{
    ClientId, GUARD,
    install::{Site, Start, StartOptions, start_options},
};
use interlock_core::{
    command::{Command, CommandKind},
    machine::{Machine, Object, Outcome},
    names::RunId,
    run::{Phase, Run},
};
use interlock_formats::{Severity, Source, load};
use interlock_project::{Config, Library, project_root};
use interlock_runner::{Guard, GuardWanted, Guarded};
use interlock_store::{EventLog as _, Home, NewRun, RunLog, SourceFile, submit};
use interlock_view::report;

use crate::{
    app::{self, App},
    failure::Failure,
    live,
};

/// Guards the agents of one run's steps.
#[derive(Debug)]
pub(super) struct Guards {
    home: Home,
    /// Path of this program.
    program: PathBuf,
    /// Directory in which the run was called.
    directory: PathBuf,
}

impl Guards {
    pub(super) fn new(app: &App) -> Result<Self, Failure> {
        Ok(Self {
            home: app.home()?,
            program: app::program()?,
            directory: app.directory.clone(),
        })
    }

    /// Starts the run, and ensures that the agent's hooks will call it.
    fn start(&self, wanted: &GuardWanted<'_>) -> anyhow::Result<GuardedRun> {
        let client = client(wanted.tool)?;
        let project = project_root(Path::new(wanted.project));
        let (source, machine) = self.workflow(wanted, &project)?;
        let folder = self.folder(wanted)?;
        self.close_left_open(&folder)?;
        let start_options = start_options(&Start {
            client,
            program: wanted.program,
            directory: Path::new(wanted.project),
            environment: wanted.environment,
            site: &self.site(&project, wanted.environment)?,
            state: self.home.path(),
            folder: &folder,
        })
        .map_err(|why| {
            anyhow::anyhow!("the hooks of `{}` cannot be activated: {why}", wanted.tool)
        })?;
        let new = NewRun {
            machine: &machine,
            source: &SourceFile {
                name: source.name,
                text: source.text,
            },
            project_root: &project,
            name: None,
            durability: live::durability(&Config::of_project(&project)?),
            at_ms: live::now_ms(),
        };
        let by = format!("the step `{}` of run {}", wanted.state, wanted.run);
        let started = self.home.start_run(&new, Object::new(), &by)?;
        let run = started.log.run().clone();
        fs::write(folder.join(RUN), run.as_str())?;
        let credential = self.home.make_credential(&run)?;
        Ok(GuardedRun {
            home: self.home.clone(),
            tool: wanted.tool.to_owned(),
            log: started.log,
            machine,
            project,
            start_options,
            credential,
        })
    }

    /// Finds the workflow as it was when the run of the step began.
    fn workflow(
        &self,
        wanted: &GuardWanted<'_>,
        project: &Path,
    ) -> anyhow::Result<(Source, Machine)> {
        let configuration = app::configuration();
        let library = Library::new(project, configuration.as_deref()).with_person(
            Path::new(wanted.project),
            app::home_of_person().as_deref(),
            None,
        );
        let found = library.open(wanted.workflow);
        let pinned = self
            .home
            .open_run(&RunId::new(wanted.run))?
            .folder()
            .origin()?;
        let pinned = pinned.map(|origin| origin.files).unwrap_or_default();
        let name = match &found {
            Ok(source) => source.name.clone(),
            Err(_) => wanted.workflow.to_owned(),
        };
        let is_it = |file: &&SourceFile| {
            Path::new(&file.name) == self.directory.join(&name)
                || (found.is_err()
                    && Path::new(&file.name).file_stem() == Path::new(&name).file_stem())
        };
        let source = match (pinned.iter().find(is_it), found) {
            (Some(file), _) => Source::new(file.name.clone(), file.text.clone()),
            (None, found) => found?,
        };
        let loaded = load(&source, None, &library).map_err(|found| {
            let first = found.iter().find(|found| found.severity == Severity::Error);
            let first = first.map(|found| {
                format!(
                    ", the first at {}:{}: {}",
                    found.file, found.line, found.message
                )
            });
            anyhow::anyhow!("it has errors{}", first.unwrap_or_default())
        })?;
        if loaded.machine.durable {
            anyhow::bail!(
                "a workflow of steps guards no agent: name a native one, with `initial` and `states`"
            );
        }
        let person = Config::of_person(configuration.as_deref())?;
        library.check_trust(&loaded.machine, &source.name, project, &person)?;
        Ok((source, loaded.machine))
    }

    /// Returns a folder next to the log of the run with the step.
    fn folder(&self, wanted: &GuardWanted<'_>) -> anyhow::Result<PathBuf> {
        let parent = self.home.open_run(&RunId::new(wanted.run))?;
        let letters = wanted.mark.chars();
        let name: String = letters
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter
                } else {
                    '-'
                }
            })
            .collect();
        let folder = parent.folder().work().join("guards").join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Closes the run that a crashed runner left open under the same mark.
    fn close_left_open(&self, folder: &Path) -> anyhow::Result<()> {
        let Ok(id) = fs::read_to_string(folder.join(RUN)) else {
            return Ok(());
        };
        let id = RunId::new(id);
        let mut log = self.home.open_run(&id)?;
        let machine = log.machine()?;
        let mut run = log.load()?;
        if !run.is_over() {
            cancel(
                &mut log,
                &machine,
                &mut run,
                "the run that repeats the step",
            )?;
        }
        Ok(())
    }

    fn site(&self, project: &Path, environment: &[(String, String)]) -> anyhow::Result<Site> {
        let set: BTreeMap<&str, &str> = environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let variable = |name: &str| -> Option<OsString> {
            let set = set.get(name).map(OsString::from);
            set.or_else(|| app::variable(name))
        };
        let home = variable("HOME").ok_or_else(|| anyhow::anyhow!("`HOME` is not set"))?;
        Ok(Site::new(project, home.as_ref(), &self.program).moved_by(variable))
    }
}

/// File that names the run of a step.
const RUN: &str = "run";

/// Returns the client that a tool starts.
fn client(tool: &str) -> anyhow::Result<ClientId> {
    match tool {
        "claude" | "claude-code" => Ok(ClientId::ClaudeCode),
        "codex" => Ok(ClientId::Codex),
        "gemini" => Ok(ClientId::Gemini),
        other => anyhow::bail!("no agent of `{other}` can be held"),
    }
}

fn cancel(log: &mut RunLog, machine: &Machine, run: &mut Run, by: &str) -> anyhow::Result<()> {
    let command = Command {
        at_ms: live::now_ms(),
        kind: CommandKind::Cancel { by: by.to_owned() },
    };
    submit(log, machine, run, &command)?;
    Ok(())
}

impl Guard for Guards {
    fn begin(&self, wanted: &GuardWanted<'_>) -> Result<Box<dyn Guarded>, String> {
        match self.start(wanted) {
            Ok(held) => Ok(Box::new(held)),
            Err(error) => Err(format!("{error:#}")),
        }
    }
}

/// A run that guards an agent.
#[derive(Debug)]
struct GuardedRun {
    home: Home,
    tool: String,
    log: RunLog,
    machine: Machine,
    project: PathBuf,
    start_options: StartOptions,
    credential: String,
}

impl Guarded for GuardedRun {
    fn environment(&self) -> Vec<(String, String)> {
        let mut all = self.start_options.environment.clone();
        all.push((GUARD.to_owned(), self.credential.clone()));
        all
    }

    fn arguments(&self) -> Vec<String> {
        self.start_options.arguments.clone()
    }

    fn end(&mut self) -> Result<(), String> {
        self.settle()
            .unwrap_or_else(|error| Err(format!("{error:#}")))
    }
}

impl GuardedRun {
    /// Closes the run if it is still open, and returns how it ended.
    fn settle(&mut self) -> anyhow::Result<Result<(), String>> {
        let id = self.log.run().clone();
        let mut run = self.log.load()?;
        let asked = self.home.session_of(&id)?.is_some();
        let ended = self.ended(&run, asked);
        if !run.is_over() {
            cancel(
                &mut self.log,
                &self.machine,
                &mut run,
                "the end of its agent",
            )?;
        }
        self.home.revoke_credentials(&id)?;
        self.home.lock_bindings()?.release(&id, &self.project)?;
        Ok(ended)
    }

    fn ended(&self, run: &Run, asked: bool) -> Result<(), String> {
        let (workflow, id) = (&self.machine.id, &run.id);
        let state = report(&self.machine, run, None).state;
        match &run.phase {
            Phase::Ended {
                outcome: Outcome::Success,
                ..
            } => Ok(()),
            Phase::Ended { cause, .. } => {
                let why = cause.as_ref().map(|cause| format!(": {}", cause.message));
                Err(format!(
                    "`{workflow}` (run {id}) ended as a failure in `{state}`{}",
                    why.unwrap_or_default()
                ))
            }
            Phase::Cancelled => Err(format!("`{workflow}` (run {id}) was cancelled")),
            Phase::New | Phase::Open if !asked => Err(format!(
                "the hooks of `{}` asked nothing: nobody was guarded by `{workflow}`",
                self.tool
            )),
            Phase::New | Phase::Open => Err(format!(
                "`{workflow}` (run {id}) stood in `{state}` when the agent ended: no final state was reached"
            )),
        }
    }
}
