//! Advice for a failed command.

use std::path::{Path, PathBuf};

use interlock_expr::text::Places;

/// Maximum number of words of a command that are looked up on the disk.
const WORDS_MAX: usize = 200;

/// The data needed for the advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Advice {
    directory: PathBuf,
    project: PathBuf,
    words: Vec<String>,
}

impl Advice {
    pub(super) fn new(command: &str, directory: &str, places: &Places) -> Self {
        let elsewhere = directory == places.run_dir;
        Self {
            directory: PathBuf::from(directory),
            project: PathBuf::from(&places.project),
            words: if elsewhere {
                words(command)
            } else {
                Vec::new()
            },
        }
    }

    /// Reports that a file of the command is in the project and not where the command ran.
    pub(crate) fn say(&self) -> Option<String> {
        let lies = |place: &Path, word: &str| place.join(word).exists();
        let word = self
            .words
            .iter()
            .find(|word| !lies(&self.directory, word) && lies(&self.project, word))?;
        Some(format!(
            "`{word}` is in the project, and the command ran in the run directory; \
             write `cwd: \"@/\"` to run it in the project"
        ))
    }
}

/// Lists the words of a command that could be relative paths.
fn words(command: &str) -> Vec<String> {
    let ends = |character: char| {
        character.is_whitespace() || ";|&<>()\"'`$=,:{}*?[]#\\".contains(character)
    };
    let mut words = command.split(ends).filter(|word| !word.is_empty());
    // The first is a program on PATH unless it contains a `/`.
    let first = words.next().filter(|word| word.contains('/'));
    first
        .into_iter()
        .chain(words)
        .filter(|word| !word.starts_with(['/', '-', '~', '@']) && !matches!(*word, "." | ".."))
        .take(WORDS_MAX)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::fs;

    use interlock_expr::text::Places;

    use super::Advice;

    #[test]
    fn a_file_of_the_project_is_named() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name).to_str().unwrap().to_owned();
        for directory in ["run", "project/scripts"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        for file in [
            "project/VERSION",
            "project/scripts/x.sh",
            "project/both",
            "run/both",
        ] {
            fs::write(at(file), "").unwrap();
        }
        fs::write(at("project/test"), "").unwrap();
        let places = Places {
            run_dir: at("run"),
            project: at("project"),
            home: at("home"),
        };
        let say = |command: &str, directory: &str| {
            let said = Advice::new(command, &at(directory), &places).say();
            said.map(|said| said.split('`').nth(1).unwrap().to_owned())
        };
        assert_eq!(say("cat VERSION", "run").as_deref(), Some("VERSION"));
        assert_eq!(
            say("./scripts/x.sh -v", "run").as_deref(),
            Some("./scripts/x.sh")
        );
        assert_eq!(say("sort <'VERSION'", "run").as_deref(), Some("VERSION"));
        assert_eq!(say("test -f both", "run"), None);
        assert_eq!(say("cat nowhere", "run"), None);
        assert_eq!(say("cat VERSION", "project/scripts"), None);
    }
}
