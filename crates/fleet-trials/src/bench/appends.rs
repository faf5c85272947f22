//! How many commands a second are recorded.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{bare, verdict::judge};
use crate::{
    figures::Figures,
    site::{GUARDED, Served, Site},
};

const TIME: Duration = Duration::from_secs(10);
const RUNS: usize = 200;
/// Clients that have a request under way at the same time.
const CLIENTS: usize = 32;
const BARE_CLIENTS: usize = 16;
const WRITERS: usize = 8;
const OVER_RUNS_BAR: f64 = 3_000.0;
const ONE_RUN_BAR: f64 = 1_000.0;

/// Measures many clients that work in 200 runs.
pub(super) fn over_runs(site: &Site, figures: &mut Figures) {
    let server = site.server(&site.words());
    let ana = site.token("person", "ana");
    let runs: Vec<String> = (0..RUNS)
        .map(|_| server.start_run(&ana, ("trial.yaml", GUARDED)))
        .collect();
    let of_client = |at: usize| -> Vec<String> {
        let own = runs.iter().skip(at).step_by(CLIENTS);
        own.cloned().collect()
    };
    let measured = rate(site, &server, CLIENTS, of_client);
    let bare = bare::rate(
        site,
        bare::sizes(site),
        (BARE_CLIENTS, TIME),
        |at, number| (at as u64 + number * BARE_CLIENTS as u64) % RUNS as u64,
    );
    figures.rate(
        "appends over 200 runs by 32 clients",
        measured,
        Some(OVER_RUNS_BAR),
        Some(bare),
    );
    figures.rate("  of them bare, by 16 connections", bare, None, None);
}

/// Measures eight clients that work in one run.
pub(super) fn on_one_run(site: &Site, figures: &mut Figures) {
    let server = site.server(&site.words());
    let ana = site.token("person", "ana");
    let run = server.start_run(&ana, ("trial.yaml", GUARDED));
    let measured = rate(site, &server, WRITERS, |_| vec![run.clone()]);
    let bare = bare::rate(site, bare::sizes(site), (WRITERS, TIME), |_, _| 0);
    figures.rate(
        "appends to one run by 8 writers",
        measured,
        Some(ONE_RUN_BAR),
        Some(bare),
    );
    figures.rate("  of them bare, by 8 connections", bare, None, None);
}

fn rate(
    site: &Site,
    server: &Served,
    clients: usize,
    runs_of: impl Fn(usize) -> Vec<String> + Sync,
) -> f64 {
    let (done, ready) = (AtomicU64::new(0), Barrier::new(clients + 1));
    let begun = thread::scope(|scope| {
        for at in 0..clients {
            let agent = site.token("agent", &format!("agent{at}"));
            let (done, ready, runs_of) = (&done, &ready, &runs_of);
            scope.spawn(move || {
                let (runs, mut client) = (runs_of(at), server.client());
                for run in &runs {
                    judge(&mut client, (run, &agent), &format!("first{at}"));
                }
                ready.wait();
                let begun = Instant::now();
                let mut number = 0;
                for run in runs.iter().cycle() {
                    if begun.elapsed() >= TIME {
                        break;
                    }
                    judge(&mut client, (run, &agent), &format!("c{at}-{number}"));
                    number += 1;
                }
                done.fetch_add(number, Ordering::Relaxed);
            });
        }
        ready.wait();
        Instant::now()
    });
    let count = done.load(Ordering::Relaxed) as f64;
    count / begun.elapsed().as_secs_f64()
}
