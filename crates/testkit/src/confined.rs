//! Runs work on a thread without any network except its own loopback device, if the machine allows it.

use std::io;
use std::process::Command;
use std::thread;

/// Whether the work ran without access to any network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confinement {
    /// In a network namespace with only a loopback device.
    Namespace,
    /// In the machine's own network; the caller must ensure that no request leaves the machine.
    None,
}

impl Confinement {
    /// Keeps a program off the network, as far as possible.
    pub(crate) fn keep_inside(self, command: &mut Command) {
        if self == Confinement::Namespace {
            return;
        }
        // Nothing listens on the discard port, so programs that honour the proxy reach nothing.
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env(name, "http://127.0.0.1:9");
        }
        command.env("NO_PROXY", "127.0.0.1,localhost");
    }
}

/// Runs `work` on a separate thread, in a new network namespace if permitted.
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

    // `ip` must be available before the namespace is left, because a namespace without loopback is useless.
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
