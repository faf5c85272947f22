//! A prepared project in which lines are run, and its changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_testkit::picture::Picture;
use interlock_testkit::room::{Room, expect_success};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// World-writable places; other programs write there, too.
const SHARED: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Time limit for one line, in the format of `timeout`.
const SECONDS_MAX: &str = "30";

/// Maximum use of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// Everything that the machine supports.
    Full,
    /// No namespaces.
    Files,
    /// An old Landlock, no filter of system calls.
    Partial,
    /// Only the environment.
    Environment,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Level::Full => "full",
            Level::Files => "files",
            Level::Partial => "partial",
            Level::Environment => "environment",
        }
    }
}

/// A room whose project contains something to overwrite.
#[derive(Debug)]
pub(crate) struct Folder {
    room: Room,
    name: String,
    before: Picture,
}

impl Folder {
    /// Creates the folder for the table of tricks.
    pub(crate) fn prepared() -> Folder {
        let script = format!("{}/prepare.sh", super::SHELL);
        Folder::with(|room| {
            let output = room
                .command("bash")
                .args(["-eu", &script])
                .output()
                .unwrap();
            expect_success("prepare.sh", &output).unwrap();
        })
    }

    /// Creates a folder with the files that `fill` adds to the room.
    pub(crate) fn with(fill: impl FnOnce(&Room)) -> Folder {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        // Not below a temporary directory, because some states may write there.
        let room = Room::new_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        install_pytest(&room);
        fill(&room);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("kernel-alone-{}-{number}", std::process::id());
        let mut folder = Folder {
            room,
            name,
            before: Picture::default(),
        };
        // The parent of the lines' temporary directories remains.
        let first = folder.interlock(&["--as", "no-write", "--", "true"]);
        assert!(first.status.success(), "{first:?}");
        folder.before = folder.picture();
        folder
    }

    /// Returns a name that no other test uses.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    /// Runs a line as in a state that may not write, with at most this level of the kernel.
    pub(crate) fn exec(&self, level: Level, line: &str) -> Output {
        self.interlock(&["--as", "no-write", "--at-most", level.word(), "--", line])
    }

    /// Runs `interlock exec` to its end, or to its time limit.
    pub(crate) fn interlock(&self, arguments: &[&str]) -> Output {
        let limit = ["--kill-after=2", SECONDS_MAX, INTERLOCK, "exec"];
        let mut command = self.command("timeout");
        command.args(limit).args(arguments).output().unwrap()
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = self.room.command(program);
        command.stdin(Stdio::null()).env("PROD_DB_URL", "x");
        // A separate home has no toolchains.
        let own =
            std::env::var_os("HOME").map(|home| Path::new(&home).join(".rustup").into_os_string());
        if let Some(toolchains) = std::env::var_os("RUSTUP_HOME").or(own) {
            command.env("RUSTUP_HOME", toolchains);
        }
        if let Some(toolchain) = std::env::var_os("RUSTUP_TOOLCHAIN") {
            command.env("RUSTUP_TOOLCHAIN", toolchain);
        }
        command
    }

    /// Returns the changes since the folder was created, of everything that the level protects.
    pub(crate) fn changes(&self, level: Level) -> Vec<String> {
        let (before, now) = (self.before.clone(), self.picture());
        let mut changes = match level {
            Level::Partial => before.contents().changes(&now.contents()),
            _ => before.changes(&now),
        };
        changes.extend(self.left_in_shared_places());
        changes
    }

    /// Lists and removes the files left in world-writable places.
    fn left_in_shared_places(&self) -> Vec<String> {
        let mut left = Vec::new();
        for place in SHARED {
            for entry in fs::read_dir(place).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(&self.name) {
                    let path = entry.path();
                    left.push(format!("created: {}", path.display()));
                    drop(fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)));
                }
            }
        }
        left
    }

    fn picture(&self) -> Picture {
        let top: PathBuf = self.room.project().parent().unwrap().to_owned();
        // The line's own temporary directory was created and removed there.
        Picture::take(&[top]).without_times_below(&self.room.path("tmp"))
    }
}

/// Makes the pytest of `cargo xtask setup` available on the room's path.
fn install_pytest(room: &Room) {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/e2e/python");
    let packages = packages
        .canonicalize()
        .unwrap_or_else(|_| panic!("pytest is not installed: run `cargo xtask setup`"));
    let body = format!(
        "PYTHONPATH='{}' exec python3 -m pytest \"$@\"",
        packages.display()
    );
    let script = room.script("pytest", &body).unwrap();
    room.install("pytest", &script).unwrap();
}
