//! A command as it stands without the options by which it works in another directory.

use crate::facts::SimpleCommand;

/// A command as it would stand without such options, and where they lead.
#[derive(Debug, Clone)]
pub(super) struct Moved {
    /// The command without the options and their values.
    pub(super) command: SimpleCommand,
    /// Where it works, relative to the project root; `None`: outside, or not known.
    pub(super) directory: Option<String>,
}

/// Follows the options of `command` that choose a directory; `None`: it has none.
///
/// `place` is where it starts, relative to the project root.
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

/// Joins a path to a place of the project; `None`: it leads out of it, or may.
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
