//! From a workflow of steps to a run that no process runs yet.

use std::path::PathBuf;

use interlock_formats::{Loaded, Severity, Source, UNSET_VARIABLE, is_of_steps};
use interlock_project::Config;
use interlock_store::{NewDurable, NewRun, RunLog, SourceFile, StartError, StoreError};

use super::{
    Terms, conversation_input, inputs, variables,
    world::{World, failed},
};
use crate::{
    app::{self, App},
    args::{CarryArgs, ModeWord},
    authority,
    failure::Failure,
    live, origin, telemetry,
};

/// A valid workflow of steps.
#[derive(Debug)]
pub(crate) struct Steps {
    pub(crate) loaded: Loaded,
    source: Source,
    /// Root of the project that its paths are resolved against.
    project: PathBuf,
}

impl Steps {
    /// Returns whether it is started with inputs, not with variables.
    pub(crate) fn takes_text(&self) -> bool {
        let machine = &self.loaded.machine;
        !self.loaded.inputs.is_empty() || machine.conversation.is_some() || machine.has_stages()
    }
}

/// Loads a workflow of steps.
///
/// With `strict`, ambiguities in the file are errors.
pub(crate) fn of_steps(app: &App, wanted: &str, strict: bool) -> Result<Steps, Failure> {
    let library = app.library_to_read();
    let source = library.open(wanted)?;
    let load = if strict {
        live::load_source_strictly
    } else {
        live::load_source
    };
    let loaded = load(app, &library, &source).inspect_err(|_| {
        if !is_of_steps(&source) {
            app.output.remark(&format!(
                "interlock: to start a workflow that guards an agent, use `interlock start {wanted}`\n"
            ));
        }
    })?;
    if !loaded.machine.durable && loaded.machine.has_stages() {
        return Err(anyhow::anyhow!(
            "`{}` also guards an agent: start it with `interlock start {wanted}`; `interlock resume` runs each stage when the run reaches it",
            loaded.machine.id
        )
        .into());
    }
    if !loaded.machine.durable {
        return Err(anyhow::anyhow!(
            "`{}` guards an agent and has no steps to run: start it with `interlock start {wanted}`",
            loaded.machine.id
        )
        .into());
    }
    let file = app.directory.join(&source.name);
    Ok(Steps {
        project: library.root_of(&file),
        loaded,
        source,
    })
}

/// A run that no process runs yet.
pub(crate) struct Begun {
    pub(super) log: RunLog,
    /// The context that was prepared for it; `None` if it began earlier.
    pub(super) world: Option<World>,
}

impl Begun {
    /// Wraps a run that began earlier.
    pub(super) const fn known(log: RunLog) -> Self {
        Self { log, world: None }
    }
}

/// Starts a run of `steps`; its programs wait for the process that runs it.
pub(crate) fn begin(
    app: &App,
    steps: &Steps,
    args: &CarryArgs,
    terms: &Terms,
) -> Result<Begun, Failure> {
    let machine = &steps.loaded.machine;
    let input = match &machine.conversation {
        Some(_) => Some(conversation_input::of(
            args,
            &steps.project,
            &app.directory,
        )?),
        None => conversation_input::none(args).map(|()| None)?,
    };
    let context = if input.is_some() {
        conversation_input::variables(args)
    } else if steps.takes_text() {
        inputs::of_pipeline(args, &steps.loaded.inputs)?
    } else {
        variables::checked(&args.variables, &steps.loaded.variables)?
    };
    remark(app, steps, args);
    // Every name and key is found before anything starts.
    let mut world = World::of_project(app, &steps.project, machine, terms)?;
    world.builder.prepare(machine, None).map_err(failed)?;
    let mode = match world.builder.prepared() {
        Some(config) => config
            .mode(machine, args.stages.mode.map(ModeWord::mode))
            .map_err(Failure::usage)?,
        None => None,
    };
    let home = app.home()?;
    let config = Config::of_project(&steps.project)?;
    let person = app::home_of_person().unwrap_or_else(|| PathBuf::from("/"));
    let new = NewRun {
        machine,
        source: &SourceFile {
            name: steps.source.name.clone(),
            text: steps.source.text.clone(),
        },
        project_root: &steps.project,
        name: args.name.as_deref(),
        durability: live::durability(&config),
        at_ms: live::now_ms(),
    };
    let durable = NewDurable {
        new,
        home: &person,
        origin: &origin::of_loaded(&app.directory, &steps.loaded, args.clean_on_end),
        mode,
        input,
    };
    let started = home
        .start_durable(&durable, context, &authority::name())
        .map_err(named)?;
    telemetry::keep_parent(&home, started.log.run());
    Ok(Begun {
        log: started.log,
        world: Some(world),
    })
}

/// Converts an error for the command line.
fn named(error: StartError) -> Failure {
    match error {
        StartError::Store(error @ StoreError::BadName { .. }) => Failure::usage(error),
        error => error.into(),
    }
}

/// Reports that the workflow has warnings, which `check` shows.
fn remark(app: &App, steps: &Steps, args: &CarryArgs) {
    let warnings = steps.loaded.warnings.iter();
    // Missing values are in the log, once the input of the run is known.
    let count = warnings
        .filter(|warning| warning.severity == Severity::Warning && warning.code != UNSET_VARIABLE)
        .count();
    if count == 0 || args.json {
        return;
    }
    let file = &steps.source.name;
    let what = if count == 1 { "warning" } else { "warnings" };
    app.output.remark(&format!(
        "interlock: {count} {what} in `{file}`: `interlock check {file}` shows what\n"
    ));
}
