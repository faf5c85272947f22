//! How many sessions a machine can serve.

use std::{fs, thread};

/// Maximum number of sessions if none starts a program.
const SESSIONS_MAX: usize = 10_000;
/// Number of sessions on the smallest machine.
const SESSIONS_MIN: usize = 8;
/// Number of programs per core, most of which are idle.
const PROGRAMS_A_CORE: usize = 256;
/// Memory that a server may need for itself, in KiB: Node takes 40 MiB before it does anything.
const PROGRAM_KIB: usize = 40 * 1024;

/// Returns how many sessions may be open at once if each starts `starts` programs.
pub(super) fn sessions(starts: usize) -> usize {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let memory = fs::read_to_string("/proc/meminfo").ok();
    of(starts, cores, memory.as_deref().and_then(available))
}

fn of(starts: usize, cores: usize, memory_kib: Option<usize>) -> usize {
    let by_cores = cores.saturating_mul(PROGRAMS_A_CORE);
    let by_memory = memory_kib.map_or(usize::MAX, |kib| kib / PROGRAM_KIB);
    match by_cores.min(by_memory).checked_div(starts) {
        Some(sessions) => sessions.clamp(SESSIONS_MIN, SESSIONS_MAX),
        None => SESSIONS_MAX,
    }
}

/// Parses the memory that programs may still take, in KiB, from the system's memory statistics.
fn available(told: &str) -> Option<usize> {
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{available, of};

    #[test]
    fn each_session_counts_the_programs_it_starts() {
        let gib = 1024 * 1024;
        assert_eq!(of(0, 1, Some(0)), 10_000);
        assert_eq!(of(1, 2, Some(8 * gib)), 204);
        assert_eq!(of(1, 2, None), 512);
        assert_eq!(of(4, 2, Some(64 * gib)), 128);
        assert_eq!(of(40, 2, Some(gib)), 8);
        assert_eq!(
            available("MemTotal: 9 kB\nMemAvailable:   4711 kB\n"),
            Some(4711)
        );
        assert_eq!(available("MemTotal: 9 kB\n"), None);
    }
}
