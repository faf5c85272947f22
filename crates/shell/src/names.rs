//! Names of the environment that change what programs do.

use crate::tables::names::{
    CHANGING, CHANGING_IN_ANY_CASE, CHANGING_PREFIXES, CHANGING_SUFFIXES, HARMLESS,
    HARMLESS_PREFIXES,
};

/// Returns whether setting `name` changes what programs do.
#[must_use]
pub fn changes_programs(name: &str) -> bool {
    if HARMLESS.contains(&name)
        || HARMLESS_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
    {
        return false;
    }
    CHANGING.contains(&name)
        || CHANGING_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || CHANGING_IN_ANY_CASE.iter().any(|prefix| {
            name.get(..prefix.len())
                .is_some_and(|beginning| beginning.eq_ignore_ascii_case(prefix))
        })
        || CHANGING_SUFFIXES
            .iter()
            .any(|suffix| name.ends_with(suffix))
}

/// Returns whether setting `name` to `value` changes what programs do.
pub(crate) fn value_changes_programs(name: &str, value: Option<&str>) -> bool {
    let pager_off = matches!(name, "PAGER" | "GIT_PAGER") && matches!(value, Some("" | "cat"));
    !pager_off && changes_programs(name)
}
