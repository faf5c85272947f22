//! Finds the directories of a repository that keeps them elsewhere, as a worktree does.

use std::path::{Path, PathBuf};

/// Returns the directories of a repository that keeps them elsewhere, as a worktree does.
///
/// A line could have written the file that points to them. Therefore they count only if they
/// name this project themselves.
pub(crate) fn repository(project: &Path) -> Vec<PathBuf> {
    let real = |path: PathBuf| path.canonicalize().ok();
    let pointer = std::fs::read_to_string(project.join(".git")).unwrap_or_default();
    let own = pointer
        .trim()
        .strip_prefix("gitdir: ")
        .and_then(|own| real(project.join(own)));
    let (Some(own), Some(project)) = (own, real(project.to_owned())) else {
        return Vec::new();
    };
    worktree(&own, &project).unwrap_or_else(|| {
        let is_submodule = submodule_of(&own) == Some(project);
        if is_submodule { vec![own] } else { Vec::new() }
    })
}

/// Returns a worktree's own directory and the one it shares, where both name `project`.
fn worktree(own: &Path, project: &Path) -> Option<Vec<PathBuf>> {
    let says = |name: &str| std::fs::read_to_string(own.join(name)).ok();
    let back = own.join(says("gitdir")?.trim()).canonicalize().ok()?;
    let common = own.join(says("commondir")?.trim()).canonicalize().ok()?;
    let belongs = back == project.join(".git") && own.parent()? == common.join("worktrees");
    belongs.then(|| vec![own.to_owned(), common])
}

/// Returns the work tree that a submodule's directory is configured for.
fn submodule_of(own: &Path) -> Option<PathBuf> {
    let config = std::fs::read_to_string(own.join("config")).ok()?;
    let (_, tree) = config
        .lines()
        .filter_map(|line| line.split_once('='))
        .find(|(key, _)| key.trim() == "worktree")?;
    own.join(tree.trim()).canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(path: &Path, text: &str) {
        let made = path.parent().map(fs::create_dir_all);
        assert!(made.is_some_and(|made| made.is_ok()));
        assert!(fs::write(path, text).is_ok());
    }

    #[test]
    fn a_repository_elsewhere_must_name_the_project() {
        let room =
            tempfile::tempdir().map(|room| room.path().canonicalize().map(|real| (room, real)));
        let Ok(Ok((_kept, room))) = room else {
            return assert!(room.is_ok_and(|inner| inner.is_ok()), "no directory");
        };
        let (tree, main, other) = (room.join("w"), room.join("m/.git"), room.join("other"));
        let own = main.join("worktrees/w");
        write(&tree.join(".git"), &format!("gitdir: {}\n", own.display()));
        write(&own.join("commondir"), "../..\n");
        write(
            &own.join("gitdir"),
            &format!("{}\n", tree.join(".git").display()),
        );
        write(&other.join("f"), "");
        assert_eq!(repository(&tree), [own.clone(), main.clone()]);

        // A directory that shares another one's is not a worktree of it.
        write(&own.join("commondir"), &other.display().to_string());
        assert!(repository(&tree).is_empty());
        // Neither is the directory of another work tree.
        write(&own.join("commondir"), "../..\n");
        let another = room.join("another/.git");
        write(&another, "");
        write(&own.join("gitdir"), &format!("{}\n", another.display()));
        assert!(repository(&tree).is_empty());
        // Neither is a directory that does not name the project.
        write(
            &tree.join(".git"),
            &format!("gitdir: {}\n", other.display()),
        );
        assert!(repository(&tree).is_empty());

        let module = room.join("p/.git/modules/s");
        let inside = room.join("p/s");
        write(&inside.join(".git"), "gitdir: ../.git/modules/s\n");
        write(&module.join("config"), "[core]\n\tworktree = ../../../s\n");
        assert_eq!(repository(&inside), std::slice::from_ref(&module));
        write(&module.join("config"), "[core]\n\tworktree = ../../../t\n");
        assert!(repository(&inside).is_empty());
    }
}
