//! The terminal: lent to one program at a time, and taken back as it was.

use std::{
    io::{self, IsTerminal as _},
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    process::Stdio,
};

use nix::sys::signal::{SigSet, SigmaskHow, Signal as Blocked};
use rustix::{
    process::{Pid, Signal, getpgrp, kill_process_group},
    termios::{
        LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
        tcsetpgrp,
    },
};

use crate::group;

/// The terminal that a person sits at.
#[derive(Debug)]
pub struct Terminal {
    device: OwnedFd,
}

impl Terminal {
    /// Takes `device` as the terminal; `None` when it is none.
    #[must_use]
    pub fn of(device: OwnedFd) -> Option<Self> {
        device.is_terminal().then_some(Self { device })
    }

    /// Takes standard input as the terminal; `None` when it is none.
    #[must_use]
    pub fn of_stdin() -> Option<Self> {
        let device = io::stdin().as_fd().try_clone_to_owned().ok()?;
        Self::of(device)
    }

    /// Tells whether somebody who reads from it now would be served.
    ///
    /// A shell's job in the background would be stopped instead.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        match tcgetpgrp(&self.device) {
            Ok(group) => group == getpgrp(),
            // Not this session's own terminal: nobody is stopped by it.
            Err(_) => true,
        }
    }

    /// Returns its rows and columns; `None` where it has no size.
    #[must_use]
    pub fn size(&self) -> Option<(u16, u16)> {
        let size = tcgetwinsize(&self.device).ok()?;
        (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
    }

    /// Tells whether what is typed is shown and comes line by line.
    ///
    /// A program that asks for a password, or takes the whole screen, changes that.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let plain = LocalModes::ECHO | LocalModes::ICANON;
        tcgetattr(&self.device).is_ok_and(|modes| modes.local_modes.contains(plain))
    }

    /// Returns what a program has it through.
    pub(crate) fn stream(&self) -> io::Result<Stdio> {
        Ok(Stdio::from(self.device.try_clone()?))
    }

    /// Returns what it is read through here.
    #[must_use]
    pub fn device(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    /// Gives the foreground to `group` until the answer is dropped.
    ///
    /// `None` where the terminal is not this session's own: there is no foreground to give.
    pub(crate) fn lend(&self, group: Pid) -> Option<ForegroundGuard<'_>> {
        let before = tcgetpgrp(&self.device).ok()?;
        let own = getpgrp();
        if before != own {
            return None;
        }
        let lent = ForegroundGuard {
            terminal: self,
            own,
            group,
            modes: tcgetattr(&self.device).ok(),
        };
        lent.give();
        Some(lent)
    }
}

/// How a program has the terminal.
#[derive(Debug, Clone, Copy)]
pub enum At<'a> {
    /// To read from.
    Reading(&'a Terminal),
    /// For all three of its streams.
    Owning(&'a Terminal),
}

impl<'a> At<'a> {
    pub(crate) const fn terminal(self) -> &'a Terminal {
        match self {
            Self::Reading(terminal) | Self::Owning(terminal) => terminal,
        }
    }
}

/// The foreground, lent to a program's group.
#[derive(Debug)]
pub(crate) struct ForegroundGuard<'a> {
    terminal: &'a Terminal,
    own: Pid,
    group: Pid,
    /// How the terminal was before.
    modes: Option<Termios>,
}

impl ForegroundGuard<'_> {
    fn give(&self) {
        self.set(self.group);
        // It may have asked for the terminal before it had it.
        let _ = kill_process_group(self.group, Signal::CONT);
    }

    /// Passes on that the program was stopped at the terminal, and goes on with it later.
    pub(crate) fn stop_with_it(&self) {
        self.take();
        // Comes back when the shell continues this job; at once where there is no shell.
        let _ = kill_process_group(self.own, Signal::TSTP);
        if group::is_alive(self.group) {
            self.give();
        }
    }

    fn take(&self) {
        self.set(self.own);
        if let Some(modes) = &self.modes {
            let _held = hold_ttou();
            // A program that died in its own mode would leave the shell unreadable.
            let _ = tcsetattr(&self.terminal.device, OptionalActions::Drain, modes);
        }
    }

    fn set(&self, group: Pid) {
        // From the background the system would stop this process for asking.
        let _held = hold_ttou();
        let _ = tcsetpgrp(&self.terminal.device, group);
    }
}

impl Drop for ForegroundGuard<'_> {
    fn drop(&mut self) {
        self.take();
    }
}

/// Holds `SIGTTOU` back from this thread until dropped.
struct BlockedSignal(Option<SigSet>);

fn hold_ttou() -> BlockedSignal {
    let mut set = SigSet::empty();
    set.add(Blocked::SIGTTOU);
    BlockedSignal(set.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok())
}

impl Drop for BlockedSignal {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = before.thread_set_mask();
        }
    }
}
