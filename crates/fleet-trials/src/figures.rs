//! The table of figures.

use std::{fmt, time::Duration};

use serde_json::{Value, json};

/// How a figure compares with its bar.
#[derive(Debug, Clone, Copy)]
enum Bar {
    Below(f64),
    AtLeast(f64),
    None,
}

/// A figure.
#[derive(Debug)]
struct Figure {
    what: String,
    measured: f64,
    unit: &'static str,
    bar: Bar,
    /// The same of a bare append of this run, and what it is.
    bare: Option<f64>,
}

/// The figures of one run.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    rows: Vec<Figure>,
}

impl Figures {
    /// Adds a time that has to be below `bar`.
    pub(crate) fn time(&mut self, what: &str, measured: Duration, bar: Option<Duration>) {
        let bar = bar.map_or(Bar::None, |bar| Bar::Below(millis(bar)));
        self.add(what, (millis(measured), "ms"), bar, None);
    }

    /// Adds a time beside that of a bare append.
    pub(crate) fn time_beside(
        &mut self,
        what: &str,
        measured: Duration,
        bar: Option<Duration>,
        bare: Duration,
    ) {
        let bar = bar.map_or(Bar::None, |bar| Bar::Below(millis(bar)));
        self.add(what, (millis(measured), "ms"), bar, Some(millis(bare)));
    }

    /// Adds a rate beside that of bare appends.
    pub(crate) fn rate(&mut self, what: &str, measured: f64, bar: Option<f64>, bare: Option<f64>) {
        let bar = bar.map_or(Bar::None, Bar::AtLeast);
        self.add(what, (measured, "/s"), bar, bare);
    }

    /// Adds a percentage that has to be below `bar`.
    pub(crate) fn percent(&mut self, what: &str, measured: f64, bar: f64) {
        self.add(what, (measured, "%"), Bar::Below(bar), None);
    }

    fn add(&mut self, what: &str, measured: (f64, &'static str), bar: Bar, bare: Option<f64>) {
        let figure = Figure {
            what: what.to_owned(),
            measured: measured.0,
            unit: measured.1,
            bar,
            bare,
        };
        eprint_row(&figure);
        self.rows.push(figure);
    }

    /// Returns whether every figure with a bar has met it.
    pub(crate) fn are_met(&self) -> bool {
        self.rows
            .iter()
            .all(|figure| figure.is_met() != Some(false))
    }

    /// Returns them as JSON.
    pub(crate) fn json(&self) -> Value {
        let row = |figure: &Figure| {
            let (below, at_least) = match figure.bar {
                Bar::Below(bar) => (Some(bar), None),
                Bar::AtLeast(bar) => (None, Some(bar)),
                Bar::None => (None, None),
            };
            json!({
                "what": figure.what, "measured": figure.measured, "unit": figure.unit, "below": below,
                "at_least": at_least, "met": figure.is_met(), "bare": figure.bare, "ratio": figure.ratio(),
            })
        };
        json!({ "figures": self.rows.iter().map(row).collect::<Vec<_>>() })
    }
}

/// Shows a figure as soon as it is measured, beside the result.
fn eprint_row(figure: &Figure) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{figure}");
}

impl Figure {
    fn is_met(&self) -> Option<bool> {
        match self.bar {
            Bar::Below(bar) => Some(self.measured < bar),
            Bar::AtLeast(bar) => Some(self.measured >= bar),
            Bar::None => None,
        }
    }

    fn ratio(&self) -> Option<f64> {
        self.bare.map(|bare| self.measured / bare)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bar = match self.bar {
            Bar::Below(bar) => format!("< {} {}", shown(bar), self.unit),
            Bar::AtLeast(bar) => format!(">= {} {}", shown(bar), self.unit),
            Bar::None => String::new(),
        };
        let verdict = match self.is_met() {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        };
        let measured = format!("{} {}", shown(self.measured), self.unit);
        let ratio = self
            .ratio()
            .map_or_else(String::new, |ratio| format!("{ratio:.2} x"));
        write!(
            f,
            "{:<72} {measured:>12} {bar:>12} {ratio:>8} {verdict}",
            self.what
        )
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<72} {:>12} {:>12} {:>8}",
            "", "measured", "bar", "of bare"
        )?;
        self.rows
            .iter()
            .try_for_each(|figure| writeln!(f, "{figure}"))
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn shown(number: f64) -> String {
    if number >= 100.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.2}")
    }
}

/// Returns a percentile of times, which are sorted for it.
pub(crate) fn percentile(times: &mut [Duration], of_hundred: usize) -> Duration {
    times.sort_unstable();
    let at = (times.len() * of_hundred / 100).min(times.len().saturating_sub(1));
    times.get(at).copied().unwrap_or_default()
}
