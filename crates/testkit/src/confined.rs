//! A thread with no network but its own loopback, where the machine allows it.

use std::io;
use std::process::Command;
use std::thread;

/// Whether the work ran cut off from every network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confinement {
    /// In a network namespace that holds only a loopback device.
    Namespace,
    /// In the machine's own network; the caller must see to it that nothing is asked of the outside.
    None,
}

impl Confinement {
    /// Keeps a program inside as well as it can be kept.
    pub(crate) fn keep_inside(self, command: &mut Command) {
        if self == Confinement::Namespace {
            return;
        }
        // Nothing listens on the discard port: whoever honours a proxy reaches nothing.
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env(name, "http://127.0.0.1:9");
        }
        command.env("NO_PROXY", "127.0.0.1,localhost");
    }
}

/// Runs `work` on a thread of its own, in a network namespace if it may make one.
///
/// Sockets opened and processes started by `work` belong to that namespace; other threads cannot reach them.
pub(crate) fn run<T: Send>(
    work: impl FnOnce(Confinement) -> io::Result<T> + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| work(leave_network()));
        let joined = thread.join();
        joined.unwrap_or_else(|_| Err(io::Error::other("the confined thread panicked")))
    })
}

#[cfg(target_os = "linux")]
fn leave_network() -> Confinement {
    use nix::sched::{CloneFlags, unshare};

    // `ip` must be there before the namespace is left behind: a namespace without loopback is of no use.
    let Ok(true) = Command::new("ip")
        .arg("-V")
        .output()
        .map(|it| it.status.success())
    else {
        return Confinement::None;
    };
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        return Confinement::None;
    }
    drop(
        Command::new("ip")
            .args(["link", "set", "lo", "up"])
            .status(),
    );
    Confinement::Namespace
}

#[cfg(not(target_os = "linux"))]
fn leave_network() -> Confinement {
    Confinement::None
}
