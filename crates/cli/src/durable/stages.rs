//! What the model stages of a run work with: their models and tools, the project, the people.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use interlock_clients::{HookSetting, plugins};
use interlock_confine::Decided;
use interlock_core::{
    command::CommandKind,
    machine::{Machine, ModeRules},
    names::RunId,
    run::Run,
};
use interlock_facts::RealDisk;
use interlock_process::Terminal;
use interlock_project::{Assets, Config, Modes, configuration_directory};
use interlock_runner::{Channel, Nodes, People, Screen, Servers, Stages, TerminalPrompt};
use interlock_store::RunLog;
use interlock_tools::{Secrets, Tool};

use super::{Terms, models::OfPerson, nodes, servers::OfRun, trust};
use crate::{
    app::{self, App},
    args::{Asking, StageArgs},
    authority,
    failure::Failure,
};

/// What person and project have set, as far as it counts for a run.
#[derive(Debug)]
pub(super) struct Configured {
    person: Config,
    /// Of the project: nothing where it is not trusted.
    project: Config,
    /// What the person was asked about it just now.
    said: Option<trust::TrustAnswer>,
    /// Whether the person has said that they trust the project.
    is_trusted: bool,
}

impl Configured {
    /// Reads both, and asks the person about the project where its files widen anything.
    pub(super) fn read(app: &App, root: &Path, headless: bool) -> Result<Self, Failure> {
        let person = Config::of_person(configuration_directory(app::variable).as_deref())?;
        let project = Config::of_project(root)?;
        let (project, said) = trust::counted(app, root, &person, project, headless)?;
        let is_trusted = trust::is_given(app, root, &person, said.as_ref())?;
        Ok(Self {
            person,
            project,
            said,
            is_trusted,
        })
    }

    /// Returns what both define for CodeMie files, of the project what counts.
    fn assets(&self, root: &Path) -> Assets {
        let directory = configuration_directory(app::variable);
        Assets::of(&self.person, directory.as_deref(), &self.project, root)
    }

    /// Decides the mode of a run of `machine`.
    pub(super) fn mode(
        &self,
        machine: &Machine,
        args: &StageArgs,
    ) -> Result<Option<ModeRules>, Failure> {
        if machine.stages.is_none() && !machine.has_stages() {
            return Ok(None);
        }
        let rules = machine.stages.clone().unwrap_or_default();
        let modes = Modes {
            said: args.mode.map(crate::args::ModeWord::mode),
            person: &self.person,
            project: &self.project,
            workflow: (rules.mode, &rules.allowlist),
        };
        modes.of_run().map(Some).map_err(Failure::usage)
    }

    /// Finds every model that `machine` names, with its key.
    pub(super) fn models(&self, machine: &Machine, args: &StageArgs) -> Result<OfPerson, Failure> {
        OfPerson::of(machine, args.model.as_deref(), &self.person, &self.project)
    }
}

/// What the stages of a run need from outside, found before a run begins or goes on.
pub(crate) struct Prepared {
    pub(super) configured: Configured,
    models: OfPerson,
    servers: Option<OfRun>,
}

impl Prepared {
    /// Finds it; `None`: the machine has neither stages nor tool states and custom nodes.
    ///
    /// `run` has begun already. Refused: a model that is none, a key that is missing, a name that means two things.
    pub(super) fn find(
        app: &App,
        root: &Path,
        machine: &Machine,
        terms: &Terms,
        run: Option<&RunId>,
    ) -> Result<Option<Self>, Failure> {
        if !machine.has_stages() && !nodes::has_nodes(machine) {
            return Ok(None);
        }
        let configured = Configured::read(app, root, terms.headless)?;
        let models = configured.models(machine, &terms.stages)?;
        let servers = OfRun::start(app, root, (&configured.person, &configured.project), run)?;
        if let Some(servers) = &servers {
            servers.leave_free(machine)?;
        }
        if nodes::has_nodes(machine) {
            let (assets, person) = (configured.assets(root), &configured.person);
            nodes::look_up(app, root, (machine, person), assets, servers.as_ref())?;
        }
        Ok(Some(Self {
            configured,
            models,
            servers,
        }))
    }

    /// Finds it for a run that began earlier.
    pub(super) fn of_run(
        app: &App,
        root: &Path,
        machine: &Machine,
        terms: &Terms,
        run: &Run,
    ) -> Result<Option<Self>, Failure> {
        let found = Self::find(app, root, machine, terms, Some(&run.id))?;
        if let Some(found) = &found {
            found.still_there(machine, run)?;
        }
        Ok(found)
    }

    /// Returns what the run is told that a person was asked meanwhile.
    pub(super) fn told(&self) -> Option<CommandKind> {
        self.configured.said.as_ref().map(trust::TrustAnswer::ask)
    }

    /// Refuses to go on with a stage whose tools are not there any more.
    fn still_there(&self, machine: &Machine, run: &Run) -> Result<(), Failure> {
        for path in run.open_leaves() {
            let Some(frame) = run.frame(&path) else {
                continue;
            };
            if machine.agents.contains_key(&frame.at) {
                // Its own servers are started with it.
                continue;
            }
            let tools = frame
                .stay
                .stage_attempt()
                .into_iter()
                .flat_map(|progress| &progress.tools);
            let own = Tool::PIPELINE.iter().chain(&Tool::CODEMIE);
            let own: Vec<&str> = own.map(|tool| tool.name()).collect();
            let gone = tools
                .filter(|tool| !own.contains(&tool.as_str()))
                .find(|tool| {
                    let servers = self.servers.as_ref();
                    servers.and_then(|servers| servers.known(tool)).is_none()
                });
            if let Some(tool) = gone {
                return Err(anyhow::anyhow!(
                    "`{}` works with the tool `{tool}`, which no MCP server has now: the run stays where it is",
                    frame.at
                )
                .into());
            }
        }
        Ok(())
    }
}

/// Returns the variables of this process that are text.
fn texts_of_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// What the stages of a run work with, and its tool states where it has any.
pub(super) struct Made {
    pub(super) stages: Arc<Stages>,
    pub(super) nodes: Option<Arc<Nodes>>,
}

/// Makes what the stages of a run work with.
pub(super) struct Making<'a> {
    pub(super) app: &'a App,
    pub(super) project: &'a str,
    pub(super) machine: &'a Machine,
    pub(super) terms: &'a Terms,
    pub(super) screen: &'a Arc<dyn Screen>,
    pub(super) terminal: Option<&'a Arc<Terminal>>,
}

impl Making<'_> {
    /// Makes it, and what its tool states work with, of what was found before.
    pub(super) fn make(
        &self,
        prepared: Prepared,
        log: &RunLog,
        run: &Run,
    ) -> Result<Made, Failure> {
        let root = self.project;
        let args = &self.terms.stages;
        let Prepared {
            configured,
            models,
            servers,
        } = prepared;
        if let Some(servers) = &servers {
            servers.belong_to(run.id.clone(), Arc::clone(self.screen))?;
        }
        let setting = HookSetting::of_process().map_err(|why| anyhow::anyhow!(why))?;
        let host = plugins::host(&setting);
        let mut decided = Decided::read(Path::new(root), host.configuration.as_deref())?;
        let mut place = host.surroundings(Path::new(root), root, None);
        decided.apply(&mut place);
        place.environment_held = true;
        place.kernel_holds = interlock_confine::kernel_holds();
        let assets = configured.assets(Path::new(root));
        let is_trusted = configured.is_trusted;
        decided.person = configured.person;
        let stages = Stages {
            models: Arc::new(models),
            model: args.model.clone(),
            tools: match self.machine.conversation {
                Some(_) => Tool::CODEMIE.to_vec(),
                None => Tool::PIPELINE.to_vec(),
            },
            secrets: Secrets::of_environment(texts_of_environment()),
            servers: servers.map(|servers| Arc::new(servers) as Arc<dyn Servers>),
            messages: log.messages(),
            home: setting.home.clone(),
            place: place.resolved(&RealDisk),
            decided,
            program: app::program()?,
            people: self.people(args),
            datasources: nodes::datasources(self.app, &assets),
            variables: BTreeMap::new(),
        };
        let nodes = nodes::has_nodes(self.machine).then(|| {
            let screen = Arc::clone(self.screen);
            Arc::new(nodes::of_run(
                self.app,
                screen,
                (assets, is_trusted),
                &stages,
            ))
        });
        let stages = Arc::new(stages);
        Ok(Made { stages, nodes })
    }

    fn people(&self, args: &StageArgs) -> People {
        let remote = args.ask == Some(Asking::Remote);
        let terminal_prompt = |terminal: &Arc<Terminal>| {
            let screen = Arc::clone(self.screen);
            let terminal_prompt =
                TerminalPrompt::new(Arc::clone(terminal), screen, authority::name());
            Arc::new(terminal_prompt) as Arc<dyn Channel>
        };
        let here = self.terminal.filter(|_| !remote && !args.no_wait);
        People {
            here: here.map(terminal_prompt),
            elsewhere: remote || args.no_wait,
            no_wait: args.no_wait,
        }
    }
}
