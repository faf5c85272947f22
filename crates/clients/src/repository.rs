//! A repository of git, looked at without its word.
//!
//! INVARIANT: nothing that the repository configures is started or heeded: no hook, monitor,
//! pager, filter, text conversion or diff program, and no mark in its index that hides a file.
//! git works in a directory of our own, with an empty configuration and an index made anew
//! from a commit; of the repository it reads objects, and of the project files.

use std::{
    ffi::OsString,
    fs,
    io::{Read as _, Write as _},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use interlock_store::Revision;
use tempfile::TempDir;

use crate::notify::find;

/// Longest that all of it may take, unless more is allowed.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Time between two looks whether git has ended.
const STEP: Duration = Duration::from_millis(5);
/// The most bytes of a list that are read.
const LIST_MAX: u64 = 64 * 1024 * 1024;
/// The most bytes of a file that are read.
const FILE_MAX: u64 = 4 * 1024 * 1024;

/// Switches that must not be left to any configuration.
const SWITCHES: [&str; 6] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.quotePath=false",
    "submodule.recurse=false",
];

/// A repository, looked at from a directory beside it.
#[derive(Debug)]
pub struct Repository {
    directory: TempDir,
    revision: Revision,
    program: PathBuf,
    time_max: Duration,
    until: Instant,
}

impl Repository {
    /// Opens the repository of `revision`, with a directory of our own below `room`; git is looked for outside of `project`.
    ///
    /// # Errors
    /// git is not found, or the directory cannot be made.
    pub fn open(room: &Path, revision: &Revision, project: &Path) -> Result<Self, String> {
        let env = |name: &str| std::env::var_os(name);
        let program = find("git", &env, project).ok_or("git is not found on PATH")?;
        let directory = tempfile::Builder::new()
            .prefix(".diff-")
            .tempdir_in(room)
            .map_err(|error| error.to_string())?;
        let at = directory.path();
        let objects = revision
            .objects
            .to_str()
            .filter(|path| !path.contains('\n'));
        let objects = objects.ok_or("the repository's path cannot be written down")?;
        let format = match revision.commit.len() {
            64 => {
                "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n"
            }
            _ => "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
        };
        let made = fs::create_dir_all(at.join("objects/info"))
            .and_then(|()| fs::create_dir_all(at.join("refs")))
            .and_then(|()| fs::write(at.join("objects/info/alternates"), format!("{objects}\n")))
            .and_then(|()| fs::write(at.join("HEAD"), "ref: refs/heads/none\n"))
            .and_then(|()| fs::write(at.join("config"), format));
        made.map_err(|error| error.to_string())?;
        Ok(Self {
            directory,
            revision: revision.clone(),
            program,
            time_max: TIME_MAX,
            until: Instant::now() + TIME_MAX,
        })
    }

    /// Lets all that follows take another time than the 20 seconds for which a person at a prompt waits.
    #[must_use]
    pub fn within(self, time_max: Duration) -> Self {
        Self {
            time_max,
            until: Instant::now() + time_max,
            ..self
        }
    }

    /// Returns the id of a commit's tree.
    ///
    /// # Errors
    /// The commit is not there.
    pub fn tree(&self, commit: &str) -> Result<String, String> {
        let tree = format!("{commit}^{{tree}}");
        self.id(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &tree,
        ])
    }

    /// Returns the commit that a name of the repository `git_directory` stands for.
    ///
    /// # Errors
    /// It stands for none.
    pub fn resolve(&self, git_directory: &Path, name: &str) -> Result<String, String> {
        let commit = format!("{name}^{{commit}}");
        let words = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ];
        let said = self.run_in(git_directory, &words, None, 200)?;
        id_of(&said).ok_or_else(|| "it is no commit".to_owned())
    }

    /// Returns the address of `origin` in the repository `git_directory`; `None`: it has none.
    #[must_use]
    pub fn origin(&self, git_directory: &Path) -> Option<String> {
        let words = [
            "config",
            "--local",
            "--no-includes",
            "--get",
            "remote.origin.url",
        ];
        let said = self.run_in(git_directory, &words, None, 4_096).ok()?;
        Some(String::from_utf8(said).ok()?.trim().to_owned())
    }

    /// Lists the files of a commit, relative to the top of the working tree; submodules are left out.
    ///
    /// # Errors
    /// The commit is not there.
    pub fn files(&self, commit: &str) -> Result<Vec<PathBuf>, String> {
        let listed = self.list(&["ls-tree", "-r", "-z", "--full-tree", commit])?;
        let file = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let (about, name) = line.split_at_checked(tab)?;
            let is_module = about.starts_with(b"160000 ");
            (!is_module).then(|| path(name.get(1..).unwrap_or_default()))
        };
        Ok(parts(&listed).filter_map(file).collect())
    }

    /// Lists the files of the working tree that differ from a commit, and new ones that no `.gitignore` names.
    ///
    /// # Errors
    /// git fails.
    pub fn changes(&self, commit: &str) -> Result<Vec<PathBuf>, String> {
        self.run(&["read-tree", commit], None, 0)?;
        let words = [
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--ignore-submodules=dirty",
            "--name-only",
            "-z",
        ];
        let changed = self.list(&words)?;
        let new = self.list(&["ls-files", "--others", "--exclude-standard", "-z"])?;
        Ok(parts(&changed).chain(parts(&new)).map(path).collect())
    }

    /// Returns the contents of a file of a commit; `None`: it has no such file.
    ///
    /// # Errors
    /// git fails, or the file is too large.
    pub fn file(&self, commit: &str, name: &str) -> Result<Option<Vec<u8>>, String> {
        let words = ["ls-tree", "-z", "--full-tree", commit, "--", name];
        let listed = self.list(&words)?;
        let is_file = |line: &[u8]| line.starts_with(b"100") && line.ends_with(name.as_bytes());
        if !parts(&listed).any(is_file) {
            return Ok(None);
        }
        let object = format!("{commit}:{name}");
        let text = self.run(&["cat-file", "blob", &object], None, FILE_MAX)?;
        match u64::try_from(text.len()) {
            Ok(length) if length < FILE_MAX => Ok(Some(text)),
            _ => Err(format!("`{name}` has more than {FILE_MAX} bytes")),
        }
    }

    /// Writes files of a commit below `to`, which ends with `/`.
    ///
    /// # Errors
    /// git fails.
    pub fn write_files(&self, commit: &str, files: &[PathBuf], to: &str) -> Result<(), String> {
        self.run(&["read-tree", commit], None, 0)?;
        let named = files
            .iter()
            .flat_map(|file| file.as_os_str().as_bytes().iter().copied().chain([0]));
        let prefix = format!("--prefix={to}");
        let words = ["checkout-index", "-z", "--stdin", &prefix];
        self.run(&words, Some(named.collect()), 0).map(drop)
    }

    /// Runs git for a list, all of which is read.
    fn list(&self, words: &[&str]) -> Result<Vec<u8>, String> {
        let listed = self.run(words, None, LIST_MAX)?;
        match u64::try_from(listed.len()) {
            Ok(length) if length < LIST_MAX => Ok(listed),
            _ => Err("the repository has too many files".to_owned()),
        }
    }

    fn id(&self, words: &[&str]) -> Result<String, String> {
        let said = self.run(words, None, 200)?;
        id_of(&said).ok_or_else(|| "it is not there".to_owned())
    }

    /// Runs git to its end; returns at most `bytes_max` bytes of what it prints.
    ///
    /// # Errors
    /// git fails, or takes too long.
    pub(crate) fn run(
        &self,
        arguments: &[&str],
        input: Option<Vec<u8>>,
        bytes_max: u64,
    ) -> Result<Vec<u8>, String> {
        self.run_in(self.directory.path(), arguments, input, bytes_max)
    }

    fn run_in(
        &self,
        git_directory: &Path,
        arguments: &[&str],
        input: Option<Vec<u8>>,
        bytes_max: u64,
    ) -> Result<Vec<u8>, String> {
        let at = self.directory.path();
        let mut command = Command::new(&self.program);
        for switch in SWITCHES {
            command.args(["-c", switch]);
        }
        command
            .arg("--no-pager")
            .args(arguments)
            .current_dir(&self.revision.top)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", at)
            .env("XDG_CONFIG_HOME", at)
            .env("LC_ALL", "C")
            .env("GIT_DIR", git_directory)
            .env("GIT_WORK_TREE", &self.revision.top)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .stdin(if input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| format!("git cannot be started: {error}"))?;
        if let (Some(mut to), Some(bytes)) = (child.stdin.take(), input) {
            thread::spawn(move || drop(to.write_all(&bytes)));
        }
        let out = child.stdout.take().map(|from| read(from, bytes_max));
        let errors = child.stderr.take().map(|from| read(from, 2_000));
        let ended: Result<ExitStatus, String> = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if Instant::now() < self.until => thread::sleep(STEP),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break Err(format!(
                        "git had not ended after {} s",
                        self.time_max.as_secs()
                    ));
                }
                Err(error) => break Err(error.to_string()),
            }
        };
        let taken = |from: Option<thread::JoinHandle<Vec<u8>>>| {
            from.and_then(|from| from.join().ok()).unwrap_or_default()
        };
        let (out, errors) = (taken(out), taken(errors));
        if ended?.success() || out.len() as u64 >= bytes_max && bytes_max > 0 {
            return Ok(out);
        }
        let errors = String::from_utf8_lossy(&errors);
        Err(format!(
            "git: {}",
            errors.lines().next().unwrap_or("it failed")
        ))
    }
}

/// Reads at most `bytes_max` bytes beside; whoever writes more is told that nobody reads.
fn read(from: impl std::io::Read + Send + 'static, bytes_max: u64) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.take(bytes_max).read_to_end(&mut bytes);
        bytes
    })
}

/// Returns the parts of a list that end with a zero byte.
fn parts(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty())
}

fn path(name: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(name.to_vec()))
}

fn id_of(said: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(said).ok()?.trim();
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex && matches!(text.len(), 40 | 64)).then(|| text.to_owned())
}
