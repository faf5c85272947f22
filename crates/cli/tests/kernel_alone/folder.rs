//! A prepared project in which lines are run, and what has changed in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_testkit::picture::Picture;
use interlock_testkit::room::{Room, expect_success};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// Places that everybody may write; other programs write there, too.
const SHARED: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// How long one line may take, as `timeout` reads it.
const SECONDS_MAX: &str = "30";

/// What is used of the kernel at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// All that the machine has.
    Full,
    /// No namespaces.
    Files,
    /// An old Landlock, no filter of system calls.
    Partial,
    /// The environment alone.
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

/// A room whose project holds something to write over.
#[derive(Debug)]
pub(crate) struct Folder {
    room: Room,
    name: String,
    before: Picture,
}

impl Folder {
    /// Makes the folder of the table of tricks.
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

    /// Makes a folder with what `fill` puts into the room.
    pub(crate) fn with(fill: impl FnOnce(&Room)) -> Folder {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        // Not below a temporary directory: those may be written in some states.
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
        // The directory that lines get theirs in stays.
        let first = folder.interlock(&["--as", "no-write", "--", "true"]);
        assert!(first.status.success(), "{first:?}");
        folder.before = folder.picture();
        folder
    }

    /// A name that no other test uses.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    /// Runs a line as a state that may not write does, with at most this of the kernel.
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
        // A home of its own has no toolchains.
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

    /// Says what has changed since the folder was made, of what the level promises to hold.
    pub(crate) fn changes(&self, level: Level) -> Vec<String> {
        let (before, now) = (self.before.clone(), self.picture());
        let mut changes = match level {
            Level::Partial => before.contents().changes(&now.contents()),
            _ => before.changes(&now),
        };
        changes.extend(self.left_in_shared_places());
        changes
    }

    /// Names and removes what was left where everybody may write.
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
        // The line's own temporary directory came and went there.
        Picture::take(&[top]).without_times_below(&self.room.path("tmp"))
    }
}

/// Makes the pytest of `cargo xtask setup` found on the room's path.
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
