//! Environment variables that change what programs do.

use crate::tables::names::{
    CHANGING, CHANGING_IN_ANY_CASE, CHANGING_PREFIXES, CHANGING_SUFFIXES, HARMLESS,
    HARMLESS_PREFIXES, LEAVE_CHECKS, UNSET_PLAIN, Values,
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

/// Returns whether programs behave normally if `name` is not set.
pub(crate) fn may_be_unset(name: &str) -> bool {
    UNSET_PLAIN.contains(&name) || !changes_programs(name)
}

/// Returns whether a check stays the same check with this value of a variable that changes programs.
pub(crate) fn leaves_checks(name: &str, value: Option<&str>) -> bool {
    let Some((_, values)) = LEAVE_CHECKS.iter().find(|(names, _)| names.contains(&name)) else {
        return false;
    };
    let Some(value) = value else {
        return matches!(values, Values::Any);
    };
    match values {
        Values::Any => true,
        Values::Words(known) => value.split(' ').all(|word| {
            word.is_empty()
                || known.contains(&word)
                || word.split_once('=').is_some_and(|(option, number)| {
                    let all_digits = number.bytes().all(|byte| byte.is_ascii_digit());
                    all_digits
                        && known
                            .iter()
                            .any(|word| word.strip_suffix('=') == Some(option))
                })
        }),
        Values::Places(known) => value.split(':').all(|place| {
            let place = place.strip_prefix("./").unwrap_or(place);
            known.contains(&place.strip_suffix('/').unwrap_or(place))
        }),
        Values::Below(known) => {
            known.iter().any(|place| value.starts_with(place)) && !value.contains("..")
        }
    }
}

/// Returns whether setting `name` to `value` changes what programs do.
pub(crate) fn value_changes_programs(name: &str, value: Option<&str>) -> bool {
    let pager_off = matches!(name, "PAGER" | "GIT_PAGER") && matches!(value, Some("" | "cat"));
    let scratch = matches!(name, "TMP" | "TEMP" | "TMPDIR") && value.is_some_and(is_temporary);
    !pager_off && !scratch && changes_programs(name)
}

/// Returns whether `value` is below the temporary directories of the system.
fn is_temporary(value: &str) -> bool {
    let below = ["/tmp/", "/var/tmp/"]
        .iter()
        .find_map(|place| value.strip_prefix(place));
    below.is_some_and(|below| !below.is_empty() && below.split('/').all(|part| part != ".."))
}
