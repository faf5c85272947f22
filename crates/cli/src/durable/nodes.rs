//! What tool states and custom nodes of a run work with: its servers, folders, and values.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use interlock_core::{
    event::Event,
    machine::{Activity, Machine, ServerWork, TaskKind},
};
use interlock_gateway::{tool_servers::WantedServer, upstream::Reach};
use interlock_project::{Assets, Config, Servers as NoServers};
use interlock_runner::{Configured, Nodes, NotStarted, Screen, ServerRequest, Servers, Stages};
use interlock_store::EventLog as _;
use interlock_tools::Datasource;

use super::servers::OfRun;
use crate::{app, app::App, failure::Failure, live};

/// Tells whether a machine has tool states or custom nodes, or agents with servers of their own.
pub(super) fn has_nodes(machine: &Machine) -> bool {
    if machine.conversation.is_some() {
        return true;
    }
    let machines = std::iter::once(machine).chain(machine.machines.values());
    machines
        .flat_map(|machine| machine.states.values())
        .any(|state| matches!(&state.activity, Activity::Task(task) if matches!(task.kind, TaskKind::Node(_))))
}

/// Finds the folders and files beside the project; what cannot be read is said.
pub(super) fn datasources(app: &App, assets: &Assets) -> Vec<Datasource> {
    let mut datasources = Vec::new();
    for (id, path) in assets.datasources() {
        match Datasource::at(id, path) {
            Ok(source) => datasources.push(source),
            // Only who names it has to do without it.
            Err(why) => app.output.remark(&format!(
                "interlock: `{}` of `[datasources.{id}]` cannot be read: {why}\n",
                path.display()
            )),
        }
    }
    datasources
}

/// Makes what those of a run work with, at the places of its stages.
pub(super) fn of_run(
    app: &App,
    screen: Arc<dyn Screen>,
    (assets, is_trusted): (Assets, bool),
    stages: &Stages,
) -> Nodes {
    let root = Path::new(&stages.place.project_root);
    let person = &stages.decided.person;
    let mut configured = OfConfiguration::new(app, root, person, assets, Some(screen));
    configured.is_trusted = is_trusted;
    let mut nodes = Nodes::new(
        stages.place.clone(),
        stages.decided.clone(),
        stages.program.clone(),
        Arc::new(configured),
    );
    nodes.datasources.clone_from(&stages.datasources);
    nodes.servers = stages.servers.clone();
    nodes
}

/// What person and project have configured, as far as it counts.
struct OfConfiguration {
    app: App,
    root: PathBuf,
    person: Config,
    assets: Assets,
    /// Whether the person has said that they trust the project.
    is_trusted: bool,
    /// Where lines of servers go; `None`: nowhere yet.
    screen: Option<Arc<dyn Screen>>,
}

impl OfConfiguration {
    fn new(
        app: &App,
        root: &Path,
        person: &Config,
        assets: Assets,
        screen: Option<Arc<dyn Screen>>,
    ) -> Self {
        Self {
            app: App {
                output: app.output,
                directory: app.directory.clone(),
            },
            root: root.to_owned(),
            person: person.clone(),
            assets,
            is_trusted: false,
            screen,
        }
    }
}

/// Refuses a workflow with a tool that nobody has, before its first state.
pub(super) fn look_up(
    app: &App,
    root: &Path,
    (machine, person): (&Machine, &Config),
    assets: Assets,
    servers: Option<&OfRun>,
) -> Result<(), Failure> {
    let configured = OfConfiguration::new(app, root, person, assets, None);
    let servers = servers.map(|servers| servers as &dyn Servers);
    interlock_runner::look_up(machine, &configured, servers)
        .map_err(|why| anyhow::anyhow!(why).into())
}

impl Configured for OfConfiguration {
    fn start(
        &self,
        server: &ServerRequest,
        given_up: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Servers>, NotStarted> {
        let named = |why: String| format!("the server `{}`: {why}", server.name);
        let fault = |why: String| NotStarted {
            why,
            passing: false,
        };
        let wanted = WantedServer::written(&server.name, &server.written, &self.root);
        let mut wanted = wanted.map_err(fault)?;
        wanted.only.clone_from(&server.only);
        let is_called = matches!(wanted.reach, Reach::Http(_));
        let (none, person) = (NoServers::default(), (&self.person, None));
        let started = OfRun::begin(&self.app, &self.root, vec![wanted], none, person);
        let started = started.map_err(|failure| match failure {
            Failure::Error(_, error) => fault(named(format!("{error:#}"))),
            Failure::Said(_) => fault(named("it cannot be started".to_owned())),
        })?;
        if let Some(screen) = &self.screen {
            started.show_on(Arc::clone(screen));
        }
        let listed = started.listed(given_up);
        listed.map_err(|why| NotStarted {
            why: named(why),
            // One that is away may come back; a program that does not start will not start the next time.
            passing: is_called && !given_up(),
        })?;
        Ok(Arc::new(started))
    }

    fn trusts_project(&self) -> bool {
        self.is_trusted
    }

    fn server(&self, id: &str) -> Option<ServerWork> {
        self.assets.server(id)
    }

    fn servers(&self) -> Vec<(String, ServerWork)> {
        self.assets.servers()
    }

    fn integration(&self, alias: &str) -> Result<Vec<(String, String)>, String> {
        let found = self.assets.integration(alias);
        let found =
            found.ok_or_else(|| format!("the configuration has no `[integrations.{alias}]`"))?;
        let look = |name: &str| app::variable(name).and_then(|value| value.into_string().ok());
        let values = found.environment(look);
        values.map_err(|why| format!("`[integrations.{alias}]`: {why}"))
    }

    fn run(&self, id: &str) -> Result<(Machine, Vec<Event>), String> {
        let failed = |why: String| format!("the run `{id}` cannot be read: {why}");
        let live = live::open(&self.app, Some(id)).map_err(|failure| match failure {
            Failure::Error(_, error) => failed(format!("{error:#}")),
            Failure::Said(_) => failed("it is not there".to_owned()),
        })?;
        let events = live.log.events(0);
        let events = events.map(|recorded| recorded.map(|recorded| recorded.event));
        let events = events
            .collect::<Result<_, _>>()
            .map_err(|error| failed(error.to_string()))?;
        Ok((live.machine, events))
    }
}
