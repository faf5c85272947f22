//! Paths in texts: made absolute by name alone, whether anything is there or not.

use serde::{Deserialize, Serialize};

/// The folders that paths are resolved against, absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// The run's own folder.
    pub run_dir: String,
    /// The root of the project.
    pub project: String,
    /// The home of the person.
    pub home: String,
}

/// What a relative path is relative to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// The run's own folder.
    #[default]
    RunDir,
    /// The root of the project.
    Project,
}

impl Places {
    /// Makes `path` absolute and normalises it: `@/` is the project, `~/` the home.
    #[must_use]
    pub fn absolute(&self, path: &str, base: Base) -> String {
        let path = path.trim();
        let relative = match base {
            Base::RunDir => &self.run_dir,
            Base::Project => &self.project,
        };
        let (root, rest) = if path.starts_with('/') {
            ("", path)
        } else if let Some(rest) = below(path, "@") {
            (self.project.as_str(), rest)
        } else if let Some(rest) = below(path, "~") {
            (self.home.as_str(), rest)
        } else {
            (relative.as_str(), path)
        };
        normal(root, rest)
    }
}

/// Returns what follows `mark` when it is the first part of `path`.
fn below<'a>(path: &'a str, mark: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(mark)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

fn normal(root: &str, rest: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in root.split('/').chain(rest.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{Base, Places};

    #[test]
    fn each_beginning_has_its_folder() {
        let places = Places {
            run_dir: "/state/run".to_owned(),
            project: "/projects/shop".to_owned(),
            home: "/home/ana".to_owned(),
        };
        for (path, wanted) in [
            ("a/b", "/state/run/a/b"),
            ("./a", "/state/run/a"),
            ("../a", "/state/a"),
            ("../../../../a", "/a"),
            ("@/a", "/projects/shop/a"),
            ("@", "/projects/shop"),
            ("@a", "/state/run/@a"),
            ("~/a", "/home/ana/a"),
            ("~a", "/state/run/~a"),
            ("/a/./b//c/..", "/a/b"),
            (" a ", "/state/run/a"),
            ("", "/state/run"),
        ] {
            assert_eq!(places.absolute(path, Base::RunDir), wanted, "{path}");
        }
        assert_eq!(places.absolute("a", Base::Project), "/projects/shop/a");
    }
}
