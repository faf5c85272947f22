//! Confines one command with the kernel's help.
//!
//! A [`Plan`] describes what one command may do; [`Plan::for_line`] computes it from a state's policy and a line's facts, and it
//! is serialized as JSON. [`run()`] carries it out with this process's own input, output and terminal, and returns how the
//! command [`Ended`], at which [`Level`], and which protected files have changed. This crate judges nothing.
//!
//! # What holds a command
//!
//! | layer | holds | since |
//! |---|---|---|
//! | no new privileges, five sets of capabilities emptied | set-user-id programs; root may go past owner and mode of files and nothing else | Linux 3.5 |
//! | Landlock, files | writing, making, removing, renaming, linking outside the places it may write | 5.13; renames 5.19, truncating 6.2 |
//! | Landlock, reading | files of hidden directories: everything beside them is allowed one by one | 5.13 |
//! | Landlock, processes | tracing, memory, environment of processes outside; it also refuses every mount | 5.13 |
//! | Landlock, TCP; device controls; signals and abstract sockets | connecting and listening; what a device opened by the line can be told; processes outside | 6.7; 6.10; 6.12 |
//! | filter of system calls | modes, owners, times, attributes; sockets; `io_uring`; tracing; new namespaces; typing into the terminal. The rows are in `linux/calls.rs` | 3.17 |
//! | mounts of its own | protected things inside a writable place are read-only, and no directory above them can be renamed; hidden directories inside one are empty | 5.12; as root, or where users may have namespaces |
//! | comparison afterwards | protected things that were not there yet, files that may change in part, all of them where mounts are refused: moved aside or put back, and reported | always |
//! | left-overs | what outlives a line that only reads is ended, also when it left its session | always |
//! | descriptors | only the three standard streams are passed | always |
//!
//! # What a hostile line tries, and what meets it
//!
//! | attempt | met by |
//! |---|---|
//! | `/dev/shm`, `/var/tmp`, `/proc/self/mem`, `/proc/self/coredump_filter`, `/proc/self/fd/N` opened again | Landlock: the path counts, wherever it leads |
//! | hard link to a file outside, a rename into or out of the project, `O_TMPFILE`, a device or pipe made | Landlock; a link into a read-only mount crosses mounts |
//! | `ioctl(FS_IOC_SETFLAGS)`, `chattr`, verity, btrfs subvolumes | filter: they need no file opened for writing |
//! | 32 bit or x32 numbers of system calls | filter: refused, or the same rule for both |
//! | `clone3` with flags in memory | filter: "not there", so that `clone` is used, whose flags are seen |
//! | a datagram socket pair pointed at a daemon | filter |
//! | `prlimit` of no CPU time on Interlock, priorities of others | filter |
//! | `TIOCSTI`, `TIOCLINUX` on the terminal that was passed | filter, in every state |
//! | `/proc/PID/environ`, `mem`, `pidfd_getfd`, `process_vm_writev`, `kcmp`, `ptrace` | Landlock, in every state; the capabilities that would pass it are gone |
//! | `setns`, the mount calls, `chroot`, `open_by_handle_at`, `bpf`, `keyctl`, `userfaultfd` | capabilities and Landlock; in a no-write state the filter too |
//! | `mv .git old; mkdir .git` | a directory above a protected thing is a mount and cannot be renamed; else it is moved back afterwards |
//! | a link laid where something is put back | nothing is put back on a way that has links |
//! | `setsid`, double forks | orphans come to the one that started the line, which ends them |
//! | `BASH_ENV`, `ENV`, functions in the environment, `PS4`, `SHELLOPTS` | taken from the environment before bash starts, and no start-up files |
//! | `memfd_create` | harmless: it has no name that another process could open |
//!
//! Not confined: daemons that act on request, if sockets are allowed; modes and times where a line may write; names of files in
//! hidden directories (their contents are protected). [`Ended::unconfined`] lists what a machine lacks besides.
//!
//! # Where the code may not go
//!
//! Everything between fork and exec is one function (`linux::Entry::steps`), which
//! allocates nothing. `linux/raw.rs` is the only module with unsafe code.

#[cfg(unix)]
pub mod carrier;
pub mod level;
mod links;
#[cfg(target_os = "linux")]
mod linux;
pub mod outcome;
mod own_directory;
pub mod plan;
mod post_check;
pub mod run;
pub mod seatbelt;
#[cfg(target_os = "linux")]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "other.rs"]
mod system;

pub use level::{Level, Reach, Reached, Unconfined};
pub use outcome::{Answer, Change, Changed, Ended, Exit, Probed, RunError, Started, Watcher};
pub use plan::Plan;
pub use plan::derive::{JudgedLine, PlanContext};
pub use run::{run, run_telling, run_watched};

#[cfg(target_os = "linux")]
pub use linux::behind;

/// Starts a probed command of a line, and reports how it ended.
///
/// `place` is what the line was given for it; see `linux/probe.rs`.
///
/// # Errors
/// Nothing was started: the place is invalid.
#[cfg(target_os = "linux")]
pub fn start_probed(place: &str, words: &[std::ffi::OsString]) -> Result<Exit, String> {
    linux::probe::start(place, words)
}

/// Determines by trying what this machine enforces.
#[must_use]
pub fn probe() -> Reached {
    system::probe()
}

/// Returns the level at which this machine confines a line that may write nothing, without trying.
#[must_use]
pub fn reading_level() -> Level {
    system::reading_level()
}
