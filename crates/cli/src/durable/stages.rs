//! What the model stages of a run work with: their models and tools, the project, the people.

use std::{path::Path, sync::Arc};

use interlock_clients::HookSetting;
use interlock_confine::Decided;
use interlock_core::{
    machine::{Activity, Machine, ModeRules},
    run::Run,
};
use interlock_facts::RealDisk;
use interlock_project::{Config, Modes, configuration_directory};
use interlock_runner::{Channel, Desk, People, Screen, Stages, Terminal};
use interlock_store::RunLog;
use interlock_tools::Tool;

use super::{Terms, models::OfPerson, trust};
use crate::{
    app::{self, App},
    args::{Asking, StageArgs},
    authority,
    failure::Failure,
};

/// Tells whether a machine has model stages.
pub(super) fn has_stages(machine: &Machine) -> bool {
    let machines = std::iter::once(machine).chain(machine.machines.values());
    machines
        .flat_map(|machine| machine.states.values())
        .any(|state| matches!(state.activity, Activity::Stage(_)))
}

/// What person and project have set, as far as it counts for a run.
#[derive(Debug)]
pub(super) struct Configured {
    person: Config,
    /// Of the project: nothing where it is not trusted.
    project: Config,
}

impl Configured {
    /// Reads both, and asks the person about the project where its files widen anything.
    pub(super) fn read(app: &App, root: &Path, headless: bool) -> Result<Self, Failure> {
        let person = Config::of_person(configuration_directory(app::variable).as_deref())?;
        let project = Config::of_project(root)?;
        let project = trust::counted(app, root, &person, project, headless)?;
        Ok(Self { person, project })
    }

    /// Decides the mode of a run of `machine`.
    pub(super) fn mode(
        &self,
        machine: &Machine,
        args: &StageArgs,
    ) -> Result<Option<ModeRules>, Failure> {
        let Some(rules) = &machine.stages else {
            return Ok(None);
        };
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

/// Makes what the stages of a run work with.
pub(super) struct Making<'a> {
    pub(super) app: &'a App,
    pub(super) machine: &'a Machine,
    pub(super) terms: &'a Terms,
    pub(super) screen: &'a Arc<dyn Screen>,
    pub(super) terminal: Option<&'a Arc<Terminal>>,
}

impl Making<'_> {
    /// Makes it; `None`: the run has no stages.
    pub(super) fn stages(&self, log: &RunLog, run: &Run) -> Result<Option<Arc<Stages>>, Failure> {
        if !has_stages(self.machine) {
            return Ok(None);
        }
        let places = run.places.as_deref();
        let root = places.map_or("/", |places| places.project.as_str());
        let args = &self.terms.stages;
        let configured = Configured::read(self.app, Path::new(root), self.terms.headless)?;
        let models = configured.models(self.machine, args)?;
        let setting = HookSetting::of_process().map_err(|why| anyhow::anyhow!(why))?;
        let host = setting.host();
        let mut decided = Decided::read(Path::new(root), host.configuration.as_deref())?;
        let mut place = host.surroundings(Path::new(root), root, None);
        decided.apply(&mut place);
        place.environment_held = true;
        decided.person = configured.person;
        Ok(Some(Arc::new(Stages {
            models: Arc::new(models),
            model: args.model.clone(),
            tools: Tool::PIPELINE.to_vec(),
            servers: None,
            messages: log.messages(),
            place: place.resolved(&RealDisk),
            decided,
            program: app::program()?,
            people: self.people(args),
        })))
    }

    fn people(&self, args: &StageArgs) -> People {
        let remote = args.ask == Some(Asking::Remote);
        let desk = |terminal: &Arc<Terminal>| {
            let screen = Arc::clone(self.screen);
            let desk = Desk::new(Arc::clone(terminal), screen, authority::name());
            Arc::new(desk) as Arc<dyn Channel>
        };
        let here = self.terminal.filter(|_| !remote && !args.no_wait);
        People {
            here: here.map(desk),
            elsewhere: remote || args.no_wait,
            no_wait: args.no_wait,
        }
    }
}
