//! What 10,000 runs cost that wait.

use std::{thread, time::Duration};

use crate::{
    cluster::until,
    figures::Figures,
    processes::{children, used},
    proxy::Proxy,
    restate::Restate,
    site::Site,
    worker::Crew,
};

const RUNS: u64 = 10_000;
const WINDOW: Duration = Duration::from_secs(30);
const BAR_PERCENT: f64 = 1.0;

/// A run that waits for a time.
const WAITING: &str = r#"start-at: try
states:
  try:
    tool: bash
    arguments: {command: "false", cwd: "@/", retry: {attempts: 2, wait: 3600s}}
"#;

/// Copies a run that waits, with its events.
const COPIED: &str = "INSERT INTO interlock.runs \
     SELECT (jsonb_populate_record(NULL::interlock.runs, \
     to_jsonb(one) || jsonb_build_object('run', 'copy' || lpad(n::text, 22, '0')))).* \
     FROM interlock.runs AS one, generate_series(1, 10000) AS n; \
     INSERT INTO interlock.events (tenant, run, seq, at_ms, prev, hash, body) \
     SELECT tenant, 'copy' || lpad(n::text, 22, '0'), seq, at_ms, prev, hash, body \
     FROM interlock.events, generate_series(1, 10000) AS n";

/// Measures what a server, a worker and PostgreSQL use of a processor while nothing happens.
pub(super) fn at_rest(site: &Site, figures: &mut Figures) {
    let Some(restate) = Restate::start() else {
        return;
    };
    let project = site.folder("project");
    let proxy = Proxy::start();
    let server = site.server(&site.words());
    let worker = Crew::new(site, &restate, &proxy, &project).worker(&site.words());
    let ana = site.token("person", "ana");
    server.start_run(&ana, ("wait.yaml", WAITING));
    until("the run waits", || {
        worker.has_said("ended", |note| note["next"] == "time")
    });
    site.sql(COPIED);
    site.sql("VACUUM ANALYZE");
    site.sql("CHECKPOINT");
    let copied = site.sql("SELECT count(*) FROM interlock.runs WHERE due IS NOT NULL");
    assert_eq!(copied, (RUNS + 1).to_string());
    // What the statements above have begun ends first.
    thread::sleep(Duration::from_secs(3));
    let ids = || {
        let mut ids = site.postgres();
        ids.extend([server.process.id(), worker.process.id()]);
        ids.extend(children(worker.process.id()));
        ids
    };
    let before = used(&ids());
    thread::sleep(WINDOW);
    let spent = used(&ids()).saturating_sub(before);
    let percent = spent.as_secs_f64() / WINDOW.as_secs_f64() * 100.0;
    figures.percent(
        "10,000 runs that wait: server, worker and PostgreSQL, of one core",
        percent,
        BAR_PERCENT,
    );
}
