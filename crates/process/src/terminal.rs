//! The terminal: lent to one program at a time, and restored afterwards.

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

/// The terminal at which a person sits.
#[derive(Debug)]
pub struct Terminal {
    device: OwnedFd,
}

impl Terminal {
    /// Takes `device` as the terminal; `None` if it is not a terminal.
    #[must_use]
    pub fn of(device: OwnedFd) -> Option<Self> {
        device.is_terminal().then_some(Self { device })
    }

    /// Takes standard input as the terminal; `None` if it is not a terminal.
    #[must_use]
    pub fn of_stdin() -> Option<Self> {
        let device = io::stdin().as_fd().try_clone_to_owned().ok()?;
        Self::of(device)
    }

    /// Returns whether a read from the terminal would succeed now.
    ///
    /// A shell's background job would be stopped instead.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        match tcgetpgrp(&self.device) {
            Ok(group) => group == getpgrp(),
            // It is not the terminal of this session: reading from it stops nobody.
            Err(_) => true,
        }
    }

    /// Returns its rows and columns; `None` if it has no size.
    #[must_use]
    pub fn size(&self) -> Option<(u16, u16)> {
        let size = tcgetwinsize(&self.device).ok()?;
        (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
    }

    /// Returns whether input is echoed and comes line by line.
    ///
    /// A program that asks for a password, or uses the whole screen, changes that.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let plain = LocalModes::ECHO | LocalModes::ICANON;
        tcgetattr(&self.device).is_ok_and(|modes| modes.local_modes.contains(plain))
    }

    /// Returns a stream of the terminal for a program.
    pub(crate) fn stream(&self) -> io::Result<Stdio> {
        Ok(Stdio::from(self.device.try_clone()?))
    }

    /// Returns the device through which it is read here.
    #[must_use]
    pub fn device(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    /// Gives the foreground to `group` until the returned value is dropped.
    ///
    /// Returns `None` if the terminal is not that of this session: there is no foreground to give.
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

/// How a program uses the terminal.
#[derive(Debug, Clone, Copy)]
pub enum At<'a> {
    /// It reads from it.
    Reading(&'a Terminal),
    /// It has it for all three of its streams.
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
    /// The modes of the terminal before it was lent.
    modes: Option<Termios>,
}

impl ForegroundGuard<'_> {
    fn give(&self) {
        self.set(self.group);
        // It may have asked for the terminal before it was given it.
        let _ = kill_process_group(self.group, Signal::CONT);
    }

    /// Stops this process too when the program was stopped at the terminal, and continues with it later.
    pub(crate) fn stop_with_it(&self) {
        self.take();
        // Returns when the shell continues this job; at once where there is no shell.
        let _ = kill_process_group(self.own, Signal::TSTP);
        if group::is_alive(self.group) {
            self.give();
        }
    }

    fn take(&self) {
        self.set(self.own);
        if let Some(modes) = &self.modes {
            let _held = hold_ttou();
            // A program that died in a mode of its own would leave the shell unreadable.
            let _ = tcsetattr(&self.terminal.device, OptionalActions::Drain, modes);
        }
    }

    fn set(&self, group: Pid) {
        // In the background, the system would stop this process for asking.
        let _held = hold_ttou();
        let _ = tcsetpgrp(&self.terminal.device, group);
    }
}

impl Drop for ForegroundGuard<'_> {
    fn drop(&mut self) {
        self.take();
    }
}

/// Blocks `SIGTTOU` for this thread until dropped.
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
