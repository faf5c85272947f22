//! Calls that touch protected things, and similar calls, on a disk with links of every kind.

#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use interlock_core::names::CallId;
use interlock_facts::{CallContext, CallSite, EditFields, Proposal, RealDisk, Shape, facts};
use interlock_shell::Dialect;
use serde_json::{Value, json};

const ROWS: &str = include_str!("cases/protected.txt");
/// Minimum number of rows, so that none gets lost.
const ROWS_MIN: usize = 800;

/// Interlock's program in these tests.
const PROGRAM: &str = "the program";

const GREP: Shape = Shape::Search {
    places: &["path"],
    files: &["glob"],
    contents: true,
};
const GLOB: Shape = Shape::Search {
    places: &["path"],
    files: &["pattern"],
    contents: false,
};

struct Room {
    directory: tempfile::TempDir,
    context: CallContext,
}

impl Room {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        fill(&root);
        link(&root);
        let text = |below: &str| root.join(below).to_str().unwrap().to_owned();
        let context = CallContext {
            home: Some(text("home")),
            user: Some("you".to_owned()),
            temporary: Some("/tmp".to_owned()),
            state_directory: Some(text("home/.local/state/interlock")),
            config_directory: Some(text("home/.config/interlock")),
            programs: vec![text("bin/interlock")],
            search_path: vec![text("bin"), "/usr/bin".to_owned(), "/bin".to_owned()],
            site: CallSite {
                pid: Some(std::process::id()),
                ..CallSite::at(text("p"))
            },
            moved: vec![(".claude".to_owned(), "/work2/moved-claude".to_owned())],
            ..CallContext::of_project(text("p"))
        }
        .resolved(&RealDisk);
        Self { directory, context }
    }

    fn row(&self, text: &str) -> String {
        let root = fs::canonicalize(self.directory.path()).unwrap();
        text.replace("{T}", root.to_str().unwrap())
            .replace("{client}", &std::process::id().to_string())
            .replace('⏎', "\n")
    }

    /// Returns the protected thing that a call by `route` touches.
    fn touched(&self, route: &str, text: &str) -> Option<String> {
        let (tool, shape, input) = call(route, text);
        let proposal = Proposal {
            id: CallId::from("1"),
            tool,
            common: None,
            shape,
            input: &input,
            doubled: None,
            agent: None,
            branch: None,
        };
        facts(proposal, &self.context, &RealDisk).facts.protected
    }
}

fn fill(root: &Path) {
    let write = |below: &str, text: &str| {
        let path = root.join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for below in [
        "p/.claude/settings.json",
        "p/.claude/skills/s/run.sh",
        "p/.claude/skills/s/run.py",
        "p/.mcp.json",
        "p/.git/hooks/pre-commit",
        "p/.git/config",
        "p/.git/HEAD",
        "p/.idea/workspace.xml",
        "p/.interlock/workflows/a.yaml",
        "p/tools/.vscode/tasks.json",
        "p/nest/.claude/settings.json",
        "p/src/a.rs",
        "p/src/a.sh",
        "p/build/x",
        "p/target/x",
        "p/interlock/Cargo.toml",
        "p/a.yaml",
        "home/.bashrc",
        "home/.ssh/config",
        "home/.local/state/interlock/runs/1/run.db",
        "home/.local/state/interlock/index.db",
        "home/.config/interlock/config.toml",
    ] {
        write(below, "");
    }
    fs::create_dir_all(root.join("p/empty")).unwrap();
    write("bin/interlock", PROGRAM);
    write("p/il_copy", PROGRAM);
}

fn link(root: &Path) {
    let at = |below: &str| -> PathBuf { root.join(below) };
    symlink(".claude", at("p/l_claude")).unwrap();
    symlink(".claude/settings.json", at("p/l_set")).unwrap();
    symlink("..", at("p/up")).unwrap();
    symlink(at("home"), at("p/l_home")).unwrap();
    symlink(at("home/.local/state/interlock"), at("p/l_state")).unwrap();
    symlink(at("bin/interlock"), at("p/il")).unwrap();
    symlink(at("bin/interlock"), at("bin/tool")).unwrap();
    fs::hard_link(at("p/.claude/settings.json"), at("p/hard")).unwrap();
    fs::hard_link(at("bin/interlock"), at("p/il_hard")).unwrap();
}

/// Returns the call of a tool.
fn call(route: &str, text: &str) -> (&'static str, Shape, Value) {
    let path = "file_path";
    let fields = EditFields::SNAKE;
    match route {
        "shell" => {
            let (dialect, line) = (Dialect::Bash, "command");
            let shape = Shape::Shell {
                dialect,
                line,
                directory: None,
                environment: None,
            };
            ("Bash", shape, json!({ "command": text }))
        }
        "write" => {
            let content = "content";
            let input = json!({ "file_path": text, "content": "x" });
            ("Write", Shape::Write { path, content }, input)
        }
        "edit" => {
            let input = json!({ "file_path": text, "old_string": "a", "new_string": "b" });
            ("Edit", Shape::Edit { path, fields }, input)
        }
        "notebook" => {
            let input = json!({ "file_path": text, "new_source": "b" });
            ("NotebookEdit", Shape::Notebook { path }, input)
        }
        "delete" => (
            "Delete",
            Shape::Delete { path },
            json!({ "file_path": text }),
        ),
        "patch" => {
            let patch = format!("*** Begin Patch\n*** Update File: {text}\n+x\n*** End Patch");
            let shape = Shape::Patch { text: "command" };
            ("apply_patch", shape, json!({ "command": patch }))
        }
        "read" => {
            let shape = Shape::Read {
                paths: &["file_path"],
            };
            ("Read", shape, json!({ "file_path": text }))
        }
        "grep" => {
            let (place, glob) = text.split_once(' ').unwrap_or((text, ""));
            let input = json!({ "pattern": "x", "path": place, "glob": glob });
            ("Grep", GREP, input)
        }
        "glob" => ("Glob", GLOB, json!({ "pattern": text })),
        "fs-write" => {
            let input = json!({ "path": text, "content": "x" });
            ("mcp__fs__write_file", Shape::Other, input)
        }
        "fs-search" => (
            "mcp__fs__search_files",
            Shape::Other,
            json!({ "path": text }),
        ),
        "fs-read" => ("mcp__fs__read_file", Shape::Other, json!({ "path": text })),
        other => unreachable!("no route is called {other}"),
    }
}

#[test]
fn every_row_is_as_it_says() {
    let room = Room::new();
    let mut wrong = Vec::new();
    let mut rows = 0;
    for row in ROWS.lines().filter(|row| row.starts_with(['P', '+'])) {
        let mut words = row.splitn(3, ' ');
        let (expected, route, text) = (words.next(), words.next(), words.next());
        let text = room.row(text.unwrap());
        let found = room.touched(route.unwrap(), &text);
        rows += 1;
        if found.is_some() != (expected == Some("P")) {
            wrong.push(format!("{row}\n      {found:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(rows >= ROWS_MIN, "{rows} rows");
}
