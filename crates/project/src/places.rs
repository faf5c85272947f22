//! Where things lie.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Returns the project that `directory` lies in.
///
/// The nearest directory at or above with `.interlock/` or `.git`, else
/// `directory` itself. Links in `directory` are resolved where it exists.
#[must_use]
pub fn project_root(directory: &Path) -> PathBuf {
    let start = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    let root = start
        .ancestors()
        .find(|above| above.join(".interlock").is_dir() || above.join(".git").exists());
    root.map_or_else(|| start.clone(), Path::to_owned)
}

/// Returns the project that a root was made from as a worktree of git; `None`: it was not.
#[must_use]
pub fn main_worktree(root: &Path) -> Option<PathBuf> {
    let marker = root.join(".git");
    let text = marker.is_file().then(|| std::fs::read_to_string(&marker))?;
    let text = text.ok()?;
    // `gitdir: MAIN/.git/worktrees/NAME`
    let folder = root.join(text.strip_prefix("gitdir:")?.trim());
    let worktrees = folder
        .parent()
        .filter(|above| above.ends_with("worktrees"))?;
    let git = worktrees.parent().filter(|above| above.ends_with(".git"))?;
    git.parent()?.canonicalize().ok()
}

/// Returns the project that a FlowState file in `folder` belongs to.
///
/// The nearest directory at or above with `.flowstate/`, `.interlock/` or
/// `.git`, else `folder` itself. A person's own `~/.flowstate/` marks no project.
#[must_use]
pub fn workflow_root(folder: &Path, home: Option<&Path>) -> PathBuf {
    let start = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let start = start.canonicalize().unwrap_or(start);
    let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
    let root = start.ancestors().find(|above| {
        above.join(".interlock").is_dir()
            || above.join(".git").exists()
            || (home.as_deref() != Some(*above) && above.join(".flowstate").is_dir())
    });
    root.map_or_else(|| start.clone(), Path::to_owned)
}

/// Returns a person's own configuration directory, absolute.
///
/// `$XDG_CONFIG_HOME/interlock`, else `~/.config/interlock`; `None` without a home.
#[must_use]
pub fn configuration_directory(env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| {
        env(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CONFIG_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".config")))
        .map(|base| base.join("interlock"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_worktree_has_a_main_one_and_a_submodule_has_none() {
        let room = tempfile::tempdir().unwrap();
        let base = room.path().canonicalize().unwrap();
        let (main, other) = (base.join("main"), base.join("other"));
        fs::create_dir_all(main.join(".git")).unwrap();
        fs::create_dir_all(&other).unwrap();
        assert_eq!(main_worktree(&main), None);
        for (own, is_worktree) in [
            (".git/worktrees/other", true),
            (".git/modules/other", false),
            ("elsewhere/worktrees/other", false),
        ] {
            let text = format!("gitdir: {}\n", main.join(own).display());
            fs::write(other.join(".git"), text).unwrap();
            let wanted = is_worktree.then(|| main.clone());
            assert_eq!(main_worktree(&other), wanted, "{own}");
        }
    }
}
