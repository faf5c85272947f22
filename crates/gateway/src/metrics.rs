//! Metrics of the gateway, in the format of Prometheus.
//!
//! Labels are fixed words or names from the configuration: nothing that an agent, a client or a server wrote creates a new
//! series.

mod rulings;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

pub(crate) use self::rulings::Counting;

/// Maximum number of verdict codes that are counted separately; there are fewer.
const CODES_MAX: usize = 100;
/// Upper bounds of the histogram of durations, in microseconds.
const BOUNDS_US: [u64; 13] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    5_000_000, 30_000_000,
];

/// A method that is counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Method(&'static str);

impl Method {
    const KNOWN: [&'static str; 14] = [
        "initialize",
        "server/discover",
        "subscriptions/listen",
        "ping",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
    ];

    /// Returns the method of that name; unknown methods are counted together.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let known = Self::KNOWN.into_iter().find(|known| *known == name);
        Self(known.unwrap_or("other"))
    }
}

/// Counters of a gateway; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    counted: Mutex<Counted>,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Counted {
    responses: BTreeMap<u16, u64>,
    requests: BTreeMap<(Method, bool), u64>,
    times: BTreeMap<Method, Times>,
    verdicts: BTreeMap<String, u64>,
    servers: BTreeMap<String, Server>,
}

#[derive(Debug, Default)]
struct Times {
    buckets: [u64; BOUNDS_US.len()],
    count: u64,
    sum_us: u64,
}

#[derive(Debug, Default)]
struct Server {
    up: u64,
    restarts: u64,
}

impl Metrics {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0
            .counted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a verdict by its code.
    pub(crate) fn verdict(&self, code: &str) {
        let mut counted = self.counted();
        let is_new = !counted.verdicts.contains_key(code);
        let code = if is_new && counted.verdicts.len() >= CODES_MAX {
            "other"
        } else {
            code
        };
        *counted.verdicts.entry(code.to_owned()).or_default() += 1;
    }

    /// Counts a connection to a server as long as the result is held; `again`: the server was connected before.
    pub(crate) fn up(&self, server: &str, again: bool) -> Up {
        let mut counted = self.counted();
        let numbers = counted.servers.entry(server.to_owned()).or_default();
        numbers.up += 1;
        numbers.restarts += u64::from(again);
        drop(counted);
        Up {
            metrics: self.clone(),
            server: server.to_owned(),
        }
    }

    /// Counts an HTTP response.
    pub(crate) fn responded(&self, status: u16) {
        *self.counted().responses.entry(status).or_default() += 1;
    }

    /// Counts the answer to a request of a client.
    pub(crate) fn answered(&self, method: Method, failed: bool, took: Duration) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut counted = self.counted();
        *counted.requests.entry((method, failed)).or_default() += 1;
        let times = counted.times.entry(method).or_default();
        times.count += 1;
        times.sum_us = times.sum_us.saturating_add(took_us);
        let within = BOUNDS_US.iter().position(|bound| took_us <= *bound);
        if let Some(bucket) = within.and_then(|at| times.buckets.get_mut(at)) {
            *bucket += 1;
        }
    }

    /// Counts a notification that was dropped because its client was too slow.
    pub(crate) fn dropped(&self) {
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes all metrics, with the given momentary values.
    pub(crate) fn write(&self, now: &[(&str, &str, u64)]) -> String {
        let mut text = Text(String::new());
        let counted = self.counted();
        text.family(
            "interlock_http_responses_total",
            "counter",
            "Answers by status.",
        );
        for (status, count) in &counted.responses {
            text.line(
                &format!("interlock_http_responses_total{{status=\"{status}\"}}"),
                *count,
            );
        }
        text.family(
            "interlock_requests_total",
            "counter",
            "Answered requests by method.",
        );
        for ((method, failed), count) in &counted.requests {
            let outcome = if *failed { "error" } else { "result" };
            let name = method.0;
            text.line(
                &format!("interlock_requests_total{{method=\"{name}\",outcome=\"{outcome}\"}}"),
                *count,
            );
        }
        text.family(
            "interlock_verdicts_total",
            "counter",
            "Judged calls by code.",
        );
        for (code, count) in &counted.verdicts {
            text.line(
                &format!("interlock_verdicts_total{{code=\"{code}\"}}"),
                *count,
            );
        }
        text.servers(&counted.servers);
        text.times(&counted.times);
        drop(counted);
        text.family(
            "interlock_notifications_dropped_total",
            "counter",
            "Notifications that a slow client did not get.",
        );
        text.line(
            "interlock_notifications_dropped_total",
            self.0.dropped.load(Ordering::Relaxed),
        );
        for (name, help, value) in now {
            text.family(name, "gauge", help);
            text.line(name, *value);
        }
        text.0
    }
}

/// A connection to a server that is up.
#[derive(Debug)]
pub(crate) struct Up {
    metrics: Metrics,
    server: String,
}

impl Drop for Up {
    fn drop(&mut self) {
        let mut counted = self.metrics.counted();
        if let Some(server) = counted.servers.get_mut(&self.server) {
            server.up = server.up.saturating_sub(1);
        }
    }
}

/// Text in the format of Prometheus.
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, value: u64) {
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn servers(&mut self, servers: &BTreeMap<String, Server>) {
        self.family(
            "interlock_server_connections",
            "gauge",
            "Connections to servers that are up.",
        );
        for (name, server) in servers {
            let name = escaped(name);
            self.line(
                &format!("interlock_server_connections{{server=\"{name}\"}}"),
                server.up,
            );
        }
        self.family(
            "interlock_server_restarts_total",
            "counter",
            "Servers started again.",
        );
        for (name, server) in servers {
            let name = escaped(name);
            self.line(
                &format!("interlock_server_restarts_total{{server=\"{name}\"}}"),
                server.restarts,
            );
        }
    }

    fn times(&mut self, times: &BTreeMap<Method, Times>) {
        let family = "interlock_request_seconds";
        self.family(family, "histogram", "Time until the answer of a request.");
        for (Method(method), times) in times {
            let mut below = 0;
            for (bound, count) in BOUNDS_US.iter().zip(times.buckets) {
                below += count;
                let bound = seconds(*bound);
                self.line(
                    &format!("{family}_bucket{{method=\"{method}\",le=\"{bound}\"}}"),
                    below,
                );
            }
            self.line(
                &format!("{family}_bucket{{method=\"{method}\",le=\"+Inf\"}}"),
                times.count,
            );
            let sum = seconds(times.sum_us);
            let _ = writeln!(self.0, "{family}_sum{{method=\"{method}\"}} {sum}");
            self.line(
                &format!("{family}_count{{method=\"{method}\"}}"),
                times.count,
            );
        }
    }
}

fn seconds(us: u64) -> String {
    let text = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    let text = text.trim_end_matches('0');
    text.trim_end_matches('.').to_owned()
}

/// Escapes a name as a label's value; a wrapped server has none.
fn escaped(name: &str) -> String {
    if name.is_empty() {
        return "wrapped".to_owned();
    }
    name.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_prometheus_reads() {
        let metrics = Metrics::default();
        metrics.responded(200);
        metrics.answered(Method::of("tools/call"), false, Duration::from_micros(700));
        metrics.answered(Method::of("my/own\"}"), true, Duration::from_secs(60));
        metrics.verdict("tool_not_allowed");
        drop(metrics.up("files", false));
        let _up = metrics.up("files", true);
        let text = metrics.write(&[("interlock_sessions", "Open sessions.", 3)]);
        for line in [
            "interlock_http_responses_total{status=\"200\"} 1",
            "interlock_requests_total{method=\"other\",outcome=\"error\"} 1",
            "interlock_verdicts_total{code=\"tool_not_allowed\"} 1",
            "interlock_server_connections{server=\"files\"} 1",
            "interlock_server_restarts_total{server=\"files\"} 1",
            "interlock_request_seconds_bucket{method=\"tools/call\",le=\"0.0005\"} 0",
            "interlock_request_seconds_bucket{method=\"tools/call\",le=\"0.001\"} 1",
            "interlock_request_seconds_bucket{method=\"tools/call\",le=\"30\"} 1",
            "interlock_request_seconds_sum{method=\"tools/call\"} 0.0007",
            "interlock_request_seconds_bucket{method=\"other\",le=\"30\"} 0",
            "interlock_request_seconds_bucket{method=\"other\",le=\"+Inf\"} 1",
            "interlock_sessions 3",
        ] {
            assert!(text.lines().any(|seen| seen == line), "{line} in\n{text}");
        }
    }
}
