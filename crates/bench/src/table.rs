//! The table of results.

use std::{fmt, time::Duration};

/// Results, one per row.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    what: String,
    measured: String,
    target: String,
    ratio: f64,
    verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    Over,
    /// No target; the value is informative.
    Seen,
}

impl Table {
    /// Adds a time that may be at most `target`; the ratio is relative to the target.
    pub(crate) fn time(&mut self, what: impl Into<String>, measured: Duration, target: Duration) {
        let ratio = ratio(measured, target);
        self.rows.push(Row {
            what: what.into(),
            measured: shown(measured),
            target: shown(target),
            ratio,
            verdict: judged(ratio, 1.0),
        });
    }

    /// Adds a time that may be at most `most` times another time.
    pub(crate) fn times(
        &mut self,
        what: impl Into<String>,
        measured: Duration,
        (other, beside): (&str, Duration),
        most: f64,
    ) {
        let ratio = ratio(measured, beside);
        self.rows.push(Row {
            what: what.into(),
            measured: shown(measured),
            target: format!("{most} x {} of {other}", shown(beside)),
            ratio,
            verdict: judged(ratio, most),
        });
    }

    /// Adds an amount of memory that may be at most `target`; the ratio is relative to the target.
    pub(crate) fn kilobytes(&mut self, what: impl Into<String>, measured: u32, target: u32) {
        let ratio = f64::from(measured) / f64::from(target);
        self.rows.push(Row {
            what: what.into(),
            measured: megabytes(measured),
            target: megabytes(target),
            ratio,
            verdict: judged(ratio, 1.0),
        });
    }

    /// Adds an amount of memory, in KiB, that may be at most `most` times another.
    pub(crate) fn memory_beside(
        &mut self,
        what: impl Into<String>,
        measured: u32,
        (other, beside): (&str, u32),
        most: f64,
    ) {
        let ratio = f64::from(measured) / f64::from(beside.max(1));
        self.rows.push(Row {
            what: what.into(),
            measured: megabytes(measured),
            target: format!("{most} x {} of {other}", megabytes(beside)),
            ratio,
            verdict: judged(ratio, most),
        });
    }

    /// Adds an informative amount of memory, in KiB, compared with another.
    pub(crate) fn memory_seen(
        &mut self,
        what: impl Into<String>,
        measured: u32,
        (other, beside): (&str, u32),
    ) {
        let ratio = f64::from(beside) / f64::from(measured.max(1));
        let beside = format!("{other}: {}", megabytes(beside));
        self.seen(what, megabytes(measured), beside, ratio);
    }

    /// Adds an informative value, compared with another.
    pub(crate) fn seen(
        &mut self,
        what: impl Into<String>,
        measured: String,
        beside: String,
        ratio: f64,
    ) {
        self.rows.push(Row {
            what: what.into(),
            measured,
            target: beside,
            ratio,
            verdict: Verdict::Seen,
        });
    }

    /// Adds a value that is better the higher its ratio to another; without `least`, it has no target.
    pub(crate) fn ahead(
        &mut self,
        what: impl Into<String>,
        measured: String,
        beside: String,
        ratio: f64,
        least: Option<f64>,
    ) {
        let target = match least {
            Some(least) => format!("{least} x {beside}"),
            None => beside,
        };
        let verdict = match least {
            None => Verdict::Seen,
            Some(least) if ratio >= least => Verdict::Ok,
            Some(_) => Verdict::Over,
        };
        self.rows.push(Row {
            what: what.into(),
            measured,
            target,
            ratio,
            verdict,
        });
    }

    /// Returns the number of results over their target.
    pub(crate) fn over(&self) -> usize {
        self.count(Verdict::Over)
    }

    fn count(&self, verdict: Verdict) -> usize {
        let counted = self.rows.iter().filter(|row| row.verdict == verdict);
        counted.count()
    }
}

/// Returns the ratio of `measured` to `beside`.
pub(crate) fn ratio(measured: Duration, beside: Duration) -> f64 {
    measured.as_secs_f64() / beside.as_secs_f64().max(f64::MIN_POSITIVE)
}

fn judged(ratio: f64, most: f64) -> Verdict {
    if ratio <= most {
        Verdict::Ok
    } else {
        Verdict::Over
    }
}

/// Formats a time with about three significant digits.
pub(crate) fn shown(time: Duration) -> String {
    let nanos = time.as_secs_f64() * 1e9;
    match nanos {
        _ if nanos < 1e3 => format!("{nanos:.0} ns"),
        _ if nanos < 1e6 => format!("{:.2} µs", nanos / 1e3),
        _ if nanos < 1e9 => format!("{:.2} ms", nanos / 1e6),
        _ => format!("{:.2} s", nanos / 1e9),
    }
}

fn megabytes(kilobytes: u32) -> String {
    format!("{:.1} MB", f64::from(kilobytes) / 1024.0)
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = |text: fn(&Row) -> usize| self.rows.iter().map(text).max().unwrap_or(0).max(8);
        let what = widest(|row| row.what.chars().count());
        let target = widest(|row| row.target.chars().count());
        writeln!(
            f,
            "{:<what$}  {:>10}  {:<target$}  {:>7}",
            "what", "measured", "target", "ratio"
        )?;
        for row in &self.rows {
            let verdict = match row.verdict {
                Verdict::Ok => "ok",
                Verdict::Over => "over",
                Verdict::Seen => "",
            };
            let line = format!(
                "{:<what$}  {:>10}  {:<target$}  {:>7.2}  {verdict}",
                row.what, row.measured, row.target, row.ratio
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        write!(f, "{} ok, {} over", self.count(Verdict::Ok), self.over())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Table;

    #[test]
    fn what_is_over_its_target_is_counted() {
        let mut table = Table::default();
        let ms = Duration::from_millis;
        table.time("as fast as it may be", ms(5), ms(5));
        table.times("five times as slow", ms(5), ("one", ms(1)), 4.0);
        table.kilobytes("too large", 2049, 2048);
        table.memory_beside("flat", 1500, ("half of it", 1000), 1.5);
        table.seen("known", String::new(), String::new(), 9.0);
        table.ahead("ahead", String::new(), String::new(), 3.0, Some(3.0));
        table.ahead("behind", String::new(), String::new(), 2.9, Some(3.0));
        assert_eq!(table.over(), 3, "{table}");
        assert!(table.to_string().ends_with("3 ok, 3 over"), "{table}");
    }
}
