//! Looks programs up in the tables.

use std::sync::LazyLock;

use foldhash::{HashMap, HashMapExt as _};

use crate::tables::programs::{ASKS, BUILTINS, LOADS_FOR_HELP, PROGRAMS, Row, WITH_SUBCOMMANDS};
use crate::tables::wrappers::{WRAPPERS, Wrapper};
use crate::value::Arg;

/// Capacity for all names, so that the table need not grow.
const NAMES: usize = 800;

static BY_NAME: LazyLock<HashMap<&'static str, &'static Row>> = LazyLock::new(|| {
    let mut by_name = HashMap::with_capacity(NAMES);
    for row in PROGRAMS {
        by_name.extend(row.names.iter().map(|name| (*name, row)));
    }
    by_name
});

/// Returns the row of a program.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    BY_NAME.get(name).copied()
}

/// Returns the row of a wrapper.
pub(crate) fn find_wrapper(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS
        .iter()
        .find(|wrapper| wrapper.names.contains(&name))
}

/// Names of shells.
pub(crate) const SHELLS: &[&str] = &["bash", "sh", "dash", "ash", "zsh", "ksh", "mksh", "rbash"];

/// Wrappers with special handling.
pub(crate) const OWN_WRAPPERS: &[&str] = &[
    "env", "sudo", "su", "runuser", "sg", "capsh", "strace", "ltrace", "time", "xargs", "parallel",
    "entr", "watch", "script", "flock", "tmux", "screen",
];

/// Returns whether any table has the name, so that a function may not have it.
pub(crate) fn is_known(name: &str) -> bool {
    find(name).is_some()
        || find_wrapper(name).is_some()
        || BUILTINS.contains(&name)
        || SHELLS.contains(&name)
        || OWN_WRAPPERS.contains(&name)
}

/// Returns whether the words only ask a known program for information about itself.
pub(crate) fn asks_itself(name: &str, args: &[Arg]) -> bool {
    let [only] = args else { return false };
    match only.literal() {
        Some("--version" | "-V") => true,
        Some("--help") => !LOADS_FOR_HELP.contains(&name),
        Some("version" | "help") if WITH_SUBCOMMANDS.contains(&name) => true,
        Some(word) => ASKS
            .iter()
            .any(|(names, words)| names.contains(&name) && words.contains(&word)),
        None => false,
    }
}
