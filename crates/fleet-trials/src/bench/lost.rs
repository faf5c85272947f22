//! What is lost with a part that is killed.

use std::{
    io,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    cluster::until,
    figures::Figures,
    http::{Answer, Client},
    proxy::Proxy,
    restate::Restate,
    site::{GUARDED, Site, proposal},
    worker::Crew,
};

const WORKER_BAR: Duration = Duration::from_secs(35);
const SERVER_BAR: Duration = Duration::from_secs(1);
const DATABASE_BAR: Duration = Duration::from_secs(2);
/// How often a server or the database is killed.
const KILLS: usize = 5;

/// A run with a step that waits for a file, and may be run again if it is interrupted.
const HELD: &str = r#"start-at: hold
states:
  hold:
    tool: bash
    on-crash: retry
    arguments: {command: "echo $$ >> pids; while ! test -e go; do sleep 0.1; done", cwd: "@/"}
"#;

/// Measures until a killed worker's run goes on elsewhere, with the default lease.
pub(super) fn worker(site: &Site, figures: &mut Figures) {
    let Some(restate) = Restate::start() else {
        return;
    };
    let project = site.folder("project");
    let proxy = Proxy::start();
    let server = site.server(&site.words());
    let crew = Crew::new(site, &restate, &proxy, &project);
    let mut first = crew.worker(&site.words());
    let ana = site.token("person", "ana");
    let run = server.start_run(&ana, ("held.yaml", HELD));
    let pids = || {
        let text = std::fs::read_to_string(project.join("pids"));
        text.unwrap_or_default().lines().count()
    };
    until("the step runs", || pids() == 1);
    let second = crew.worker(&site.words());
    let killed = Instant::now();
    first.process.kill();
    until("the step runs again", || pids() == 2);
    let took = killed.elapsed();
    assert!(second.has_said("taken", |note| note["epoch"] == 2));
    std::fs::write(project.join("go"), "").unwrap();
    until("the run ends", || server.status(&ana, &run) == "completed");
    site.verified(&run).unwrap();
    figures.time(
        "a killed worker's run goes on elsewhere, lease of 30 s",
        took,
        Some(WORKER_BAR),
    );
}

/// Measures the longest time without an answer if one of two servers is killed.
pub(super) fn server(site: &Site, figures: &mut Figures) {
    let mut servers = [site.server(&site.words()), site.server(&site.words())];
    let (agent, run) = agent_and_run(site, &servers[0]);
    let mut slowest = Duration::ZERO;
    for kill in 0..KILLS {
        let [first, second] = [kill % 2, (kill + 1) % 2];
        let mut clients = [servers[first].client(), servers[second].client()];
        let (sent, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let longest = thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let mut longest = Duration::ZERO;
                while !is_over.load(Ordering::SeqCst) {
                    let id = format!("k{kill}-{}", sent.load(Ordering::SeqCst));
                    let begun = Instant::now();
                    // To the next server, with the same key, if there is no answer.
                    let mut at = 0;
                    while !asked(&mut clients[at % 2], (&run, &agent), &id)
                        .is_ok_and(|a| a.status == 200)
                    {
                        at += 1;
                    }
                    longest = longest.max(begun.elapsed());
                    sent.fetch_add(1, Ordering::SeqCst);
                }
                longest
            });
            until("commands are answered", || {
                sent.load(Ordering::SeqCst) >= 50
            });
            servers[first].process.kill();
            let after = sent.load(Ordering::SeqCst) + 50;
            until("commands are answered again", || {
                sent.load(Ordering::SeqCst) >= after
            });
            is_over.store(true, Ordering::SeqCst);
            asking.join().unwrap()
        });
        slowest = slowest.max(longest);
        servers[first] = site.server(&site.words());
    }
    site.verified(&run).unwrap();
    figures.time(
        "a killed server, with another beside it: the slowest answer",
        slowest,
        Some(SERVER_BAR),
    );
}

/// Measures from when PostgreSQL accepts connections again to the first answer.
pub(super) fn database(site: &Site, figures: &mut Figures) {
    let server = site.server(&site.words());
    let (agent, run) = agent_and_run(site, &server);
    let mut slowest = Duration::ZERO;
    for kill in 0..KILLS {
        let last = Mutex::new(Instant::now());
        let (sent, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let took = thread::scope(|scope| {
            scope.spawn(|| {
                let mut client = server.client();
                while !is_over.load(Ordering::SeqCst) {
                    let id = format!("k{kill}-{}", sent.load(Ordering::SeqCst));
                    while !asked(&mut client, (&run, &agent), &id).is_ok_and(|a| a.status == 200) {
                        // As a client does that has to wait.
                        thread::sleep(Duration::from_millis(50));
                    }
                    *last.lock().unwrap() = Instant::now();
                    sent.fetch_add(1, Ordering::SeqCst);
                }
            });
            until("commands are answered", || {
                sent.load(Ordering::SeqCst) >= 20
            });
            site.kill_postgres();
            let before = sent.load(Ordering::SeqCst);
            site.start_postgres();
            let accepts = Instant::now();
            // The one that was on its way when the database was killed may have been answered.
            until("a command is answered", || {
                sent.load(Ordering::SeqCst) > before + 1
            });
            let took = last.lock().unwrap().saturating_duration_since(accepts);
            is_over.store(true, Ordering::SeqCst);
            took
        });
        slowest = slowest.max(took);
    }
    site.verified(&run).unwrap();
    figures.time(
        "the first answer after PostgreSQL accepts again",
        slowest,
        Some(DATABASE_BAR),
    );
}

fn agent_and_run(site: &Site, server: &crate::site::Served) -> (String, String) {
    let ana = site.token("person", "ana");
    let run = server.start_run(&ana, ("trial.yaml", GUARDED));
    (site.token("agent", "ana"), run)
}

fn asked(client: &mut Client, (run, agent): (&str, &str), id: &str) -> io::Result<Answer> {
    client.post(
        &format!("/v1/runs/{run}/commands"),
        (agent, id),
        &proposal(id, None),
    )
}
