//! A temporary folder for one line: prepared, used, and compared.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::shell_tables::rows::Row;

const SECRET: &str = "postgres://the-secret-of-the-test";

/// The template from which all folders are copied.
#[derive(Debug)]
pub(crate) struct Template {
    directory: TempDir,
    can_leave_network: bool,
}

/// The effects of a line.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) effects: Vec<String>,
    complaints: String,
}

impl Ran {
    /// Returns what to install if a program was missing.
    pub(crate) fn missing(&self) -> Option<String> {
        let line = self
            .complaints
            .lines()
            .find(|line| line.ends_with(": command not found"))?;
        Some(format!(
            "needs a program that is not here ({line}); `cargo xtask setup` names what to install"
        ))
    }
}

impl Template {
    /// Prepares the folder as `tests/shell/prepare.sh` describes it.
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("interlock-shell-")
            .tempdir()
            .unwrap();
        let root = directory.path().join("template");
        for part in ["project", "home", "tmp"] {
            fs::create_dir_all(root.join(part)).unwrap();
        }
        let script = include_str!("../../../../tests/shell/prepare.sh");
        let made = command(&root, "bash")
            .args(["--norc", "--noprofile", "-euc", script])
            .output()
            .unwrap();
        let complaints = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(made.status.success(), "prepare.sh: {complaints}");
        let can_leave_network = Command::new("unshare")
            .args(["-n", "true"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        Self {
            directory,
            can_leave_network,
        }
    }

    /// Returns a path in the folder, in which no line has run.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.directory.path().join("template").join(name)
    }

    /// Runs the line in a separate copy.
    pub(crate) fn run(&self, row: &Row) -> Ran {
        let own = tempfile::Builder::new()
            .prefix("row-")
            .tempdir_in(self.directory.path())
            .unwrap();
        let root = own.path().join("root");
        let template = self.directory.path().join("template");
        let copied = Command::new("cp")
            .args([Path::new("-a"), &template, &root])
            .status()
            .unwrap();
        assert!(copied.success());
        if row.line.contains("git") {
            // A copied file has another inode, which the next `git diff` would record in its index.
            command(&root, "git")
                .args(["update-index", "-q", "--refresh"])
                .stdout(Stdio::null())
                .status()
                .unwrap();
        }
        let listener = row
            .effects
            .iter()
            .any(|effect| effect == "connects")
            .then(|| TcpListener::bind("127.0.0.1:0").unwrap());
        let port = listener
            .as_ref()
            .map_or(1, |listener| listener.local_addr().unwrap().port());
        let before = look(&root);
        let said = File::create(own.path().join("said")).unwrap();
        let complained = File::create(own.path().join("complained")).unwrap();
        let mut words = vec!["timeout", "-k", "1", "20"];
        if self.can_leave_network && listener.is_none() {
            words.splice(0..0, ["unshare", "-n"]);
        }
        let line = row.line.replace("PORT", &port.to_string());
        words.extend(["bash", "--norc", "--noprofile", "-c", &line]);
        let (first, rest) = words.split_first().unwrap();
        command(&root, first)
            .args(rest)
            .stdout(said)
            .stderr(complained)
            .status()
            .unwrap();
        let mut effects = differences(&before, &look(&root));
        let said = text(&own.path().join("said"));
        let complaints = text(&own.path().join("complained"));
        if said.contains(SECRET) || complaints.contains(SECRET) {
            effects.push("shows PROD_DB_URL".to_owned());
        }
        if let Some(listener) = listener {
            listener.set_nonblocking(true).unwrap();
            if listener.accept().is_ok() {
                effects.push("connects".to_owned());
            }
        }
        Ran {
            effects,
            complaints,
        }
    }
}

/// Returns a command that runs in the folder with its own environment.
fn command(root: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(root.join("project"))
        .stdin(Stdio::null())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", root.join("home"))
        .env("TMPDIR", root.join("tmp"))
        .env("USER", "you")
        .env("LANG", "C.UTF-8")
        .env("TERM", "dumb")
        .env("PROD_DB_URL", SECRET)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

fn text(path: &Path) -> String {
    let mut bytes = Vec::new();
    let file = File::open(path).unwrap();
    file.take(1 << 20).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The state of a path.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    kind: &'static str,
    mode: u32,
    /// Only for files: directories change theirs with every file in them.
    time: Option<(i64, i64)>,
    content: Vec<u8>,
}

fn look(root: &Path) -> BTreeMap<String, Seen> {
    let mut found = BTreeMap::new();
    let mut open: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let Ok(meta) = fs::symlink_metadata(&path) else {
                continue;
            };
            let kind = meta.file_type();
            let (name, content) = if kind.is_dir() {
                open.push(path.clone());
                ("directory", Vec::new())
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                ("link", target.into_os_string().into_encoded_bytes())
            } else if kind.is_fifo() {
                ("pipe", Vec::new())
            } else {
                ("file", fs::read(&path).unwrap_or_default())
            };
            let seen = Seen {
                kind: name,
                mode: meta.mode(),
                time: kind.is_file().then(|| (meta.mtime(), meta.mtime_nsec())),
                content,
            };
            found.insert(shown(root, &path), seen);
        }
    }
    found
}

/// Returns a path as the tables write it: relative in the project, others below `~` and `$TMPDIR`.
fn shown(root: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(root).unwrap();
    let mut parts = inner.components();
    let first = parts.next().unwrap();
    let rest = parts.as_path().display().to_string();
    match first.as_os_str().to_str() {
        Some("project") => rest,
        Some("home") => format!("~/{rest}"),
        Some("tmp") => format!("$TMPDIR/{rest}"),
        _ => panic!("an unknown place: {}", inner.display()),
    }
}

fn differences(before: &BTreeMap<String, Seen>, after: &BTreeMap<String, Seen>) -> Vec<String> {
    let mut found = Vec::new();
    for (path, seen) in after {
        match before.get(path) {
            None => found.push(format!("+{path}")),
            Some(old) if old == seen => {}
            Some(old) if old.content == seen.content && old.kind == seen.kind => {
                found.push(format!("!{path}"));
            }
            Some(_) => found.push(format!("~{path}")),
        }
    }
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    found.extend(gone.map(|path| format!("-{path}")));
    found
}
