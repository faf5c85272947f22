//! The name that was probably meant.

/// Returns the name of `known` closest to `wanted`, when one is close.
pub(crate) fn nearest<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let plain = fold(wanted);
    known
        .into_iter()
        .map(|name| (strsim::osa_distance(&plain, &fold(name)), name))
        .filter(|(distance, name)| *distance <= reach(&plain, name))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns how many letters may differ before a name is another one.
fn reach(wanted: &str, name: &str) -> usize {
    (wanted.chars().count().min(name.chars().count()) + 1) / 3
}

/// Leaves out what people mix up: case, `_`, `-` and blanks.
fn fold(name: &str) -> String {
    let plain = name.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    plain.flat_map(char::to_lowercase).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    fn check(wanted: &str, expected: Option<&str>) {
        let known = [
            "allowed_tools",
            "allowed_commands",
            "on",
            "type",
            "max_iterations",
            "env",
        ];
        assert_eq!(nearest(wanted, known), expected, "{wanted}");
    }

    #[test]
    fn a_near_name_is_found_and_a_far_one_is_not() {
        check("alowed_tools", Some("allowed_tools"));
        check("allowedTools", Some("allowed_tools"));
        check("ALLOWED-COMMANDS", Some("allowed_commands"));
        check("onn", Some("on"));
        check("tpye", Some("type"));
        check("maxiteration", Some("max_iterations"));
        check("colour", None);
        check("x", None);
        check("", None);
    }
}
