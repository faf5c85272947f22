//! Signals as a terminal would leave them, whatever this process was started with.

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

/// Gives the programs that are started from here signals that neither are ignored nor blocked.
///
/// After `nohup`, or in the background of a script, a shell has them ignored, and what ignores a signal
/// hands that down: a test that interrupts a program would wait for ever. A signal that is handled here
/// has its default in a program that is started; here it stays without effect, as it was.
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

/// Returns the set of ignored signals, a bit each; empty where the system does not tell.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or_default()
}
