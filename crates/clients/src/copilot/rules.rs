//! Whether Copilot CLI would prompt a person about a line, or has rules for lines.
//!
//! Its hooks are not told this; its command line contains it.

use interlock_project::Environment;

use crate::process;

/// Options that allow every tool without a prompt.
const ALLOW_ALL: [&str; 3] = ["--allow-all-tools", "--allow-all", "--yolo"];
/// Options that deny tools or lines.
const RESTRICT: [&str; 3] = ["--deny-tool", "--excluded-tools", "--available-tools"];

/// Returns whether the client was started so that it prompts nobody and denies no line itself.
pub(super) fn asks_nobody(environment: &Environment) -> bool {
    let everything = environment.variable("COPILOT_ALLOW_ALL").as_deref() == Some("true");
    is_free(&process::client_arguments(), everything)
}

fn is_free(arguments: &[String], everything: bool) -> bool {
    let named = |options: &[&str]| {
        arguments.iter().any(|word| {
            let option = word.split('=').next().unwrap_or_default();
            options.contains(&option)
        })
    };
    (everything || named(&ALLOW_ALL)) && !named(&RESTRICT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_client_that_asks_nobody_and_refuses_nothing_is_free() {
        let rows = [
            ("copilot -p x --allow-all-tools", false, true),
            ("copilot --yolo", false, true),
            ("copilot -p x", true, true),
            ("copilot -p x", false, false),
            ("copilot --allow-tool shell(git)", false, false),
            (
                "copilot --allow-all-tools --deny-tool shell(git)",
                false,
                false,
            ),
            ("copilot --allow-all-tools --deny-tool=shell", true, false),
            ("", false, false),
        ];
        for (line, everything, free) in rows {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(is_free(&words, everything), free, "{line}");
        }
    }
}
