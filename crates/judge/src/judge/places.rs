//! Commands without the options that make them work in another directory.

use crate::facts::SimpleCommand;

/// A command without such options, and the directory that the options lead to.
#[derive(Debug, Clone)]
pub(super) struct Moved {
    /// The command without the options and their values.
    pub(super) command: SimpleCommand,
    /// Directory that it works in, relative to the project root; `None`: outside the project, or unknown.
    pub(super) directory: Option<String>,
}

/// Applies the options of `command` that choose a directory; `None`: it has no such options.
///
/// `place` is the directory that it starts in, relative to the project root.
pub(super) fn moved(command: &SimpleCommand, place: Option<&str>) -> Option<Moved> {
    let relocated = command.relocated.as_ref()?;
    let mut directory = place.map(str::to_owned);
    for step in &relocated.directories {
        directory = step.as_deref().and_then(|step| join(&directory?, step));
    }
    let words = relocated.words.iter();
    let command = SimpleCommand {
        words: words
            .filter_map(|at| command.words.get(*at).cloned())
            .collect(),
        uses: relocated.uses.clone(),
        wrapped: Vec::new(),
        ..command.clone()
    };
    Some(Moved { command, directory })
}

/// Joins a path to a directory of the project; `None`: the result is, or may be, outside the project.
fn join(place: &str, path: &str) -> Option<String> {
    if path.is_empty() || path.starts_with(['/', '~']) {
        return None;
    }
    let mut parts: Vec<&str> = place.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Relocated;

    #[test]
    fn directories_are_followed_as_long_as_they_stay_in_the_project() {
        for (place, steps, wanted) in [
            ("", &["sub"] as &[&str], Some("sub")),
            ("", &["sub/"], Some("sub")),
            ("sub", &[".."], Some("")),
            ("", &["a/./b"], Some("a/b")),
            ("", &["sub", "x"], Some("sub/x")),
            ("sub", &["../.."], None),
            ("", &["/project"], None),
            ("", &["~/x"], None),
            ("", &["/away", "sub"], None),
        ] {
            let command = SimpleCommand {
                relocated: Some(Relocated {
                    directories: steps.iter().map(|step| Some((*step).to_owned())).collect(),
                    ..Relocated::default()
                }),
                ..SimpleCommand::default()
            };
            let found = moved(&command, Some(place)).map(|moved| moved.directory);
            assert_eq!(found, Some(wanted.map(str::to_owned)), "{place} {steps:?}");
        }
    }
}
