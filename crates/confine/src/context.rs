//! Builds the context of an invocation's calls from its environment.

use std::path::{Path, PathBuf};

use interlock_facts::{CallContext, CallSite};
use interlock_project::Environment;
use interlock_shell::Dialect;

use crate::consoles;

/// The protected place to which the folders of plugins are added.
const OWN: &str = ".interlock";

/// Describes where a call is made: in `cwd`, by an agent whose process is `pid` if it has one.
#[must_use]
pub fn call_site(environment: &Environment, cwd: &str, pid: Option<u32>) -> CallSite {
    CallSite {
        cwd: cwd.to_owned(),
        shell: shell_of_person(|name| environment.variable(name)),
        pid,
    }
}

/// Describes what the facts of calls in the project at `root` depend on.
///
/// `plugins` are folders from which clients load Interlock's plugin, outside of their own directories.
#[must_use]
pub fn call_context(
    environment: &Environment,
    plugins: &[PathBuf],
    root: &Path,
    site: CallSite,
) -> CallContext {
    let variable = |name: &str| {
        environment
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
    let plugins = plugins.iter();
    let plugins = plugins.filter_map(|folder| Some((OWN.to_owned(), text(folder)?)));
    let program = environment.program.as_deref().and_then(text);
    CallContext {
        project_root: text(root).unwrap_or_default(),
        site,
        user: environment.variable("USER"),
        temporary: variable("TMPDIR").or_else(|| Some("/tmp".to_owned())),
        caches: caches.into_iter().flatten().collect(),
        writable: Vec::new(),
        state_directory: text(environment.home.path()),
        config_directory: environment.configuration().and_then(text),
        programs: program.into_iter().collect(),
        search_path: search_path(environment),
        allowed_by_person: Vec::new(),
        transparent: Vec::new(),
        variables: names(environment),
        consoles: consoles::ports(environment.home.path()),
        environment_held: false,
        kernel_holds: false,
        moved: moved(&variable).into_iter().chain(plugins).collect(),
        opened: Vec::new(),
        home,
    }
}

/// Returns the absolute directories in which programs are looked for.
fn search_path(environment: &Environment) -> Vec<String> {
    let path = environment.variable("PATH").unwrap_or_default();
    path.split(':')
        .filter(|part| part.starts_with('/'))
        .map(str::to_owned)
        .collect()
}

/// Returns the names of the variables.
fn names(environment: &Environment) -> Vec<String> {
    let names = environment.variables.iter();
    names
        .filter_map(|(name, _)| name.to_str().map(str::to_owned))
        .collect()
}

/// Variables that move a protected place elsewhere, each with the place below the home directory that it replaces.
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
    ("XDG_CACHE_HOME", "/opencode", ".cache/opencode"),
    ("XDG_CACHE_HOME", "/copilot", ".cache/copilot"),
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
        // An empty path would not name any place.
        (!value.is_empty()).then(|| ((*standard).to_owned(), format!("{value}{below}")))
    });
    moved.collect()
}

/// Returns the shell of a person, judged by the variables that name it; only bash and zsh are told apart.
#[must_use]
pub fn shell_of_person(variable: impl Fn(&str) -> Option<String>) -> Dialect {
    let program = ["CLAUDE_CODE_SHELL", "SHELL"]
        .into_iter()
        .find_map(variable)
        .unwrap_or_default();
    match program.rsplit('/').next() {
        Some("bash") => Dialect::Bash,
        Some("zsh") => Dialect::Zsh,
        _ => Dialect::Unknown,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::*;

    #[test]
    fn the_shell_is_the_one_that_the_client_is_given_or_that_of_the_person() {
        for (client, person, shell) in [
            (Some("/bin/zsh"), Some("/bin/bash"), Dialect::Zsh),
            (Some("bash"), Some("/usr/bin/zsh"), Dialect::Bash),
            (None, Some("/usr/bin/zsh"), Dialect::Zsh),
            (None, Some("/usr/bin/fish"), Dialect::Unknown),
            (Some("/bin/dash"), Some("/bin/zsh"), Dialect::Unknown),
            (None, None, Dialect::Unknown),
        ] {
            let found = shell_of_person(|name| {
                let value = match name {
                    "CLAUDE_CODE_SHELL" => client,
                    "SHELL" => person,
                    _ => None,
                };
                value.map(str::to_owned)
            });
            assert_eq!(found, shell, "{client:?} {person:?}");
        }
    }

    #[test]
    fn programs_are_looked_for_in_absolute_directories_alone() {
        let none: &[&str] = &[];
        for (path, directories) in [
            (Some("/usr/bin:/bin"), &["/usr/bin", "/bin"][..]),
            (Some(".:/bin"), &["/bin"]),
            (Some(":/bin:"), &["/bin"]),
            (Some("node_modules/.bin:~/bin:/bin:../x"), &["/bin"]),
            (Some(""), none),
            (None, none),
        ] {
            let path = path.map(|path| ("PATH".into(), path.into()));
            let environment = Environment {
                variables: path.into_iter().collect(),
                ..Environment::of_process().unwrap()
            };
            assert_eq!(search_path(&environment), directories);
        }
    }
}
