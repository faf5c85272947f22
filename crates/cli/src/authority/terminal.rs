//! Whether input at this terminal may come from an agent instead of a person.
//!
//! A multiplexer types into its panes for everybody who reaches its server, and `TIOCSTI` does for every process with the same
//! terminal. If a guarded agent has access to either, an answer typed here proves nothing.

use std::{fs::File, io, os::fd::AsFd as _, os::unix::fs::MetadataExt as _};

use interlock_clients::process;
use interlock_core::{
    machine::{Activity, Machine},
    policy::Stance,
    run::Confined,
};
use interlock_sandbox::{Level, Unconfined};
use interlock_store::{EventLog as _, Home};

use super::{Guarded, ancestors_of};
use crate::failure::Failure;

/// Multiplexers that type into their panes for others, with the names of their servers.
const MULTIPLEXERS: [(&str, &str); 4] = [
    ("tmux: server", "tmux"),
    ("tmux", "tmux"),
    ("screen", "screen"),
    ("zellij", "zellij"),
];

/// Separator of a variable's parts, and the index of the part with the server's number.
type ServerNumber = Option<(char, usize)>;

/// Variables that a multiplexer sets in its panes, and where they contain the server's number.
const VARIABLES: [(&str, &str, ServerNumber); 3] = [
    ("TMUX", "tmux", Some((',', 1))),
    ("STY", "screen", Some(('.', 0))),
    ("ZELLIJ", "zellij", None),
];

/// Disables `TIOCSTI` if it contains 0; older systems have no such switch.
const LEGACY_TIOCSTI: &str = "/proc/sys/dev/tty/legacy_tiocsti";

/// Device number of `/dev/tty`, the terminal of the calling process.
const OWN_TERMINAL: u64 = 5 << 8;

/// A multiplexer around this terminal.
struct Multiplexer {
    name: &'static str,
    server: Option<u32>,
}

/// Refuses if one of the `guarded` clients could have typed the input here.
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
            if below || may(home, one, Unconfined::Sockets) {
                return Err(refused(one, &format!("`{}`", multiplexer.name)));
            }
        }
        let shares = terminal.is_some() && process::terminal(one.process.pid) == terminal;
        if shares && types_are_taken() && may(home, one, Unconfined::Terminal) {
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

/// Lists the multiplexers that this process runs in, even if their variables were removed.
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

/// Returns whether lines of a run's agent may do what `what` names; true if unknown.
fn may(home: &Home, one: &Guarded, what: Unconfined) -> bool {
    let Ok(log) = home.open_run(&one.run) else {
        return true;
    };
    let (Ok(machine), Ok(run)) = (log.machine(), log.load()) else {
        return true;
    };
    kernel_lets(run.confined.as_ref(), what) || carries_not_all(&machine)
}

/// Returns whether the kernel lets a run's lines do `what`, according to how it confined the last of them.
fn kernel_lets(confined: Option<&Confined>, what: Unconfined) -> bool {
    let Some(confined) = confined else {
        return interlock_sandbox::reading_level() < Level::Files;
    };
    let level = Level::named(&confined.level);
    level.is_none_or(|level| level < Level::Files)
        || confined
            .unconfined
            .iter()
            .any(|known| known == what.as_str())
}

/// Returns whether an agent works in a state of the machine whose lines are not rewritten.
fn carries_not_all(machine: &Machine) -> bool {
    let of = |machine: &Machine| {
        machine.states.values().any(|state| {
            matches!(state.activity, Activity::Await) && state.policy.stance() == Stance::Free
        })
    };
    of(machine) || machine.machines.values().any(of)
}

/// Returns the terminal that input is read from.
fn terminal() -> Option<u64> {
    let input = io::stdin().as_fd().try_clone_to_owned().ok()?;
    let device = File::from(input).metadata().ok()?.rdev();
    match device {
        OWN_TERMINAL => process::terminal(std::process::id()),
        device => Some(device),
    }
}

/// Returns whether the system lets a process type into its own terminal.
fn types_are_taken() -> bool {
    let switch = std::fs::read_to_string(LEGACY_TIOCSTI);
    let is_off = switch.is_ok_and(|text| text.trim() == "0");
    cfg!(target_os = "linux") && (!is_off || is_root())
}

/// Returns whether this process belongs to root, for whom the switch has no effect.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_with_the_number_of_a_client_is_not_the_client() {
        let own = process::look(std::process::id()).map(|found| found.client);
        let own = own.into_iter().map(|process| Guarded {
            process,
            run: "r".into(),
        });
        let own: Vec<Guarded> = own.collect();
        assert!(!own.is_empty() && own.iter().all(is_alive));
        for mut earlier in own {
            earlier.process.started.push('1');
            assert!(!is_alive(&earlier));
        }
    }

    #[test]
    fn a_level_that_is_not_known_holds_nothing() {
        let confined = |level: &str, unconfined: &[Unconfined]| Confined {
            level: level.to_owned(),
            unconfined: unconfined
                .iter()
                .map(|what| what.as_str().to_owned())
                .collect(),
        };
        let full = Level::Full.as_str();
        let lets = |confined| kernel_lets(Some(&confined), Unconfined::Terminal);
        assert!(!lets(confined(full, &[])));
        assert!(!lets(confined(full, &[Unconfined::Sockets])));
        assert!(lets(confined(full, &[Unconfined::Terminal])));
        assert!(lets(confined("none", &[])));
        assert!(lets(confined("a level of another version", &[])));
    }
}
