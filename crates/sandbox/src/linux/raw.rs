//! The few system calls that no crate wraps safely.
//!
//! What runs between fork and exec allocates nothing and takes no lock.
#![expect(
    unsafe_code,
    reason = "bare system calls; each block says why it is sound"
)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;

const NOTHING: libc::c_ulong = 0;
const LANDLOCK_VERSION: libc::c_ulong = 1;

/// Returns the version of Landlock's interface; 0 if there is none.
pub(super) fn landlock_version() -> u8 {
    // SAFETY: with the flag "version" the kernel reads no memory of ours.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            NOTHING,
            LANDLOCK_VERSION,
        )
    };
    u8::try_from(answer).unwrap_or(0)
}

/// Returns whether the kernel can answer a system call with an error number.
pub(super) fn can_filter() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads one `u32` from a live reference.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::c_ulong::from(libc::SECCOMP_GET_ACTION_AVAIL),
            NOTHING,
            std::ptr::from_ref(&action),
        )
    };
    answer == 0
}

/// Applies `rules` to the calling thread and everything it starts.
pub(super) fn restrict_self(rules: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: no memory is passed, and the descriptor is open.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), NOTHING) };
    Errno::result(answer).map(drop)
}

/// The kernel's structure for a rule about a file or directory.
#[repr(C, packed)]
struct PathBeneath {
    allowed_access: u64,
    parent_fd: RawFd,
}

const LANDLOCK_PATH_BENEATH: libc::c_ulong = 1;

/// Adds `rights` for the file open as `place`, and below it, to `rules`.
pub(super) fn allow_beneath(
    rules: BorrowedFd<'_>,
    place: BorrowedFd<'_>,
    rights: u64,
) -> Result<(), Errno> {
    let rule = PathBeneath {
        allowed_access: rights,
        parent_fd: place.as_raw_fd(),
    };
    // SAFETY: the kernel reads one live structure of its layout; both descriptors are open.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            rules.as_raw_fd(),
            LANDLOCK_PATH_BENEATH,
            std::ptr::from_ref(&rule),
            NOTHING,
        )
    };
    Errno::result(answer).map(drop)
}

/// Marks every descriptor from 3 on to be closed at the next exec.
pub(super) fn close_others() -> Result<(), Errno> {
    // SAFETY: no memory is passed; nothing is closed before exec.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3 as libc::c_uint,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    match Errno::result(answer) {
        Ok(_) => Ok(()),
        // Before Linux 5.11: one by one, up to the limit of open files.
        Err(Errno::ENOSYS | Errno::EINVAL) => {
            close_each();
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn close_each() {
    for descriptor in 3..65_536 {
        // SAFETY: no memory is passed; a number that is not open is an error without effect.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Returns a copy of `descriptor` at a number from `least` on, closed at exec.
pub(super) fn copy_above(descriptor: BorrowedFd<'_>, least: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed, and the descriptor is open.
    let copy = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) };
    let copy = Errno::result(copy)?;
    // SAFETY: the kernel has just made it, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Takes the descriptor `number` that this process was started with; from now on it is closed at exec.
pub(super) fn take(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: no memory is passed; a number that is not open is an error without effect.
    let flags = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    // SAFETY: it is open, and the one caller takes it before anything else is opened.
    (flags == 0).then(|| unsafe { OwnedFd::from_raw_fd(number) })
}

/// Keeps the descriptor `number` open at the next exec.
pub(super) fn leave_open(number: RawFd) -> Result<(), Errno> {
    // SAFETY: no memory is passed; a number that is not open is an error without effect.
    Errno::result(unsafe { libc::fcntl(number, libc::F_SETFD, 0) }).map(drop)
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityHalf {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// Returns the capabilities that the calling thread may use, as bits.
pub(super) fn capabilities() -> Result<u64, Errno> {
    let mut header = CapabilityHeader {
        version: CAPABILITY_VERSION,
        pid: 0,
    };
    let mut halves = [CapabilityHalf::default(); 2];
    // SAFETY: the structures have the kernel's layout, and version 3 fills two halves.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_capget,
            std::ptr::from_mut(&mut header),
            halves.as_mut_ptr(),
        )
    };
    Errno::result(answer)?;
    let [low, high] = halves;
    Ok(u64::from(low.permitted) | u64::from(high.permitted) << 32)
}

/// Permanently drops every capability except `kept`.
pub(super) fn keep_capabilities(kept: u64) -> Result<(), Errno> {
    for capability in 0..64 {
        if kept & (1 << capability) == 0 {
            // SAFETY: no memory is passed.
            let answer = unsafe {
                libc::prctl(libc::PR_CAPBSET_DROP, capability, NOTHING, NOTHING, NOTHING)
            };
            // Beyond the last capability, or not permitted: the same holds for the rest.
            if answer == -1 && matches!(Errno::last(), Errno::EINVAL | Errno::EPERM) {
                break;
            }
        }
    }
    // SAFETY: no memory is passed; a kernel without ambient capabilities has none to clear.
    unsafe {
        libc::prctl(
            libc::PR_CAP_AMBIENT,
            libc::PR_CAP_AMBIENT_CLEAR_ALL,
            NOTHING,
            NOTHING,
            NOTHING,
        )
    };
    let header = CapabilityHeader {
        version: CAPABILITY_VERSION,
        pid: 0,
    };
    let half = |bits: u64| CapabilityHalf {
        effective: bits as u32,
        permitted: bits as u32,
        inheritable: 0,
    };
    let halves = [half(kept & 0xffff_ffff), half(kept >> 32)];
    // SAFETY: the structures have the kernel's layout, and version 3 reads two halves.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_capset,
            std::ptr::from_ref(&header),
            halves.as_ptr(),
        )
    };
    Errno::result(answer).map(drop)
}

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    namespace: u64,
}

const MOUNT_READ_ONLY: u64 = 1;

/// Makes the mount at `path`, and all below it, read-only or writable.
pub(super) fn set_read_only(path: &CStr, read_only: bool) -> Result<(), Errno> {
    let attributes = MountAttributes {
        set: if read_only { MOUNT_READ_ONLY } else { 0 },
        clear: if read_only { 0 } else { MOUNT_READ_ONLY },
        propagation: 0,
        namespace: 0,
    };
    // SAFETY: the path ends with NUL, and the size given is that of the structure.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            std::ptr::from_ref(&attributes),
            size_of::<MountAttributes>(),
        )
    };
    Errno::result(answer).map(drop)
}

/// Restores the default handling of `SIGCHLD`, whatever the parent process had set.
pub(super) fn hear_of_children() {
    // SAFETY: the default action runs no code of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Runs `enter` in the new process, before the program starts.
pub(super) fn before_start(
    command: &mut Command,
    enter: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: `enter` makes system calls alone: it allocates nothing and takes no lock, so it
    // is sound after a fork, whatever other threads were doing.
    unsafe { command.pre_exec(enter) };
}
