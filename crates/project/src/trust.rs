//! Workflows of projects that a person has not trusted.

use std::path::Path;

use interlock_core::machine::Machine;
use interlock_shell::changes_programs;

use crate::{config::Config, library::Library};

/// A workflow of a project sets what only a person decides.
#[derive(Debug, thiserror::Error)]
#[error(
    "the project's workflow sets `{name}` for `{state}`, which changes what programs do: \
     read it, and if you trust the project add its root `{root}` to `projects` under `[trust]` in your own `config.toml`"
)]
pub struct Untrusted {
    /// The variable.
    pub name: String,
    /// The state.
    pub state: String,
    /// The project's root.
    pub root: String,
}

impl Library {
    /// Refuses a workflow that a project brings along and that sets what programs do.
    ///
    /// `source` is the name of the file it was read from. A person's own
    /// workflows and those of projects they trust may set any variable.
    ///
    /// # Errors
    /// A state sets such a variable in `env_overrides`.
    pub fn check_trust(
        &self,
        machine: &Machine,
        source: &str,
        root: &Path,
        person: &Config,
    ) -> Result<(), Untrusted> {
        let brought = is_below(Path::new(source), root);
        let own = brought.then_some(machine).into_iter();
        // A called machine may come from the project although its caller does not.
        let called = machine
            .machines
            .values()
            .filter(|called| brought || self.is_the_projects(called.id.as_str()));
        let found = own.chain(called).find_map(changing);
        match found {
            Some((state, name)) if !person.trusts(root) => Err(Untrusted {
                name,
                state,
                root: root.display().to_string(),
            }),
            _ => Ok(()),
        }
    }
}

/// Returns a state that sets what programs do, and the variable.
fn changing(machine: &Machine) -> Option<(String, String)> {
    machine.states.iter().find_map(|(state, rules)| {
        let name = rules
            .policy
            .env_overrides
            .keys()
            .find(|name| changes_programs(name))?;
        Some((state.to_string(), name.clone()))
    })
}

fn is_below(file: &Path, root: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    match (real(file), real(root)) {
        (Some(file), Some(root)) => file.starts_with(root),
        // What is not a file is shipped in the program.
        _ => false,
    }
}
