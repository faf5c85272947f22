//! The models that stages of a run may call, found and ready before the first stage.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use interlock_core::machine::{Activity, Machine, NodeKind, Task, TaskKind};
use interlock_expr::text::ValueTemplate;
use interlock_models::{Answer, Client, Heard, ModelError, Request, RetryPolicy, Usage};
use interlock_nodes::RecordsNode;
use interlock_process::Cancel;
use interlock_project::{Environment, Models as Configured, ReadyModel};

use crate::{
    build_error::BuildError,
    run_config::RunConfig,
    stage::{Model, Models, Tries},
};

/// The models of a run, as the person has configured them.
pub(super) struct ConfiguredModels {
    client: Client,
    environment: Environment,
    configured: Configured,
    /// Models by their names in the workflow; the empty name is the configured default.
    ready: Mutex<BTreeMap<String, ReadyModel>>,
}

impl ConfiguredModels {
    /// Prepares every model that `machine` names; `said` is for stages that name none.
    ///
    /// An unknown name or a missing key is refused before anything starts.
    pub(super) fn of(
        machine: &Machine,
        said: Option<&str>,
        config: &RunConfig,
        environment: &Environment,
    ) -> Result<Self, BuildError> {
        let models = Self {
            client: Client::new()?,
            environment: environment.clone(),
            configured: Configured::of(&config.person, &config.project),
            ready: Mutex::default(),
        };
        for wanted in wanted(machine, said) {
            models.ready(wanted).map_err(BuildError::Usage)?;
        }
        for wanted in of_records(machine, said) {
            models.ready(wanted.as_deref()).map_err(BuildError::Usage)?;
        }
        Ok(models)
    }

    fn ready(&self, wanted: Option<&str>) -> Result<ReadyModel, String> {
        let key = wanted.unwrap_or_default().to_owned();
        let mut known = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = known.get(&key) {
            return Ok(ready.clone());
        }
        let look = |name: &str| self.environment.variable(name);
        let ready = self
            .configured
            .ready(wanted, look)
            .map_err(|error| error.to_string())?;
        known.insert(key, ready.clone());
        Ok(ready)
    }

    fn ready_model(&self, model: &Model) -> Option<ReadyModel> {
        let known = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let is = |ready: &&ReadyModel| {
            ready.name.provider == model.provider && ready.name.model == model.name
        };
        known.values().find(is).cloned()
    }
}

/// Lists the models that the stages of `machine` name; `None` represents the default.
fn wanted<'m>(machine: &'m Machine, said: Option<&'m str>) -> Vec<Option<&'m str>> {
    let of_run = machine.stages.as_ref();
    let of_run = of_run.and_then(|rules| rules.model.as_deref());
    let machines = std::iter::once(machine).chain(machine.machines.values());
    let stages = machines
        .flat_map(|machine| machine.states.values())
        .filter(|state| matches!(state.activity, Activity::Stage(_)));
    let mut wanted = Vec::new();
    for state in stages {
        let name = state.model.as_deref().or(said).or(of_run);
        if !wanted.contains(&name) {
            wanted.push(name);
        }
    }
    wanted
}

/// Lists the models of states that summarize records with one call each; empty if none is called.
fn of_records(machine: &Machine, said: Option<&str>) -> Vec<Option<String>> {
    let machines = std::iter::once(machine).chain(machine.machines.values());
    let works = machines.flat_map(|machine| machine.states.values());
    let works = works.filter_map(|state| match &state.activity {
        Activity::Task(Task {
            kind: TaskKind::Node(NodeKind::StateRecords),
            input: ValueTemplate::Plain(input),
        }) => serde_json::from_value::<RecordsNode>(input.clone()).ok(),
        _ => None,
    });
    let asking = works.filter(|node| node.task.is_some());
    let said = said.map(str::to_owned);
    asking
        .map(|node| node.model.or_else(|| said.clone()))
        .collect()
}

impl Models for ConfiguredModels {
    fn find(&self, wanted: Option<&str>) -> Result<Model, String> {
        let name = self.ready(wanted)?.name;
        Ok(Model {
            provider: name.provider,
            kind: name.kind,
            name: name.model,
        })
    }

    fn call(
        &self,
        model: &Model,
        request: &Request,
        tries: Tries,
        cancel: &Cancel,
        heard: &mut dyn FnMut(Heard<'_>),
    ) -> Result<Answer, ModelError> {
        let Some(ready) = self.ready_model(model) else {
            // It was found before it is called.
            return Err(ModelError {
                failure: interlock_models::Failure {
                    code: interlock_models::Code::ModelError,
                    message: format!("`{}` is not ready", model.name),
                    status: None,
                    is_passing: false,
                    retry_after: None,
                },
                tries: 0,
            });
        };
        let provider = &ready.provider;
        match tries {
            Tries::Several => {
                let retry = RetryPolicy::default();
                self.client.call(provider, request, &retry, cancel, heard)
            }
            Tries::Once => self
                .client
                .call_once(provider, request, cancel, heard)
                .map_err(|failure| ModelError { failure, tries: 1 }),
        }
    }

    fn cost(&self, model: &Model, usage: &Usage) -> Option<u64> {
        self.ready_model(model)?.price?.pico_usd(usage)
    }
}
