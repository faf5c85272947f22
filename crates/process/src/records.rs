//! Records of the groups that run, kept with the run, so that whoever takes over can end them.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::{group, table};

/// The records of one run's groups.
#[derive(Debug, Clone)]
pub struct GroupRecords {
    directory: PathBuf,
}

/// An error of writing or reading a group's record.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep a record of process groups in `{path}`: {source}")]
pub struct RecordError {
    path: String,
    source: io::Error,
}

/// What is known about a group.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The process id of its leader, which is also the number of the group.
    pid: i32,
    /// When the leader was started; `None` if the system does not report it.
    start: Option<u64>,
    /// Identifies the boot of the system; `None` if the system does not report it.
    boot: Option<String>,
}

/// The number of this process's next record, which distinguishes its records.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl GroupRecords {
    /// Returns the records below the directory of a run.
    #[must_use]
    pub fn beside(run_directory: &Path) -> Self {
        Self {
            directory: run_directory.join("groups"),
        }
    }

    /// Records that the group of `leader` runs, until the returned value is dropped.
    pub(crate) fn note(&self, leader: Pid) -> Result<Noted, RecordError> {
        let pid = leader.as_raw_pid();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(format!("{pid}-{number}.json"));
        let record = Record {
            pid,
            start: start_of(pid),
            boot: boot(),
        };
        self.write(&path, &record)
            .map_err(|source| self.error(source))?;
        Ok(Noted { path })
    }

    fn write(&self, path: &Path, record: &Record) -> io::Result<()> {
        let text = serde_json::to_vec(record)?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&self.directory)?;
                options.open(path)?
            }
            opened => opened?,
        };
        file.write_all(&text)
    }

    /// Ends every recorded group that outlived its runner, and removes the records.
    ///
    /// # Errors
    /// The records cannot be listed.
    pub fn end_all(&self) -> Result<(), RecordError> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(|source| self.error(source))?,
        };
        let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        let groups: Vec<Pid> = paths
            .iter()
            .filter_map(|path| outlived(&fs::read(path).ok()?))
            .collect();
        group::end(&groups);
        for path in paths {
            // Whatever is left is checked again by the next process to take over.
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    fn error(&self, source: io::Error) -> RecordError {
        RecordError {
            path: self.directory.display().to_string(),
            source,
        }
    }
}

/// Returns the recorded group if its leader still runs, or other members may.
fn outlived(bytes: &[u8]) -> Option<Pid> {
    // A record cut off by a crash does not name a group; its processes are found by their environment.
    let record: Record = serde_json::from_slice(bytes).ok()?;
    let group = Pid::from_raw(record.pid)?;
    match start_of(record.pid) {
        _ if record.boot != boot() => None,
        // Another process has the number now.
        Some(start) if record.start != Some(start) => None,
        // The number of a group is not reused while the group has members.
        _ => Some(group),
    }
}

fn start_of(pid: i32) -> Option<u64> {
    table::entry(u32::try_from(pid).ok()?).map(|entry| entry.start)
}

/// Returns the id of this boot of the system, where the system reports it.
fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// A record that is kept while its group runs.
#[derive(Debug)]
pub(crate) struct Noted {
    path: PathBuf,
}

impl Drop for Noted {
    fn drop(&mut self) {
        // A record that is left behind names a group that has ended.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::{
        io::Read as _,
        os::unix::process::CommandExt as _,
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn a_group_is_ended_whose_leader_has_ended_before() {
        let directory = tempfile::tempdir().unwrap();
        let records = GroupRecords::beside(directory.path());
        let mut leader = Command::new("sh")
            .args(["-c", "read -r _; sleep 600 >/dev/null 2>&1 &"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let group = Pid::from_child(&leader);
        // A killed runner leaves it so.
        std::mem::forget(records.note(group).unwrap());
        drop(leader.stdin.take());
        let mut rest = String::new();
        leader
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut rest)
            .unwrap();
        leader.wait().unwrap();
        assert!(group::is_alive(group), "what it started continues");
        records.end_all().unwrap();
        assert!(!group::is_alive(group));
        assert_eq!(fs::read_dir(&records.directory).unwrap().count(), 0);
    }

    #[test]
    fn every_group_has_ended_when_the_end_of_all_returns() {
        let directory = tempfile::tempdir().unwrap();
        let records = GroupRecords::beside(directory.path());
        let run = |script: &str| {
            let child = Command::new("sh")
                .args(["-c", script])
                .stdout(Stdio::piped())
                .process_group(0)
                .spawn()
                .unwrap();
            std::mem::forget(records.note(Pid::from_child(&child)).unwrap());
            child
        };
        // Each of these outlives the others for a moment, whichever is checked first.
        let mut children = [
            run("echo; exec sleep 600"),
            run("trap '' TERM; echo; sleep 600; sleep 600"),
            run("echo; exec sleep 600"),
        ];
        for child in &mut children {
            let mut first = [0];
            child
                .stdout
                .as_mut()
                .unwrap()
                .read_exact(&mut first)
                .unwrap();
        }
        records.end_all().unwrap();
        for child in &mut children {
            assert!(!group::is_alive(Pid::from_child(child)));
            child.wait().unwrap();
        }
    }
}
