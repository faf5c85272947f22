//! Bare appends: a transaction with no more than a comparison and rows of the same size as Interlock's.

use std::{
    str::FromStr as _,
    sync::{
        Barrier,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, Config, NoTls, Statement};

use crate::site::Site;

const TABLES: &str = "CREATE TABLE IF NOT EXISTS bare_runs \
     (run bigint PRIMARY KEY, seq bigint NOT NULL, tip bytea NOT NULL); \
     CREATE TABLE IF NOT EXISTS bare_events (run bigint NOT NULL, seq bigint NOT NULL, prev bytea NOT NULL, \
     hash bytea NOT NULL, body bytea NOT NULL, PRIMARY KEY (run, seq)); \
     CREATE TABLE IF NOT EXISTS bare_commands (run bigint NOT NULL, id text NOT NULL, digest bytea NOT NULL, \
     reply bytea NOT NULL, PRIMARY KEY (run, id)); \
     INSERT INTO bare_runs SELECT run, 0, decode(repeat('00', 32), 'hex') \
     FROM generate_series(0, 255) AS run ON CONFLICT DO NOTHING";

/// A writer with its own connection.
struct Writer {
    runtime: Runtime,
    client: Client,
    locked: Statement,
    inserted: Statement,
    kept: Statement,
    moved: Statement,
    body: Vec<u8>,
    reply: Vec<u8>,
}

impl Writer {
    fn new(site: &Site, (body, reply): (usize, usize)) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let config = Config::from_str(&site.words()).unwrap();
        let client = runtime.block_on(async {
            let (client, connection) = config.connect(NoTls).await.unwrap();
            tokio::spawn(connection);
            client
        });
        let prepared = |sql| runtime.block_on(client.prepare(sql)).unwrap();
        let locked = prepared("SELECT seq, tip FROM bare_runs WHERE run = $1 FOR UPDATE");
        let inserted = prepared("INSERT INTO bare_events VALUES ($1, $2, $3, $4, $5)");
        let kept = prepared("INSERT INTO bare_commands VALUES ($1, $2, $3, $4)");
        let moved = prepared("UPDATE bare_runs SET seq = $2, tip = $3 WHERE run = $1");
        Self {
            locked,
            inserted,
            kept,
            moved,
            runtime,
            client,
            body: vec![b'x'; body],
            reply: vec![b'y'; reply],
        }
    }

    /// Appends one event to a run.
    fn append(&self, run: i64) {
        self.runtime.block_on(async {
            let client = &self.client;
            client.batch_execute("BEGIN").await.unwrap();
            let row = client.query_one(&self.locked, &[&run]).await.unwrap();
            let (seq, tip): (i64, Vec<u8>) = (row.get(0), row.get(1));
            let hash = vec![7_u8; 32];
            let id = format!("agent:someone:{run}-{seq}");
            let next = seq + 1;
            let event: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                [&run, &seq, &tip, &hash, &self.body];
            client.execute(&self.inserted, &event).await.unwrap();
            let command: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&run, &id, &hash, &self.reply];
            client.execute(&self.kept, &command).await.unwrap();
            client
                .execute(&self.moved, &[&run, &next, &hash])
                .await
                .unwrap();
            client.batch_execute("COMMIT").await.unwrap();
        });
    }
}

/// The size of Interlock's rows: an event's body and a command's reply.
pub(super) fn sizes(site: &Site) -> (usize, usize) {
    let size = |sql| site.sql(sql).parse().unwrap_or(500);
    let body =
        size("SELECT coalesce(avg(length(body)), 500)::bigint FROM interlock.events WHERE seq > 0");
    let reply = size("SELECT coalesce(avg(length(reply)), 200)::bigint FROM interlock.commands");
    (body, reply)
}

/// Returns the times of appends, one after the other.
pub(super) fn alone(site: &Site, sizes: (usize, usize), count: usize) -> Vec<Duration> {
    prepare(site);
    let writer = Writer::new(site, sizes);
    let timed = |at: usize| {
        let begun = Instant::now();
        writer.append(i64::try_from(at % 200).unwrap_or(0));
        begun.elapsed()
    };
    (0..count).map(timed).collect()
}

/// Returns how many appends a second so many writers make, each to the runs that `run` names.
pub(super) fn rate(
    site: &Site,
    sizes: (usize, usize),
    (writers, time): (usize, Duration),
    run: fn(usize, u64) -> u64,
) -> f64 {
    prepare(site);
    let (done, ready) = (AtomicU64::new(0), Barrier::new(writers + 1));
    let begun = thread::scope(|scope| {
        for at in 0..writers {
            let (done, ready) = (&done, &ready);
            scope.spawn(move || {
                let writer = Writer::new(site, sizes);
                ready.wait();
                let begun = Instant::now();
                let mut number = 0;
                while begun.elapsed() < time {
                    writer.append(i64::try_from(run(at, number)).unwrap_or(0));
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

fn prepare(site: &Site) {
    site.sql(&format!(
        "SET client_min_messages = error; SET ROLE interlock_trial; {TABLES}"
    ));
}
