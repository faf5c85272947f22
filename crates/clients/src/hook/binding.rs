//! Which run guards the session of a hook call.

use std::path::{Path, PathBuf};

use interlock_core::{machine::Object, names::RunId};
use interlock_formats::load;
use interlock_project::{Config, Library, project_root};
use interlock_store::{
    BindError, Binding, Bindings, Durability, EventLog as _, Lookup, NewRun, SessionKey, SourceFile,
};

use super::{
    answer::Trouble,
    environment::HookEnv,
    input::{HookEvent, HookInput},
};

/// Who guards a session.
#[derive(Debug)]
pub(super) enum Standing {
    /// Nobody; the project it is in.
    Unguarded(PathBuf),
    /// A run.
    Guarded(Binding),
}

/// Says by whom a new run of a project's policy is started.
const POLICY: &str = "project policy";

/// Finds the run that guards the session; takes the one that waits, or starts the project's own.
///
/// Opens no database where there is none to be found.
pub(super) fn standing(
    env: &HookEnv,
    key: &SessionKey,
    input: &HookInput,
) -> Result<Standing, Trouble> {
    let root = project_root(Path::new(&input.directory));
    let begins = matches!(
        input.event,
        HookEvent::SessionStart | HookEvent::Prompt | HookEvent::BeforeTool(_)
    );
    match env.state.look_up(key, &root)? {
        Lookup::Bound(binding) if begins => renewed(env, key, input, binding),
        Lookup::Bound(binding) => Ok(Standing::Guarded(binding)),
        Lookup::Waiting(_) if begins => {
            let bindings = env.state.lock_bindings()?;
            let taken = bindings.take_next(key, &root, env.process.clone(), env.now_ms)?;
            drop(bindings);
            match taken {
                Some(binding) => Ok(Standing::Guarded(binding)),
                None => by_policy(env, key, input, root, None),
            }
        }
        Lookup::Unbound if begins => by_policy(env, key, input, root, None),
        Lookup::Waiting(_) | Lookup::Unbound => Ok(Standing::Unguarded(root)),
    }
}

/// Goes on with a binding: an ended run gives way to the next, the client's process is noted.
fn renewed(
    env: &HookEnv,
    key: &SessionKey,
    input: &HookInput,
    binding: Binding,
) -> Result<Standing, Trouble> {
    if let Some(next) = next_waiting(env, key, &binding)? {
        return Ok(Standing::Guarded(next));
    }
    let root = &binding.project_root;
    if input.event == HookEvent::Prompt
        && Config::of_project(root)?.workflow.is_some()
        && is_over(env, &binding.run)?
    {
        return by_policy(env, key, input, root.clone(), Some(binding));
    }
    let known = binding.process.is_some() && binding.session.client.is_some();
    if env.process.is_none() || known && binding.process == env.process {
        return Ok(Standing::Guarded(binding));
    }
    let renewed = Binding {
        process: env.process.clone(),
        session: key.clone(),
        ..binding
    };
    let bindings = env.state.lock_bindings()?;
    Ok(Standing::Guarded(bindings.bind(renewed, None)?))
}

/// Takes the run that waits for the project's next session, where the session's own has ended.
fn next_waiting(
    env: &HookEnv,
    key: &SessionKey,
    ended: &Binding,
) -> Result<Option<Binding>, Trouble> {
    let root = &ended.project_root;
    // A session without a name has no run: what is left is the one that waits.
    let nobody = SessionKey::new("", "");
    let waits = |lookup: &Lookup| matches!(lookup, Lookup::Waiting(_));
    if !waits(&env.state.look_up(&nobody, root)?) || !is_over(env, &ended.run)? {
        return Ok(None);
    }
    let bindings = env.state.lock_bindings()?;
    if !waits(&bindings.look_up(&nobody, root)?) {
        return Ok(None);
    }
    bindings.release(&ended.run, root)?;
    Ok(bindings.take_next(key, root, env.process.clone(), env.now_ms)?)
}

/// Starts the workflow that the project holds every session to, if it names one.
fn by_policy(
    env: &HookEnv,
    key: &SessionKey,
    input: &HookInput,
    root: PathBuf,
    ended: Option<Binding>,
) -> Result<Standing, Trouble> {
    let unchanged = |root| match ended.clone() {
        Some(binding) => Standing::Guarded(binding),
        None => Standing::Unguarded(root),
    };
    // It begins with the first prompt, not when the client is opened.
    if input.event == HookEvent::SessionStart {
        return Ok(unchanged(root));
    }
    let config = Config::of_project(&root)?;
    let Some(workflow) = &config.workflow else {
        return Ok(unchanged(root));
    };
    let bindings = env.state.lock_bindings()?;
    // Another hook call of the session may have been first.
    match bindings.look_up(key, &root)? {
        Lookup::Bound(binding) if ended.as_ref().is_none_or(|ended| ended.run != binding.run) => {
            return Ok(Standing::Guarded(binding));
        }
        _ => {}
    }
    let run = start(env, &root, &config, workflow)?;
    let replacing = ended.as_ref().map(|binding| &binding.run);
    bind(env, &bindings, key, root, run, replacing)
}

fn bind(
    env: &HookEnv,
    bindings: &Bindings<'_>,
    key: &SessionKey,
    root: PathBuf,
    run: RunId,
    replacing: Option<&RunId>,
) -> Result<Standing, Trouble> {
    let binding = Binding {
        run,
        session: key.clone(),
        project_root: root,
        process: env.process.clone(),
        at_ms: env.now_ms,
    };
    let bound: Result<Binding, BindError> = bindings.bind(binding, replacing);
    Ok(Standing::Guarded(bound?))
}

fn start(env: &HookEnv, root: &Path, config: &Config, workflow: &str) -> Result<RunId, Trouble> {
    let library = Library::new(root, env.configuration.as_deref());
    let source = library.open(workflow)?;
    let loaded = load(&source, None, &library).map_err(|errors| Trouble::Invalid {
        name: workflow.to_owned(),
        first: errors
            .first()
            .map_or_else(String::new, |first| first.message.clone()),
    })?;
    let source = SourceFile {
        name: source.name,
        text: source.text,
    };
    let new = NewRun {
        machine: &loaded.machine,
        source: &source,
        project_root: root,
        name: None,
        durability: match config.store.durability {
            interlock_project::Durability::Process => Durability::Process,
            interlock_project::Durability::Power => Durability::Power,
        },
        at_ms: env.now_ms,
    };
    let started = env.state.start_run(&new, Object::new(), POLICY)?;
    Ok(started.log.run().clone())
}

fn is_over(env: &HookEnv, run: &RunId) -> Result<bool, Trouble> {
    Ok(env.state.open_run(run)?.load()?.is_over())
}
