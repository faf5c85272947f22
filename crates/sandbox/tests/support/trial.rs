//! One confined command in a temporary folder, as root and as an ordinary user.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use interlock_sandbox::plan::{
    Calls, Column, Confinement, EnvironmentChanges, LeftOver, Network, PostCheck, Protected, Start,
    WritablePlace,
};
use interlock_sandbox::{Ended, Level, Plan};

/// A folder with a project, files outside it, and a state directory.
pub(crate) struct Trial {
    folder: tempfile::TempDir,
    user: User,
}

/// The user that runs the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// The user that runs the tests.
    Own,
    /// An unprivileged user; only root can become it.
    Nobody,
}

const NOBODY: u32 = 65_534;

/// Returns the users that the tests can run as on this machine.
pub(crate) fn users() -> Vec<User> {
    if nix::unistd::geteuid().is_root() {
        vec![User::Own, User::Nobody]
    } else {
        vec![User::Own]
    }
}

/// The effects of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) ended: Option<Ended>,
}

impl Trial {
    pub(crate) fn new(user: User) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("sandbox-")
            .tempdir()
            .unwrap();
        let trial = Self { folder, user };
        for directory in ["project", "outside", "state", "bin"] {
            fs::create_dir(trial.path(directory)).unwrap();
        }
        fs::write(trial.path("project/file"), "content").unwrap();
        fs::write(trial.path("outside/file"), "content").unwrap();
        fs::write(trial.path("state/secret"), "secret").unwrap();
        for program in [env!("CARGO_BIN_EXE_confine"), env!("CARGO_BIN_EXE_attempt")] {
            place(Path::new(program), &trial.path("bin"));
        }
        trial
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    /// Replaces `{project}`, `{outside}`, `{state}` and `{try}` in `line` by the trial's paths.
    pub(crate) fn fill(&self, line: &str) -> String {
        let mut line = line.replace("{try}", &self.path("bin/attempt").to_string_lossy());
        for name in ["project", "outside", "state"] {
            line = line.replace(&format!("{{{name}}}"), &self.path(name).to_string_lossy());
        }
        line
    }

    /// Returns the plan of a line in a no-write state.
    pub(crate) fn no_write(&self, line: &str) -> Plan {
        let mut environment = EnvironmentChanges::default();
        environment
            .in_own_directory
            .insert("TMPDIR".to_owned(), String::new());
        self.plan(
            line,
            Column::NoWrite,
            environment,
            Confinement {
                writable: Vec::new(),
                own_directory: true,
                hidden: vec![self.path("state")],
                network: Network::Off,
                closed_ports: Vec::new(),
                sockets: Vec::new(),
                calls: Calls::Reading,
                left_over: LeftOver::End,
            },
        )
    }

    /// Returns the plan of a line in a writing state.
    pub(crate) fn writing(&self, line: &str) -> Plan {
        self.plan(
            line,
            Column::Writing,
            EnvironmentChanges::default(),
            Confinement {
                writable: vec![WritablePlace::at(self.path("project"))],
                own_directory: false,
                hidden: vec![self.path("state")],
                network: Network::On,
                closed_ports: Vec::new(),
                sockets: Vec::new(),
                calls: Calls::Working,
                left_over: LeftOver::Stay,
            },
        )
    }

    fn plan(
        &self,
        line: &str,
        column: Column,
        environment: EnvironmentChanges,
        confinement: Confinement,
    ) -> Plan {
        Plan {
            column,
            start: Start::Line(self.fill(line)),
            probes: Vec::new(),
            directory: self.path("project"),
            project: self.path("project"),
            environment,
            confinement: Some(confinement),
            post_check: PostCheck {
                aside: Some(self.path("aside")),
                ..PostCheck::default()
            },
            require: Level::Environment,
        }
    }

    /// Protects the files `names` of the project.
    pub(crate) fn protect(&self, plan: &mut Plan, names: &[&str]) {
        let one = |name: &&str| Protected {
            path: self.path("project").join(name),
            free: Default::default(),
        };
        plan.post_check.protected.extend(names.iter().map(one));
    }

    /// Returns the command that runs `plan`, confined at most at the level `most`.
    pub(crate) fn command(&self, plan: &Plan, most: Level) -> Command {
        let file = self.path("plan.json");
        fs::write(&file, serde_json::to_vec(plan).unwrap()).unwrap();
        let _ = fs::remove_file(self.path("ended.json"));
        let mut command = Command::new(self.path("bin/confine"));
        command
            .arg(file)
            .arg(self.path("ended.json"))
            .arg(most.as_str());
        command.env("TMPDIR", self.path("."));
        if self.user == User::Nobody {
            self.give_away();
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Gives every file of the trial to the ordinary user.
    fn give_away(&self) {
        let programs = self.path("bin");
        let mut open = vec![self.path("")];
        while let Some(path) = open.pop() {
            if path == programs {
                continue;
            }
            std::os::unix::fs::lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            if path.symlink_metadata().unwrap().is_dir() {
                open.extend(
                    fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            }
        }
    }

    /// Runs `plan` and returns its effects.
    pub(crate) fn run(&self, plan: &Plan, most: Level) -> Outcome {
        self.outcome(
            self.command(plan, most)
                .stdin(Stdio::null())
                .output()
                .unwrap(),
        )
    }

    /// Runs `plan` with `input` as its standard input.
    pub(crate) fn run_with(&self, plan: &Plan, most: Level, input: &[u8]) -> Outcome {
        let mut command = self.command(plan, most);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        self.outcome(child.wait_with_output().unwrap())
    }

    pub(crate) fn outcome(&self, output: Output) -> Outcome {
        let ended = fs::read(self.path("ended.json")).ok();
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            ended: ended.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        }
    }

    /// Returns everything below the project and outside, with contents, modes and times.
    pub(crate) fn stand(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.path("project"), self.path("outside")];
        while let Some(path) = open.pop() {
            let about = path.symlink_metadata().unwrap();
            if about.is_dir() {
                open.extend(
                    fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            }
            let text = if about.is_file() {
                fs::read(&path).unwrap_or_default()
            } else {
                Vec::new()
            };
            let line = format!(
                "{:o} {}:{} {} {}.{} {text:?}",
                about.mode(),
                about.uid(),
                about.gid(),
                about.nlink(),
                about.mtime(),
                about.mtime_nsec(),
            );
            found.insert(path, line);
        }
        found
    }

    /// Lists the files left in the run's own temporary directories.
    pub(crate) fn left_in_temporary(&self) -> Vec<PathBuf> {
        let user = match self.user {
            User::Own => nix::unistd::geteuid().as_raw(),
            User::Nobody => NOBODY,
        };
        let parent = self.path(&format!("interlock-{user}"));
        let entries = fs::read_dir(parent).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// Puts a program where an ordinary user can execute it.
///
/// It is not written here, because a program that some process has open for writing cannot start.
fn place(program: &Path, directory: &Path) {
    let to = directory.join(program.file_name().unwrap());
    if fs::hard_link(program, &to).is_err() {
        let copied = Command::new("cp").arg(program).arg(&to).status().unwrap();
        assert!(copied.success());
    }
}
