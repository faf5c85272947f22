//! Assembles what a run needs: its log and lease, models, tools, servers, people and screen.

mod checks;
mod configured;
mod models;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use interlock_confine::{Decided, call_context, call_site};
use interlock_core::{
    machine::{Activity, Machine, TaskKind},
    run::Run,
};
use interlock_expr::text::Places;
use interlock_facts::RealDisk;
use interlock_process::Terminal;
use interlock_project::{Assets, Environment};
use interlock_store::{EventLog as _, RunLog};
use interlock_tools::{Datasource, Secrets, Tool};

use crate::{
    build_error::BuildError,
    codemie::look_up,
    embedded::Embedded,
    guard::Guard,
    mcp::{Launcher, Note},
    nodes::Nodes,
    run_config::RunConfig,
    run_context::RunContext,
    screen::{NullScreen, Screen},
    stage::{Channel, Models, People, Servers, Stages, TerminalPrompt},
};
use checks::{leave_free, still_there};
use configured::Configuration;
use models::ConfiguredModels;

/// Where people are asked about calls that a stage does not list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Approvals {
    /// At the terminal, if there is one.
    #[default]
    Here,
    /// In other processes; the runner waits for their answers.
    Remote,
    /// In other processes; the run stops until they answer.
    NoWait,
}

/// Assembles everything that a run needs.
///
/// [`Builder::prepare`] finds every model, key and server before a run begins or continues; [`Builder::take`] takes the run.
pub struct Builder {
    environment: Environment,
    project: PathBuf,
    config: Option<RunConfig>,
    plugins: Vec<PathBuf>,
    model: Option<String>,
    models: Option<Arc<dyn Models>>,
    person: String,
    approvals: Approvals,
    screen: Arc<dyn Screen>,
    terminal: Option<Arc<Terminal>>,
    guard: Option<Arc<dyn Guard>>,
    note: Note,
    found: Option<Found>,
}

/// Models, servers and tools that were found for the stages of a run.
struct Found {
    config: RunConfig,
    models: Arc<dyn Models>,
    servers: Option<Arc<dyn Servers>>,
}

impl Builder {
    /// Creates a builder for a project, without terminal, screen and configuration.
    #[must_use]
    pub fn new(environment: Environment, project: &Path) -> Self {
        Self {
            environment,
            project: project.to_owned(),
            config: None,
            plugins: Vec::new(),
            model: None,
            models: None,
            person: "a person".to_owned(),
            approvals: Approvals::default(),
            screen: Arc::new(NullScreen),
            terminal: None,
            guard: None,
            note: Arc::new(|_| {}),
            found: None,
        }
    }

    /// Returns whether a machine has states that need the configuration of models, tools or servers.
    #[must_use]
    pub fn needs_config(machine: &Machine) -> bool {
        machine.has_stages() || has_nodes(machine)
    }

    /// Sets the configuration of person and project.
    #[must_use]
    pub fn config(self, config: RunConfig) -> Self {
        Self {
            config: Some(config),
            ..self
        }
    }

    /// Sets further folders from which clients load Interlock's plugin.
    #[must_use]
    pub fn plugins(self, plugins: Vec<PathBuf>) -> Self {
        Self { plugins, ..self }
    }

    /// Sets the model of stages that name none.
    #[must_use]
    pub fn model(self, model: Option<String>) -> Self {
        Self { model, ..self }
    }

    /// Sets the models to use instead of the configured ones.
    #[must_use]
    pub fn models(self, models: Arc<dyn Models>) -> Self {
        Self {
            models: Some(models),
            ..self
        }
    }

    /// Sets the person's name, and where people are asked.
    #[must_use]
    pub fn people(self, person: String, approvals: Approvals) -> Self {
        Self {
            person,
            approvals,
            ..self
        }
    }

    /// Sets the screen that shows the run.
    #[must_use]
    pub fn screen(self, screen: Arc<dyn Screen>) -> Self {
        Self { screen, ..self }
    }

    /// Sets the terminal of a person.
    #[must_use]
    pub fn terminal(self, terminal: Option<Arc<Terminal>>) -> Self {
        Self { terminal, ..self }
    }

    /// Sets what binds agents to a workflow of their own.
    #[must_use]
    pub fn guard(self, guard: Arc<dyn Guard>) -> Self {
        Self {
            guard: Some(guard),
            ..self
        }
    }

    /// Sets the receiver of lines for the person while there is no screen.
    #[must_use]
    pub fn note(self, note: Note) -> Self {
        Self { note, ..self }
    }

    /// Finds every model, key and server that `machine` names; `run` is given if the run has already begun.
    ///
    /// # Errors
    /// There is no such model, a key is missing, a server does not start, a name is ambiguous, or a tool of an open stage is
    /// gone.
    pub fn prepare(&mut self, machine: &Machine, run: Option<&Run>) -> Result<(), BuildError> {
        if !Self::needs_config(machine) {
            return Ok(());
        }
        let config = self.config.take().unwrap_or_default();
        let models = match &self.models {
            Some(models) => Arc::clone(models),
            None => Arc::new(ConfiguredModels::of(
                machine,
                self.model.as_deref(),
                &config,
                &self.environment,
            )?) as Arc<dyn Models>,
        };
        let run_id = run.map(|run| &run.id);
        let launcher = self.launcher();
        let servers = launcher.launch_configured(&config, &self.project, run_id)?;
        if let Some(servers) = &servers {
            leave_free(machine, servers.as_ref())?;
        }
        if has_nodes(machine) {
            let assets = config.assets(&self.environment, &self.project);
            let configuration = self.configuration(&config, &self.project, assets);
            look_up(machine, &configuration, servers.as_deref()).map_err(BuildError::Unusable)?;
        }
        let found = Found {
            config,
            models,
            servers,
        };
        if let Some(run) = run {
            still_there(machine, run, found.servers.as_deref())?;
        }
        self.found = Some(found);
        Ok(())
    }

    /// Returns the prepared configuration; `None` if nothing of the machine needs it.
    #[must_use]
    pub fn prepared(&self) -> Option<&RunConfig> {
        self.found.as_ref().map(|found| &found.config)
    }

    /// Takes the run for this process.
    ///
    /// # Errors
    /// Another process runs it, its log cannot be read, or a path is not valid text.
    pub fn take(mut self, log: RunLog, machine: &Machine) -> Result<Embedded, BuildError> {
        let run = log.load()?;
        let places = match run.places() {
            Some(places) => places.clone(),
            None => places(&self.environment, &self.project, &log)?,
        };
        let mut context = RunContext::new(run.id.to_string(), places, log.folder().work());
        context.screen = Arc::clone(&self.screen);
        context.guard = self.guard.take();
        context.terminal.clone_from(&self.terminal);
        if let Some(found) = self.found.take() {
            if let Some(servers) = &found.servers {
                servers.show_on(Arc::clone(&self.screen));
                servers.keep_with(&run.id)?;
            }
            let root = context.places.project.clone();
            let (stages, nodes) = self.stages(found, machine, &log, Path::new(&root))?;
            context.stages = Some(Arc::new(stages));
            context.nodes = nodes.map(Arc::new);
        }
        Ok(Embedded::take(log.kept(), context)?)
    }

    /// Creates the context of a run's stages, and of its tool states if it has any.
    fn stages(
        &self,
        found: Found,
        machine: &Machine,
        log: &RunLog,
        root: &Path,
    ) -> Result<(Stages, Option<Nodes>), BuildError> {
        let Found {
            config,
            models,
            servers,
        } = found;
        let environment = &self.environment;
        let mut decided = Decided::read(root, environment.configuration())?;
        let site = call_site(environment, &root.to_string_lossy(), None);
        let mut place = call_context(environment, &self.plugins, root, site);
        decided.apply(&mut place);
        place.environment_held = true;
        place.kernel_holds = interlock_confine::kernel_holds();
        decided.person = config.person.clone();
        let assets = config.assets(environment, root);
        let stages = Stages {
            models,
            model: self.model.clone(),
            tools: match machine.conversation {
                Some(_) => Tool::CODEMIE.to_vec(),
                None => Tool::PIPELINE.to_vec(),
            },
            secrets: Secrets::of_environment(environment.texts()),
            servers,
            messages: log.messages(),
            home: environment.home.clone(),
            place: place.resolved(&RealDisk),
            decided,
            program: environment.real_program().ok_or(BuildError::NoProgram)?,
            people: self.asked(),
            datasources: self.datasources(&assets),
            variables: BTreeMap::new(),
        };
        if !has_nodes(machine) {
            return Ok((stages, None));
        }
        let root = Path::new(&stages.place.project_root);
        let configuration = Configuration {
            screen: Some(Arc::clone(&self.screen)),
            ..self.configuration(&config, root, assets)
        };
        let mut nodes = Nodes::new(
            stages.place.clone(),
            stages.decided.clone(),
            stages.program.clone(),
            Arc::new(configuration),
        );
        nodes.datasources.clone_from(&stages.datasources);
        nodes.servers.clone_from(&stages.servers);
        Ok((stages, Some(nodes)))
    }

    fn configuration(&self, config: &RunConfig, root: &Path, assets: Assets) -> Configuration {
        Configuration {
            environment: self.environment.clone(),
            root: root.to_owned(),
            assets,
            config: config.clone(),
            launcher: self.launcher(),
            screen: None,
        }
    }

    fn launcher(&self) -> Launcher {
        let (environment, plugins) = (self.environment.clone(), self.plugins.clone());
        Launcher::new(environment, plugins, Arc::clone(&self.note))
    }

    fn asked(&self) -> People {
        let prompt = |terminal: &Arc<Terminal>| {
            let screen = Arc::clone(&self.screen);
            let prompt = TerminalPrompt::new(Arc::clone(terminal), screen, self.person.clone());
            Arc::new(prompt) as Arc<dyn Channel>
        };
        let terminal = self.terminal.as_ref();
        People {
            here: terminal
                .filter(|_| self.approvals == Approvals::Here)
                .map(prompt),
            elsewhere: self.approvals != Approvals::Here,
            no_wait: self.approvals == Approvals::NoWait,
        }
    }

    /// Finds the folders and files besides the project; those that cannot be read are reported as notes.
    fn datasources(&self, assets: &Assets) -> Vec<Datasource> {
        let mut datasources = Vec::new();
        for (id, path) in assets.datasources() {
            match Datasource::at(id, path) {
                Ok(source) => datasources.push(source),
                // Only the states that name it have to do without it.
                Err(why) => (self.note)(&format!(
                    "interlock: `{}` of `[datasources.{id}]` cannot be read: {why}",
                    path.display()
                )),
            }
        }
        datasources
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("project", &self.project)
            .field("approvals", &self.approvals)
            .finish_non_exhaustive()
    }
}

/// Returns whether a machine has tool states or custom nodes, or agents with servers of their own.
fn has_nodes(machine: &Machine) -> bool {
    if machine.conversation.is_some() {
        return true;
    }
    let machines = std::iter::once(machine).chain(machine.machines.values());
    machines
        .flat_map(|machine| machine.states.values())
        .any(|state| matches!(&state.activity, Activity::Task(task) if matches!(task.kind, TaskKind::Node(_))))
}

/// Returns the folders in which the stages of a run work that also guards an agent: those of the agent's project.
fn places(environment: &Environment, project: &Path, log: &RunLog) -> Result<Places, BuildError> {
    let word = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| BuildError::Unusable(format!("`{}` is not text", path.display())))
    };
    let home = environment.home_of_person();
    Ok(Places {
        run_dir: word(log.folder().work())?,
        project: word(project)?,
        home: word(home.as_deref().unwrap_or(Path::new("/")))?,
    })
}
