//! What a person and a project have decided about shell lines.

use std::path::Path;

use interlock_facts::CallContext;
use interlock_project::{Config, ConfigError, RequiredLevel};
use interlock_sandbox::Level;

/// What a person and a project have decided about shell lines.
#[derive(Debug, Clone, Default)]
pub struct Decided {
    /// The person's own configuration.
    pub person: Config,
    /// The stricter required level of the two.
    pub require: Option<RequiredLevel>,
}

impl Decided {
    /// Reads both configurations.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn read(root: &Path, person: Option<&Path>) -> Result<Self, ConfigError> {
        let person = Config::of_person(person)?;
        let project = Config::of_project(root)?;
        Ok(Self {
            require: person.sandbox.require.max(project.sandbox.require),
            person,
        })
    }

    /// Adds to `context` what the person opens and allows.
    pub fn apply(&self, context: &mut CallContext) {
        context.writable = self.person.writable_places();
        context.opened.clone_from(&self.person.protect.allow);
        context
            .allowed_by_person
            .clone_from(&self.person.shell.allow);
        context
            .transparent
            .clone_from(&self.person.shell.transparent);
    }
}

/// Returns the level for the word that both configurations use.
#[must_use]
pub const fn level(required: RequiredLevel) -> Level {
    match required {
        RequiredLevel::Environment => Level::Environment,
        RequiredLevel::Partial => Level::Partial,
        RequiredLevel::Files => Level::Files,
        RequiredLevel::Full => Level::Full,
    }
}
