//! Whether what is typed at this terminal may come from an agent instead of a person.
//!
//! A multiplexer types into its panes for whoever reaches its server, and `TIOCSTI` for whoever has the
//! same terminal. Where neither is kept from a guarded agent, an answer typed here is worth nothing.

use std::{fs::File, io, os::fd::AsFd as _, os::unix::fs::MetadataExt as _};

use interlock_clients::process;
use interlock_core::{
    machine::{Activity, Machine},
    policy::Stance,
    run::Confined,
};
use interlock_sandbox::{Level, NotHeld};
use interlock_store::{EventLog as _, Home};

use super::{Guarded, ancestors_of};
use crate::failure::Failure;

/// Programs that type into their panes for others, by the names of their servers.
const MULTIPLEXERS: [(&str, &str); 4] = [
    ("tmux: server", "tmux"),
    ("tmux", "tmux"),
    ("screen", "screen"),
    ("zellij", "zellij"),
];

/// What splits a variable, and which part is the server's number.
type ServerNumber = Option<(char, usize)>;

/// Variables that a multiplexer sets in its panes, and where the server's number stands in them.
const VARIABLES: [(&str, &str, ServerNumber); 3] = [
    ("TMUX", "tmux", Some((',', 1))),
    ("STY", "screen", Some(('.', 0))),
    ("ZELLIJ", "zellij", None),
];

/// Switches off `TIOCSTI` where it holds 0; older systems have no such switch.
const LEGACY_TIOCSTI: &str = "/proc/sys/dev/tty/legacy_tiocsti";

/// The device `/dev/tty`: the terminal of whoever asks.
const OWN_TERMINAL: u64 = 5 << 8;

/// A multiplexer around this terminal.
struct Multiplexer {
    name: &'static str,
    server: Option<u32>,
}

/// Refuses where one of the `guarded` could have typed what is typed here.
pub(super) fn refuse_injected(home: &Home, guarded: &[Guarded]) -> Result<(), Failure> {
    let multiplexers = multiplexers()?;
    let terminal = terminal();
    for one in guarded.iter().filter(|one| is_alive(one)) {
        for multiplexer in &multiplexers {
            let below = match multiplexer.server {
                Some(server) => ancestors_of(one.process.pid)?
                    .iter()
                    .any(|above| above.client.pid == server),
                None => false,
            };
            if below || may(home, one, NotHeld::Sockets) {
                return Err(refused(one, &format!("`{}`", multiplexer.name)));
            }
        }
        let shares = terminal.is_some() && process::terminal(one.process.pid) == terminal;
        if shares && types_are_taken() && may(home, one, NotHeld::Terminal) {
            return Err(refused(one, "the terminal itself (`TIOCSTI`)"));
        }
    }
    Ok(())
}

fn refused(one: &Guarded, by: &str) -> Failure {
    anyhow::anyhow!(
        "the agent of run `{}` could type here by way of {by}: answer at a terminal outside of it, \
         or set `INTERLOCK_TOKEN` to what `interlock token` shows",
        one.run
    )
    .into()
}

/// Lists the multiplexers that this process runs in, also where its variables were taken away.
fn multiplexers() -> Result<Vec<Multiplexer>, Failure> {
    let mut found: Vec<Multiplexer> = Vec::new();
    for above in ancestors_of(std::process::id())? {
        if let Some((_, name)) = MULTIPLEXERS.iter().find(|(name, _)| *name == above.name) {
            found.push(Multiplexer {
                name,
                server: Some(above.client.pid),
            });
        }
    }
    for (variable, name, number) in VARIABLES {
        let Some(value) = crate::app::variable(variable) else {
            continue;
        };
        let value = value.to_string_lossy();
        let server = number.and_then(|(mark, place)| value.split(mark).nth(place)?.parse().ok());
        let is_known = found
            .iter()
            .any(|known| known.name == name && (server.is_none() || known.server == server));
        if !is_known && !value.is_empty() {
            found.push(Multiplexer { name, server });
        }
    }
    Ok(found)
}

fn is_alive(one: &Guarded) -> bool {
    process::look(one.process.pid).is_some_and(|found| found.client == one.process)
}

/// Tells whether lines of a run's agent may do what `what` names; what cannot be read may.
fn may(home: &Home, one: &Guarded, what: NotHeld) -> bool {
    let Ok(log) = home.open_run(&one.run) else {
        return true;
    };
    let (Ok(machine), Ok(run)) = (log.machine(), log.load()) else {
        return true;
    };
    kernel_lets(run.confined.as_ref(), what) || carries_not_all(&machine)
}

/// Tells whether the kernel lets a run's lines do `what`, as far as it held the last of them.
fn kernel_lets(confined: Option<&Confined>, what: NotHeld) -> bool {
    let Some(confined) = confined else {
        return interlock_sandbox::reading_level() < Level::Files;
    };
    let level = Level::named(&confined.level);
    level.is_none_or(|level| level < Level::Files)
        || confined.not_held.iter().any(|known| known == what.as_str())
}

/// Tells whether an agent works in a state of the machine whose lines nobody carries.
fn carries_not_all(machine: &Machine) -> bool {
    let of = |machine: &Machine| {
        machine.states.values().any(|state| {
            matches!(state.activity, Activity::Await) && state.policy.stance() == Stance::Free
        })
    };
    of(machine) || machine.machines.values().any(of)
}

/// Returns the terminal that is read from.
fn terminal() -> Option<u64> {
    let input = io::stdin().as_fd().try_clone_to_owned().ok()?;
    let device = File::from(input).metadata().ok()?.rdev();
    match device {
        OWN_TERMINAL => process::terminal(std::process::id()),
        device => Some(device),
    }
}

/// Tells whether the system lets a process type into its own terminal.
fn types_are_taken() -> bool {
    let switch = std::fs::read_to_string(LEGACY_TIOCSTI);
    let is_off = switch.is_ok_and(|text| text.trim() == "0");
    cfg!(target_os = "linux") && (!is_off || is_root())
}

/// Tells whether this is root's process, for whom the switch holds nothing.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_is_not_known_holds_nothing() {
        let confined = |level: &str, not_held: &[NotHeld]| Confined {
            level: level.to_owned(),
            not_held: not_held
                .iter()
                .map(|what| what.as_str().to_owned())
                .collect(),
        };
        let full = Level::Full.as_str();
        let lets = |confined| kernel_lets(Some(&confined), NotHeld::Terminal);
        assert!(!lets(confined(full, &[])));
        assert!(!lets(confined(full, &[NotHeld::Sockets])));
        assert!(lets(confined(full, &[NotHeld::Terminal])));
        assert!(lets(confined("none", &[])));
        assert!(lets(confined("a level of another version", &[])));
    }
}
