//! The effects of `git` commands in real repositories: restored, removed and executed files.
#![cfg(unix)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use interlock_core::names::CallId;
use interlock_facts::{CallContext, Proposal, RealDisk, Shape, facts};
use interlock_shell::Dialect;
use serde_json::json;
use tempfile::TempDir;

const SHELL: Shape = Shape::Shell {
    dialect: Dialect::Bash,
    line: "command",
    directory: None,
    environment: None,
};
/// Each restores tracked files everywhere below the project.
const RESTORING: [&str; 17] = [
    "git checkout -f",
    "git checkout --force",
    "git checkout -qf",
    "git checkout -fb x",
    "git checkout-index -fa",
    "git switch -f main",
    "git switch --discard-changes main",
    "git switch --disc main",
    "git reset --har",
    "git reset --merge",
    "git checkout .",
    "git checkout main -- .",
    "git restore .",
    "git reset --hard",
    "git stash",
    "git stash push",
    "git stash save x",
];

/// A repository with one commit, in `p`.
struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(repository.at("p/.claude")).unwrap();
        fs::write(repository.at("p/.claude/settings.json"), "{}\n").unwrap();
        fs::write(repository.at("p/a.rs"), "1\n").unwrap();
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.git(&["add", "."]);
        repository.git(&["commit", "--quiet", "--message=one"]);
        repository
    }

    fn at(&self, below: &str) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join(below)
    }

    fn git(&self, words: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=you", "-c", "user.email=you@example.com"])
            .args(words)
            .current_dir(self.at("p"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    }

    /// Returns the protected thing that a line touches, where `project` is the project.
    fn touched(&self, project: &str, line: &str) -> Option<String> {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let context = CallContext {
            home: Some(text(&self.at("home"))),
            ..CallContext::of_project(text(&self.at(project)))
        }
        .resolved(&RealDisk);
        let proposal = Proposal {
            id: CallId::from("1"),
            tool: "Bash",
            common: None,
            shape: SHELL,
            input: &json!({ "command": line }),
            doubled: None,
            agent: None,
            branch: None,
        };
        facts(proposal, &context, &RealDisk).facts.protected
    }
}

#[test]
fn a_protected_file_that_was_changed_is_brought_back_by_nobody() {
    let repository = Repository::new();
    fs::write(repository.at("p/a.rs"), "2\n").unwrap();
    for line in RESTORING {
        assert_eq!(repository.touched("p", line), None, "{line}");
    }
    fs::write(
        repository.at("p/.claude/settings.json"),
        "{\"hooks\": {}}\n",
    )
    .unwrap();
    for line in RESTORING {
        assert!(repository.touched("p", line).is_some(), "{line}");
    }
    for line in [
        "git checkout",
        "git checkout -b x",
        "git checkout --orphan x",
        "git switch main",
        "git switch --create x",
        "git stash list",
        "git reset",
    ] {
        assert_eq!(repository.touched("p", line), None, "{line}");
    }
}

#[test]
fn a_protected_file_that_is_not_tracked_is_removed_by_no_clean() {
    let repository = Repository::new();
    fs::write(repository.at("p/.mcp.json"), "{}\n").unwrap();
    for line in ["git clean -f", "git clean -fd", "git clean --force ."] {
        assert!(repository.touched("p", line).is_some(), "{line}");
    }
    for line in [
        "git clean -n",
        "git clean -fn",
        "git clean --dry-run -f",
        "git clean",
    ] {
        assert_eq!(repository.touched("p", line), None, "{line}");
    }
}

#[test]
fn a_work_tree_has_the_hooks_of_its_repository() {
    let repository = Repository::new();
    repository.git(&["worktree", "add", "--quiet", "../w", "-b", "topic"]);
    let hooks = repository.at("p/.git/hooks/pre-commit");
    let config = repository.at("p/.git/config");
    for place in [&hooks, &config] {
        let line = format!("cp a.rs {}", place.display());
        assert!(repository.touched("w", &line).is_some(), "{line}");
    }
    // A file elsewhere in the repository does not affect the work tree.
    let other = format!("cp a.rs {}", repository.at("p/b.rs").display());
    assert_eq!(repository.touched("w", &other), None);
}
