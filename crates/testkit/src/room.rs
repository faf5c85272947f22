//! An isolated place for one test: a project, a home, a state directory, and its own environment variables.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Returns `directory`, or the home directory if `directory` is a temporary one.
pub fn no_temporary(directory: &Path) -> PathBuf {
    let temporary = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
    let is_temporary = temporary.iter().any(|one| directory.starts_with(one));
    let home = std::env::home_dir().filter(|_| is_temporary);
    home.unwrap_or_else(|| directory.to_owned())
}

/// A git project and the directories of the person who works in it; removed on drop.
#[derive(Debug)]
pub struct Room {
    directory: TempDir,
}

impl Room {
    /// Creates an empty project, a home, and state and configuration directories.
    pub fn new() -> io::Result<Room> {
        Room::new_in(&std::env::temp_dir())
    }

    /// Creates a room below `directory`, for tests in which temporary directories are writable and others are not.
    pub fn new_in(directory: &Path) -> io::Result<Room> {
        fs::create_dir_all(directory)?;
        let directory = tempfile::Builder::new()
            .prefix("interlock-room-")
            .tempdir_in(directory)?;
        let room = Room { directory };
        for path in [
            room.project(),
            room.home(),
            room.state(),
            room.config(),
            room.path("tmp"),
            room.path("bin"),
        ] {
            fs::create_dir_all(path)?;
        }
        let git = room.command("git").args(["init", "--quiet"]).output()?;
        expect_success("git init", &git)?;
        Ok(room)
    }

    /// Creates a room below `directory`, or below the home directory if `directory` is a temporary one.
    pub fn new_in_no_temporary(directory: &Path) -> io::Result<Room> {
        Room::new_in(&no_temporary(directory))
    }

    /// Returns the project directory, a git repository.
    pub fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// Returns the person's home directory.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns the value of `XDG_STATE_HOME`.
    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Returns the value of `XDG_CONFIG_HOME`.
    pub fn config(&self) -> PathBuf {
        self.path("config")
    }

    /// Returns a path in the room outside the project.
    pub fn path(&self, relative: &str) -> PathBuf {
        // The temporary directory may be a link (on macOS), while clients report resolved paths.
        let root = self.directory.path();
        root.canonicalize()
            .unwrap_or_else(|_| root.to_owned())
            .join(relative)
    }

    /// Returns a path below the project, as text for tool inputs.
    pub fn file(&self, relative: &str) -> String {
        self.project().join(relative).to_string_lossy().into_owned()
    }

    /// Writes a file of the project, and creates its parent directories.
    pub fn write(&self, relative: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.project().join(relative);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        fs::write(&path, text)?;
        Ok(path)
    }

    /// Makes a workflow the policy of the project; `config` is the rest of its configuration.
    pub fn write_policy(&self, workflow: &serde_json::Value, config: &str) -> io::Result<()> {
        self.write(".interlock/workflows/policy.json", &workflow.to_string())?;
        let config = format!("workflow = \"policy\"\n{config}");
        self.write(".interlock/config.toml", &config).map(drop)
    }

    /// Reads a file of the project; returns `None` if it does not exist.
    pub fn read(&self, relative: &str) -> Option<String> {
        fs::read_to_string(self.project().join(relative)).ok()
    }

    /// Writes an executable shell script outside the project.
    pub fn script(&self, name: &str, body: &str) -> io::Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n"))?;
        make_executable(&path)?;
        Ok(path)
    }

    /// Installs `program` as `name`, with precedence over other programs of that name.
    pub fn install(&self, name: &str, program: &Path) -> io::Result<()> {
        link(program, &self.path("bin").join(name))
    }

    /// Returns a command in the project, with only the room's environment and the machine's `PATH`.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear();
        command.envs(self.environment());
        command
    }

    /// Returns the environment variables of every program in the room.
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let mut path = self.path("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        vec![
            ("PATH", PathBuf::from(path)),
            ("HOME", self.home()),
            ("XDG_STATE_HOME", self.state()),
            ("XDG_CONFIG_HOME", self.config()),
            ("TMPDIR", self.path("tmp")),
            ("LANG", PathBuf::from("C.UTF-8")),
            ("TZ", PathBuf::from("UTC")),
        ]
    }
}

/// Returns an error with the program's output unless it succeeded.
pub fn expect_success(what: &str, output: &Output) -> io::Result<()> {
    if output.status.success() {
        return Ok(());
    }
    let printed = [&output.stdout[..], &output.stderr[..]].concat();
    let printed = String::from_utf8_lossy(&printed);
    Err(io::Error::other(format!(
        "`{what}` ended with {}: {printed}",
        output.status
    )))
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(unix)]
fn link(program: &Path, name: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(program, name)
}

#[cfg(not(unix))]
fn link(program: &Path, name: &Path) -> io::Result<()> {
    fs::copy(program, name).map(drop)
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> io::Result<()> {
    Ok(())
}
