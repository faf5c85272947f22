//! The diff between a commit and the working tree, made by git without the repository's configuration.
//!
//! INVARIANT: nothing that the repository configures is started or respected: no hook, monitor, pager, filter, text conversion or
//! diff program, and no mark in its index that hides a file. git works in a directory of Interlock, with an empty configuration
//! and a new index made from the commit; it reads only objects of the repository and files of the project.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use interlock_store::{Home, Revision};
use tempfile::TempDir;

use crate::notify::find;

/// Longest time that all of it may take.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Interval between two checks whether git has ended.
const STEP: Duration = Duration::from_millis(5);
/// Maximum number of bytes of a diff that are read.
const BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Maximum number of new files that are examined.
const NEW_MAX: usize = 2_000;

/// Options that must not be left to any configuration.
const SWITCHES: [&str; 6] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.quotePath=false",
    "submodule.recurse=false",
];

/// A diff.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Changed files, relative to the top of the working tree.
    pub(super) files: Vec<PathBuf>,
    /// Lines of the diff, as git prints them.
    pub(super) lines: Vec<String>,
    /// What the diff does not show.
    pub(super) notes: Vec<String>,
}

/// Computes the diff against the commit at which the run began.
pub(super) fn difference(
    home: &Home,
    revision: &Revision,
    project: &Path,
) -> Result<Difference, String> {
    let env = |name: &str| std::env::var_os(name);
    let program = find("git", &env, project).ok_or("git is not found on PATH")?;
    let room = Room::new(home, revision, program)?;
    let mut found = Difference::default();
    room.run(&["read-tree", &revision.commit], None, 0)?;
    let new = room.run(
        &["ls-files", "--others", "--exclude-standard", "-z"],
        None,
        BYTES_MAX,
    )?;
    // A trailing slash means another repository.
    let all: Vec<&[u8]> = new
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty() && !name.ends_with(b"/"))
        .collect();
    if all.len() > NEW_MAX {
        let more = all.len() - NEW_MAX;
        found
            .notes
            .push(format!("{more} more new files are not shown"));
    }
    let listed: Vec<u8> = all
        .iter()
        .take(NEW_MAX)
        .flat_map(|name| name.iter().copied().chain([0]))
        .collect();
    if !listed.is_empty() {
        room.run(
            &[
                "add",
                "--intent-to-add",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
            ],
            Some(listed),
            0,
        )?;
    }
    let diff = [
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--ignore-submodules=all",
    ];
    let names = room.run(
        &[&diff[..], &["--name-only", "--no-renames", "-z"]].concat(),
        None,
        BYTES_MAX,
    )?;
    found.files = names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned()))
        .collect();
    let shown = [
        "--stat=100",
        "--patch",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ];
    let text = room.run(&[&diff[..], &shown[..]].concat(), None, BYTES_MAX)?;
    if u64::try_from(text.len()).is_ok_and(|length| length >= BYTES_MAX) {
        found
            .notes
            .push("the diff is longer than what is read of it".to_owned());
    }
    found.lines = String::from_utf8_lossy(&text)
        .lines()
        .map(str::to_owned)
        .collect();
    Ok(found)
}

/// A directory in which git works, apart from the repository.
struct Room<'a> {
    directory: TempDir,
    revision: &'a Revision,
    program: PathBuf,
    until: Instant,
}

impl<'a> Room<'a> {
    fn new(home: &Home, revision: &'a Revision, program: PathBuf) -> Result<Self, String> {
        // Below the state directory, where no guarded agent can write.
        let directory = tempfile::Builder::new()
            .prefix(".diff-")
            .tempdir_in(home.path())
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
            revision,
            program,
            until: Instant::now() + TIME_MAX,
        })
    }

    /// Runs git to its end; returns at most `bytes_max` bytes of its output.
    fn run(
        &self,
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
            .env("GIT_DIR", at)
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
                    break Err(format!("git had not ended after {} s", TIME_MAX.as_secs()));
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

/// Reads at most `bytes_max` bytes in another thread, then closes the pipe.
fn read(from: impl std::io::Read + Send + 'static, bytes_max: u64) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.take(bytes_max).read_to_end(&mut bytes);
        bytes
    })
}
