//! Carries out a plan in a separate process, while the caller continues.
//!
//! The caller passes one end of a socket pair as that process's standard input. It writes its [`Order`] in one line, and receives
//! a line per [`CarrierMessage`]. The command itself has no access to it: its input is empty, and the socket is closed before it
//! starts.

use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use serde::{Deserialize, Serialize};

use crate::level::{Level, Reach, Unconfined};
use crate::outcome::Ended;
use crate::plan::Plan;
use crate::run::run_telling;

/// Maximum size of an order, in bytes.
const ORDER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// An order of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The plan.
    pub plan: Plan,
    /// Highest level to use: [`Level::Full`] except in tests.
    pub level_max: Level,
}

/// Messages to the caller, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarrierMessage {
    /// The command runs.
    Started {
        /// The level.
        level: Level,
        /// What is not confined.
        unconfined: Vec<Unconfined>,
    },
    /// The command has ended, and the subsequent checks are done.
    Ended(Ended),
    /// Nothing was started, for this reason.
    Refused(String),
}

/// Carries out the order from standard input, as the leader of a session without a terminal.
///
/// # Errors
/// There is no such caller, or it could not be told.
pub fn carry_out() -> io::Result<()> {
    let caller = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Anything other than a socket has no other end.
    caller.peer_addr()?;
    detach()?;
    let mut order = String::new();
    BufReader::new(&caller)
        .take(ORDER_BYTES_MAX)
        .read_line(&mut order)?;
    let told = match serde_json::from_str::<Order>(&order) {
        Ok(order) => carried(&order, &caller),
        Err(error) => CarrierMessage::Refused(format!("the order cannot be read: {error}")),
    };
    tell(&caller, &told)
}

fn carried(order: &Order, caller: &UnixStream) -> CarrierMessage {
    let mut started = |level: Level, unconfined: &[Unconfined]| {
        let told = CarrierMessage::Started {
            level,
            unconfined: unconfined.to_vec(),
        };
        // If the caller is gone, nobody needs this; the end is still reported.
        let _ = tell(caller, &told);
    };
    match run_telling(
        &order.plan,
        Reach::limited_to(order.level_max),
        &mut started,
    ) {
        Ok(ended) => CarrierMessage::Ended(ended),
        Err(error) => CarrierMessage::Refused(error.to_string()),
    }
}

fn tell(mut caller: &UnixStream, told: &CarrierMessage) -> io::Result<()> {
    let mut line = serde_json::to_string(told)?;
    line.push('\n');
    caller.write_all(line.as_bytes())
}

/// Detaches from the terminal and the input, and ends with the caller.
fn detach() -> io::Result<()> {
    // This fails for a group leader, which already has its own group.
    let _ = nix::unistd::setsid();
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGTERM)?;
    let nothing = std::fs::File::open("/dev/null")?;
    nix::unistd::dup2_stdin(nothing)?;
    Ok(())
}
