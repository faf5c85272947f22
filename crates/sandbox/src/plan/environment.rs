//! What a plan does to the environment.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::plan::{Column, Environment};
use interlock_core::policy::Policy;

/// Names that make bash run or read something else than the line; taken away always.
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

/// Names of pagers; each is set to `cat`.
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

/// Names of places for temporary files and byte code, and where below the own directory.
const OWN_PLACES: &[(&str, &str)] = &[
    ("TMPDIR", ""),
    ("TMP", ""),
    ("TEMP", ""),
    ("PYTHONPYCACHEPREFIX", "pycache"),
];

/// Derives the environment of one column.
pub(super) fn of(policy: &Policy, column: Column) -> Environment {
    let mut environment = Environment {
        removed: FOREIGN_CODE.iter().map(|name| (*name).to_owned()).collect(),
        ..Environment::default()
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

impl Environment {
    /// Applies the changes to `given`; `own` is the run's own temporary directory.
    pub(crate) fn apply(
        &self,
        given: impl Iterator<Item = (OsString, OsString)>,
        own: Option<&Path>,
    ) -> Vec<(OsString, OsString)> {
        let replaced = |name: &OsStr| {
            let set = |known: &str| name == OsStr::new(known);
            self.removes(name)
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
        for (name, value) in &self.set {
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
