//! Where a session's client finds what it loads.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use crate::settings::Site;

/// Where a session's client finds what it loads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    /// Locations of the clients' files.
    pub(crate) site: &'a Site,
    /// Working directory of the client.
    pub(crate) directory: &'a Path,
    /// Command line of the client; empty if it is not running.
    pub(crate) arguments: &'a [String],
    /// Environment of the client.
    pub(crate) environment: &'a [(OsString, OsString)],
    /// What the client itself reports as loaded.
    pub(crate) told: &'a [String],
}

impl Look<'_> {
    /// Returns a variable of the client that is not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_os_str())
            .filter(|value| !value.is_empty())
    }

    /// Lists the directories from the client's own up to the project's root.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let root = &self.site.project_root;
        let above = self.directory.ancestors();
        let mut found: Vec<PathBuf> = above
            .take_while(|place| place.starts_with(root))
            .map(Path::to_owned)
            .collect();
        if !found.contains(root) {
            found.push(root.clone());
        }
        if !found.iter().any(|place| place == self.directory) {
            found.push(self.directory.to_owned());
        }
        found
    }

    /// Returns the values of an option on the command line: the next word, or what follows `=`.
    pub(crate) fn option(&self, names: &[&str]) -> Vec<String> {
        let mut values = Vec::new();
        let mut words = self.arguments.iter();
        while let Some(word) = words.next() {
            let value = match word.split_once('=') {
                Some((name, value)) if names.contains(&name) => Some(value.to_owned()),
                _ if names.contains(&word.as_str()) => words.next().cloned(),
                _ => None,
            };
            values.extend(value);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_from<T>(directory: &str, words: &[&str], see: impl FnOnce(&Look<'_>) -> T) -> T {
        let project = Path::new("/home/ana/shop");
        let site = Site::new(project, Path::new("/home/ana"), Path::new("/opt/interlock"));
        let arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        see(&Look {
            site: &site,
            directory: Path::new(directory),
            arguments: &arguments,
            environment: &[
                ("EMPTY".into(), "".into()),
                ("SET".into(), "to this".into()),
            ],
            told: &[],
        })
    }

    #[test]
    fn an_empty_variable_says_nothing() {
        look_from("/home/ana/shop", &[], |look| {
            assert_eq!(look.variable("SET"), Some(OsStr::new("to this")));
            assert_eq!(look.variable("EMPTY"), None);
            assert_eq!(look.variable("ABSENT"), None);
        });
    }

    #[test]
    fn files_are_looked_for_from_where_the_client_works_up_to_the_project() {
        for (directory, wanted) in [
            ("/home/ana/shop", &["/home/ana/shop"][..]),
            (
                "/home/ana/shop/web/src",
                &[
                    "/home/ana/shop/web/src",
                    "/home/ana/shop/web",
                    "/home/ana/shop",
                ],
            ),
            ("/srv", &["/home/ana/shop", "/srv"]),
        ] {
            let found = look_from(directory, &[], |look| look.directories());
            let wanted: Vec<PathBuf> = wanted.iter().map(PathBuf::from).collect();
            assert_eq!(found, wanted, "{directory}");
        }
    }

    #[test]
    fn an_option_has_its_value_behind_it_or_behind_an_equals_sign() {
        let words = [
            "client",
            "--plugin",
            "a",
            "--other=b",
            "--plugin=c=d",
            "-p",
            "e",
            "--plugin",
        ];
        let found = look_from("/", &words, |look| look.option(&["--plugin", "-p"]));
        assert_eq!(found, ["a", "c=d", "e"]);
    }
}
