//! The changes of a plan to the environment.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::plan::{Column, EnvironmentChanges};
use interlock_core::policy::Policy;

/// Variables that make bash run or read something other than the line; always removed.
const FOREIGN_CODE: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "BASH_FUNC_*",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS4",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "FUNCNEST",
    "FIGNORE",
    "IFS",
];

/// Variables for pagers, each set to `cat`.
const PAGERS: &[&str] = &[
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "SYSTEMD_PAGER",
    "GH_PAGER",
    "GLAB_PAGER",
    "BAT_PAGER",
    "DELTA_PAGER",
    "PSQL_PAGER",
    "MYSQL_PAGER",
    "AWS_PAGER",
    "JJ_PAGER",
    "HGPAGER",
    "RI_PAGER",
    "PERLDOC_PAGER",
];

/// Variables for temporary files and byte code, with the path below the own directory.
const OWN_PLACES: &[(&str, &str)] = &[
    ("TMPDIR", ""),
    ("TMP", ""),
    ("TEMP", ""),
    ("PYTHONPYCACHEPREFIX", "pycache"),
];

/// Configuration keys of a repository that could run programs, with values that run none.
const REPOSITORY_KEYS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.askPass", ""),
    ("credential.helper", ""),
];

/// The empty tree: read from there, no attribute names a filter or a diff driver.
const NO_ATTRIBUTES: (&str, &str) = (
    "GIT_ATTR_SOURCE",
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
);

/// Keeps git from running what the configuration of another repository names.
///
/// Only `diff.external` cannot be disabled from outside; the kernel confines what it starts.
pub(super) fn quiet_repository(environment: &mut EnvironmentChanges) {
    let mut set = |name: &str, value: &str| {
        environment.set.insert(name.to_owned(), value.to_owned());
    };
    set("GIT_CONFIG_COUNT", &REPOSITORY_KEYS.len().to_string());
    for (at, (key, value)) in REPOSITORY_KEYS.iter().enumerate() {
        set(&format!("GIT_CONFIG_KEY_{at}"), key);
        set(&format!("GIT_CONFIG_VALUE_{at}"), value);
    }
    set(NO_ATTRIBUTES.0, NO_ATTRIBUTES.1);
}

/// Computes the environment of one column.
pub(super) fn of(policy: &Policy, column: Column) -> EnvironmentChanges {
    let mut environment = EnvironmentChanges {
        removed: FOREIGN_CODE.iter().map(|name| (*name).to_owned()).collect(),
        ..EnvironmentChanges::default()
    };
    environment
        .removed
        .extend(policy.blocked_env.iter().cloned());
    if column != Column::Free {
        for name in PAGERS {
            environment.set.insert((*name).to_owned(), "cat".to_owned());
        }
    }
    if matches!(column, Column::NoWrite | Column::Matched) {
        environment
            .set
            .insert("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned());
        for (name, below) in OWN_PLACES {
            environment
                .in_own_directory
                .insert((*name).to_owned(), (*below).to_owned());
        }
    }
    if column == Column::NoWrite {
        environment
            .set
            .insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
    }
    for (name, value) in &policy.env_overrides {
        environment.in_own_directory.shift_remove(name);
        environment.set.insert(name.clone(), value.clone());
    }
    environment
}

/// Variable that lets a person's scripts answer for them; no line of an agent has it.
const PERSONS_TOKEN: &str = "INTERLOCK_TOKEN";

impl EnvironmentChanges {
    /// Applies the changes to `given`; `own` is the run's own temporary directory.
    pub(crate) fn apply(
        &self,
        given: impl Iterator<Item = (OsString, OsString)>,
        own: Option<&Path>,
    ) -> Vec<(OsString, OsString)> {
        let replaced = |name: &OsStr| {
            let set = |known: &str| name == OsStr::new(known);
            name == OsStr::new(PERSONS_TOKEN)
                || self.removes(name)
                || self.set.keys().any(|known| set(known))
                || own.is_some() && self.in_own_directory.keys().any(|known| set(known))
        };
        let own_given = |name: &OsStr| self.given.keys().any(|known| name == OsStr::new(known));
        let mut environment: Vec<_> = given
            .filter(|(name, _)| !own_given(name))
            .chain(
                self.given
                    .iter()
                    .map(|(name, value)| (name.into(), value.into())),
            )
            .filter(|(name, _)| !replaced(name))
            .collect();
        for (name, below) in &self.in_own_directory {
            if let Some(own) = own {
                let place = if below.is_empty() {
                    own.to_path_buf()
                } else {
                    own.join(below)
                };
                environment.push((name.into(), place.into()));
            }
        }
        for (name, value) in self.set.iter().filter(|(name, _)| *name != PERSONS_TOKEN) {
            environment.push((name.into(), value.into()));
        }
        environment
    }

    fn removes(&self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        self.removed
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning.as_bytes()),
                None => name == pattern.as_bytes(),
            })
    }
}
