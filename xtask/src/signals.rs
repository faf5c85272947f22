//! Resets signals to their defaults, independently of how this process was started.

use std::{
    fs,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::Result;
use nix::sys::signal::SigSet;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM},
    flag,
};

/// Ensures that started programs neither ignore nor block signals.
///
/// After `nohup`, or in the background of a script, a shell ignores some signals, and child processes inherit that: a
/// test that interrupts a program would wait forever. A signal with a handler here has its default action in a started
/// program; the handler itself does nothing.
///
/// # Errors
/// A handler cannot be set.
pub(crate) fn restore() -> Result<()> {
    let ignored = ignored();
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        if ignored & (1 << (signal - 1)) != 0 {
            flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
    }
    SigSet::all().thread_unblock()?;
    Ok(())
}

/// Returns the set of ignored signals, one bit each; empty if the system does not report it.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or_default()
}
