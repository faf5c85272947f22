//! The context of a run, assembled from the command line.

use std::{path::Path, sync::Arc};

use interlock_clients::plugins;
use interlock_core::{command::CommandKind, machine::Machine};
use interlock_project::Config;
use interlock_runner::{Approvals, BuildError, Builder, RunConfig};

use super::{Terms, trust};
use crate::{
    app::{self, App},
    args::Asking,
    authority,
    failure::Failure,
};

/// The context of a run.
pub(crate) struct World {
    pub(super) builder: Builder,
    /// Command that records a question which a person was asked meanwhile.
    pub(super) told: Option<CommandKind>,
}

impl World {
    /// Begins with the project at `root`; the person is asked about it if its files widen anything.
    pub(super) fn of_project(
        app: &App,
        root: &Path,
        machine: &Machine,
        terms: &Terms,
    ) -> Result<Self, Failure> {
        let environment = app.environment()?.clone();
        let args = &terms.stages;
        let approvals = match args.ask {
            _ if args.no_wait => Approvals::NoWait,
            Some(Asking::Remote) => Approvals::Remote,
            _ => Approvals::Here,
        };
        let output = app.output;
        let builder = Builder::new(environment.clone(), root)
            .model(args.model.clone())
            .people(authority::name(), approvals)
            .note(Arc::new(move |line| {
                output.remark(&format!("{line}\n"));
            }));
        if !Builder::needs_config(machine) {
            return Ok(Self {
                builder,
                told: None,
            });
        }
        let (config, told) = config(app, root, terms.headless)?;
        let builder = builder
            .config(config)
            .plugins(plugins::in_place(&environment));
        Ok(Self { builder, told })
    }
}

/// Reads the configuration of person and project, as far as it applies.
fn config(
    app: &App,
    root: &Path,
    headless: bool,
) -> Result<(RunConfig, Option<CommandKind>), Failure> {
    let person = Config::of_person(app::configuration().as_deref())?;
    let project = Config::of_project(root)?;
    let (project, said) = trust::counted(app, root, &person, project, headless)?;
    let is_trusted = trust::is_given(app, root, &person, said.as_ref())?;
    let config = RunConfig {
        person,
        project,
        is_trusted,
    };
    Ok((config, said.as_ref().map(trust::TrustAnswer::ask)))
}

/// Converts an error for the command line.
pub(super) fn failed(error: BuildError) -> Failure {
    if error.is_usage() {
        Failure::usage(error)
    } else {
        error.into()
    }
}
