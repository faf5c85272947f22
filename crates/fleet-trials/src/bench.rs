//! The figures of the fleet, each beside its bar, and beside a bare append of the same run.

mod appends;
mod bare;
mod hook;
mod lost;
mod standing;
mod tls;
mod verdict;

use crate::{figures::Figures, programs::Programs, site::Site};

/// A measurement: its name and its function.
type Measurement = (&'static str, fn(&Site, &mut Figures));

const MEASUREMENTS: &[Measurement] = &[
    ("verdict", verdict::inside),
    ("hook", hook::cold),
    ("tls", hook::cold_tls),
    ("appends", appends::over_runs),
    ("one-run", appends::on_one_run),
    ("standing", standing::at_rest),
    ("killed-worker", lost::worker),
    ("killed-server", lost::server),
    ("killed-database", lost::database),
];

/// Returns the names of the measurements.
#[must_use]
pub fn names() -> Vec<&'static str> {
    MEASUREMENTS.iter().map(|(name, _)| *name).collect()
}

/// Measures what is named, or everything, and prints a table; returns whether every bar was met.
///
/// # Errors
/// There is no measurement of a name.
pub fn run(programs: &Programs, chosen: &[&str], json: bool) -> Result<bool, String> {
    let known = names();
    if let Some(wrong) = chosen.iter().find(|name| !known.contains(name)) {
        return Err(format!(
            "there is no figure `{wrong}`: there is {}",
            known.join(", ")
        ));
    }
    let mut figures = Figures::default();
    for (name, measure) in MEASUREMENTS {
        if chosen.is_empty() || chosen.contains(name) {
            // Each with a database of its own.
            measure(&Site::start(programs, &[]), &mut figures);
        }
    }
    if json {
        println!("{}", figures.json());
    } else {
        println!("{figures}");
    }
    Ok(figures.are_met())
}
