//! The trial of the log itself: it finds nothing wrong, and it finds what is broken on purpose.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test panics, and one that is left out says so"
)]

use std::{env, path::Path, time::Duration};

use interlock_fleet_trials::{
    Programs,
    nemesis::{self, Mutant, Report, Settings},
};

/// Returns the result of a trial; `None` if a program is not there, which is reported.
fn tried(seconds: u64, mutant: Option<Mutant>) -> Option<Report> {
    let own = Path::new(env!("CARGO_BIN_EXE_interlock-fleet-trials"));
    let folder = own.parent().map(Path::to_owned);
    let missing = match Programs::in_folder(folder) {
        Ok(programs) if nemesis::can_start() => {
            let settings = Settings {
                time: Duration::from_secs(seconds),
                seed: 1,
                mutant,
                workers: mutant.is_none(),
                small_disk: false,
            };
            return Some(nemesis::run(&programs, &settings));
        }
        Ok(_) => "PostgreSQL or Restate is not installed here".to_owned(),
        Err(missing) => missing,
    };
    assert!(env::var_os("CI").is_none(), "{missing}");
    println!("left out: {missing}");
    None
}

/// Tries a log that is broken on purpose until that is noticed.
fn is_noticed(name: &str) {
    let mutant = Mutant::named(name).unwrap_or_else(|wrong| panic!("{wrong}"));
    let Some(report) = tried(120, Some(mutant)) else {
        return;
    };
    assert!(
        report.unexplained() > 0,
        "{name} is not noticed: {report:?}"
    );
}

#[test]
fn the_log_of_a_fleet_is_linearizable_under_faults() {
    // `cargo xtask nemesis` goes on for as long as one likes.
    let Some(report) = tried(20, None) else {
        return;
    };
    report.print(false);
    assert!(report.is_good(), "{:#?}", report.failures());
    // Calls that were never answered multiply the possible orders.
    let [_, histories, ..] = report.counts();
    assert!(report.undecided() as u64 * 10 <= histories, "{report:?}");
    for count in report.counts() {
        assert!(count > 0, "{:?}", report.counts());
    }
}

#[test]
fn a_log_without_epochs_is_noticed() {
    is_noticed("no-epoch");
}

#[test]
fn a_log_that_forgets_commands_is_noticed() {
    is_noticed("no-command-id");
}

#[test]
fn a_log_that_acknowledges_before_it_writes_is_noticed() {
    is_noticed("late-commit");
}

#[test]
fn reads_from_a_standby_are_noticed() {
    is_noticed("stale-read");
}
