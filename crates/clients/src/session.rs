//! Which run guards a session, and where that session works.

use std::path::{Path, PathBuf};

use interlock_core::{
    Decision,
    command::{Ask, Command},
    machine::Machine,
    names::RunId,
    run::Run,
};
use interlock_facts::Surroundings;
use interlock_project::project_root;
use interlock_shell::Dialect;
use interlock_store::{
    Binding, EventLog as _, Home, Lookup, RunLog, SessionKey, StoreError, submit,
};

use crate::{hook::HookSetting, process};

/// A session that a run guards.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub(crate) binding: Binding,
    pub(crate) log: RunLog,
    pub(crate) machine: Machine,
    pub(crate) run: Run,
    at_ms: u64,
}

/// Finds the session at the top of those that started this one, and the one just below it.
///
/// What a sub-agent's session does belongs to the run of the topmost. Whatever that
/// sub-agent starts in its turn works where it works itself.
pub(crate) fn eldest(
    setting: &HookSetting,
    key: &SessionKey,
    parent: Option<&str>,
) -> Result<Option<(SessionKey, SessionKey)>, StoreError> {
    if let Some(parent) = parent {
        let parent = SessionKey {
            client: key.client.clone(),
            session: parent.to_owned(),
        };
        setting.home.remember_parent(key, &parent, setting.at_ms)?;
        return Ok(Some(
            setting.home.eldest(key)?.unwrap_or((parent, key.clone())),
        ));
    }
    setting.home.eldest(key)
}

/// Finds the binding of a session.
///
/// Where it `begins` something, a run that waits for the project's next
/// session takes this one, if it has none that is open.
pub(crate) fn binding(
    setting: &HookSetting,
    key: &SessionKey,
    root: &Path,
    begins: bool,
) -> Result<Option<Binding>, StoreError> {
    match setting.home.look_up(key, root)? {
        Lookup::Bound(binding) if begins => match next_waiting(setting, key, &binding)? {
            Some(next) => Ok(Some(next)),
            None => renewed(setting, binding).map(Some),
        },
        Lookup::Bound(binding) => Ok(Some(binding)),
        Lookup::Waiting(_) if begins => setting.home.lock_bindings()?.take_next(
            key,
            root,
            process::client_above(),
            setting.at_ms,
        ),
        Lookup::Waiting(_) | Lookup::Unbound => Ok(None),
    }
}

/// Takes the run that waits for the project's next session, where this one's own has ended.
fn next_waiting(
    setting: &HookSetting,
    key: &SessionKey,
    bound: &Binding,
) -> Result<Option<Binding>, StoreError> {
    let root = &bound.project_root;
    // A session without a name has no run: what is left is the one that waits.
    let nobody = SessionKey::new("", "");
    let waits = |lookup: &Lookup| matches!(lookup, Lookup::Waiting(_));
    if !waits(&setting.home.look_up(&nobody, root)?)
        || !setting.home.open_run(&bound.run)?.load()?.is_over()
    {
        return Ok(None);
    }
    let bindings = setting.home.lock_bindings()?;
    // Another session may have been first; then this one stays as it is.
    if !waits(&bindings.look_up(&nobody, root)?) {
        return Ok(None);
    }
    bindings.release(&bound.run, root)?;
    bindings.take_next(key, root, process::client_above(), setting.at_ms)
}

/// Remembers the client's process, where it is another than last time.
fn renewed(setting: &HookSetting, mut binding: Binding) -> Result<Binding, StoreError> {
    let process = process::client_above();
    if process.is_none() || process == binding.process {
        return Ok(binding);
    }
    binding.process = process;
    setting
        .home
        .lock_bindings()?
        .bind(binding.clone(), None)
        .map_err(|error| match error {
            interlock_store::BindError::Store(error) => error,
            // Bound otherwise meanwhile: the next call will find that.
            _ => StoreError::MissingRun {
                run: binding.run.clone(),
                path: setting.home.path().to_owned(),
            },
        })
}

impl Guarded {
    /// Opens the run of a binding.
    pub(crate) fn open(setting: &HookSetting, binding: Binding) -> Result<Self, StoreError> {
        let log = setting.home.open_run(&binding.run)?;
        let machine = log.machine()?;
        let run = log.load()?;
        Ok(Self {
            binding,
            log,
            machine,
            run,
            at_ms: setting.at_ms,
        })
    }

    /// Asks the run and records what follows.
    pub(crate) fn ask(&mut self, ask: Ask) -> Result<Decision, StoreError> {
        let command = Command {
            at_ms: self.at_ms,
            ask,
        };
        submit(&mut self.log, &self.machine, &mut self.run, &command)
    }

    /// Reads the run anew, where another process may have moved it.
    pub(crate) fn refresh(&mut self) -> Result<(), StoreError> {
        self.run = self.log.load()?;
        Ok(())
    }

    /// Returns the run's id.
    pub(crate) fn id(&self) -> &RunId {
        &self.binding.run
    }
}

/// Returns the project a session works in, by the directory of its hook.
pub(crate) fn root_of(directory: &str) -> PathBuf {
    project_root(Path::new(directory))
}

/// Describes where a call would run, for its facts.
#[must_use]
pub fn surroundings(
    setting: &HookSetting,
    root: &Path,
    directory: &str,
    client: Option<u32>,
) -> Surroundings {
    let variable = |name: &str| {
        setting
            .variable(name)
            .filter(|value| value.starts_with('/'))
    };
    let text = |path: &Path| path.to_str().map(str::to_owned);
    let home = variable("HOME");
    let below_home = |name: &str| home.as_ref().map(|home| format!("{home}/{name}"));
    let caches = [
        variable("XDG_CACHE_HOME"),
        below_home(".cache"),
        below_home("Library/Caches"),
        Some("/tmp".to_owned()),
        Some("/var/tmp".to_owned()),
    ];
    Surroundings {
        project_root: text(root).unwrap_or_default(),
        working_directory: directory.to_owned(),
        user: setting.variable("USER"),
        temporary: variable("TMPDIR").or_else(|| Some("/tmp".to_owned())),
        caches: caches.into_iter().flatten().collect(),
        state_directory: text(home_path(&setting.home)),
        config_directory: setting.configuration.as_deref().and_then(text),
        programs: setting
            .program
            .as_deref()
            .and_then(text)
            .into_iter()
            .collect(),
        search_path: setting
            .variable("PATH")
            .map(|path| {
                path.split(':')
                    .filter(|part| part.starts_with('/'))
                    .map(str::to_owned)
                    .collect()
            })
            .unwrap_or_default(),
        client_process: client,
        shell: shell(setting),
        allowed_by_person: Vec::new(),
        environment_held: false,
        moved: moved(&variable),
        opened: Vec::new(),
        home,
    }
}

/// Variables that put a protected place elsewhere, with the place below home that they stand for.
const MOVERS: &[(&str, &str, &str)] = &[
    ("CLAUDE_CONFIG_DIR", "", ".claude"),
    ("CLAUDE_CONFIG_DIR", "/.claude.json", ".claude.json"),
    ("CODEX_HOME", "", ".codex"),
    ("COPILOT_HOME", "", ".copilot"),
    ("GEMINI_CLI_HOME", "/.gemini", ".gemini"),
    (
        "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
        "",
        ".gemini/settings.json",
    ),
    (
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
        "",
        ".gemini/settings.json",
    ),
    ("OPENCODE_CONFIG_DIR", "", ".opencode"),
    ("OPENCODE_CONFIG", "", "opencode.json*"),
    ("GIT_CONFIG_GLOBAL", "", ".gitconfig"),
    ("ZDOTDIR", "/.zshrc", ".zshrc"),
    ("ZDOTDIR", "/.zshenv", ".zshenv"),
    ("ZDOTDIR", "/.zprofile", ".zprofile"),
    ("ZDOTDIR", "/.zlogin", ".zlogin"),
    ("ZDOTDIR", "/.zlogout", ".zlogout"),
    ("BASH_ENV", "", ".bashrc"),
    ("ENV", "", ".shrc"),
    ("INPUTRC", "", ".inputrc"),
];

fn moved(variable: &impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let moved = MOVERS.iter().filter_map(|(name, below, standard)| {
        let value = variable(name)?;
        let value = value.trim_end_matches('/');
        // An empty path would be all there is.
        (!value.is_empty()).then(|| ((*standard).to_owned(), format!("{value}{below}")))
    });
    moved.collect()
}

/// Tells which shell a client runs lines with: the person's, where it is one of two.
fn shell(setting: &HookSetting) -> Dialect {
    let program = ["CLAUDE_CODE_SHELL", "SHELL"]
        .into_iter()
        .find_map(|name| setting.variable(name))
        .unwrap_or_default();
    match program.rsplit('/').next() {
        Some("bash") => Dialect::Bash,
        Some("zsh") => Dialect::Zsh,
        _ => Dialect::Unknown,
    }
}

fn home_path(home: &Home) -> &Path {
    home.path()
}
