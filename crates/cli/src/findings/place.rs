//! Paths relative to the repository, wherever the command was called.

use std::path::{Component, Path, PathBuf};

/// The repository that paths are relative to.
#[derive(Debug)]
pub(super) struct Repository {
    root: PathBuf,
    directory: PathBuf,
}

impl Repository {
    /// Finds the repository around a directory; without one, paths are relative to the directory.
    pub(super) fn around(directory: &Path) -> Self {
        let root = directory
            .ancestors()
            .find(|folder| folder.join(".git").exists());
        Self {
            root: root.unwrap_or(directory).to_owned(),
            directory: directory.to_owned(),
        }
    }

    /// Returns a path relative to the root, with `/`; unchanged if it is outside.
    pub(super) fn relative(&self, file: &str) -> String {
        let path = without_dots(&self.directory.join(file));
        let inside = path.strip_prefix(&self.root).map(Path::to_owned).ok();
        let inside = inside.or_else(|| {
            let (path, root) = (path.canonicalize().ok()?, self.root.canonicalize().ok()?);
            path.strip_prefix(root).map(Path::to_owned).ok()
        });
        let Some(inside) = inside else {
            return file.to_owned();
        };
        let parts: Vec<String> = inside
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect();
        parts.join("/")
    }
}

/// Resolves `.` and `..` lexically.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::Repository;

    #[test]
    fn paths_are_relative_to_the_root_of_the_repository() {
        let repository = Repository {
            root: PathBuf::from("/repo"),
            directory: PathBuf::from("/repo/sub"),
        };
        assert_eq!(repository.relative("flow.yaml"), "sub/flow.yaml");
        assert_eq!(repository.relative("./../a/b.yaml"), "a/b.yaml");
        assert_eq!(repository.relative("/repo/c.yaml"), "c.yaml");
        assert_eq!(repository.relative("/other/c.yaml"), "/other/c.yaml");
        assert_eq!(repository.relative("../../other.yaml"), "../../other.yaml");
    }
}
