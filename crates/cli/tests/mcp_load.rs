//! Two hundred clients at once over HTTP, with a server killed again and again meanwhile.
//!
//! A sample runs with every test; `cargo xtask load` runs the whole. The answers of the steady server must be the
//! callers' own, each once; those of the one that is killed may be errors that name it. The gateway's memory must not
//! grow with the number of calls.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may end at the first surprise")]
#![expect(clippy::panic, reason = "a test may end at the first surprise")]
#![expect(
    clippy::indexing_slicing,
    reason = "absent keys of a JSON value are null"
)]
#![expect(clippy::print_stderr, reason = "what was measured is to be seen")]

use std::{
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use interlock_testkit::{
    mcp::{http::Client, listening::Listening},
    processes, programs,
    room::Room,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const CLIENTS: usize = 200;
/// Of so many calls one goes to the server that is killed.
const OF_CALLS_ONE_FRAGILE: usize = 10;
/// Parts of the run whose memory is compared.
const PARTS: usize = 10;
/// What the gateway may hold more in the second half of the run than at most in the first.
const MORE_KIB_MAX: u64 = 24 * 1024;

/// How much is done.
struct Load {
    calls_a_client: usize,
    kill_every: Duration,
}

impl Load {
    fn asked_for() -> Self {
        if std::env::var_os("INTERLOCK_WHOLE").is_some() {
            return Self {
                calls_a_client: 250,
                kill_every: Duration::from_secs(1),
            };
        }
        Self {
            calls_a_client: 10,
            kill_every: Duration::from_millis(150),
        }
    }
}

/// What became of the calls.
#[derive(Debug, Default)]
struct Tally {
    answered: AtomicUsize,
    refused: AtomicUsize,
}

fn serve(room: &Room) -> Listening {
    let script = programs::built("interlock-testkit", "mcp-script", INTERLOCK).unwrap();
    let mut config = String::new();
    for server in ["steady", "fragile"] {
        let tool = json!([{"name": format!("of_{server}"), "description": "Echoes.", "inputSchema": {"type": "object"}}]);
        let settings = json!({"tools": tool, "marked": marked(room, server)}).to_string();
        config += &format!("[mcp.{server}]\ncommand = {script:?}\nargs = [{settings:?}]\n");
    }
    room.write(".interlock/config.toml", &config).unwrap();
    let mut command = room.command(INTERLOCK);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    Listening::start(command).unwrap()
}

/// A word in the command line of a server's processes, and of no other room's.
fn marked(room: &Room, server: &str) -> String {
    format!("{}/{server}", room.project().display())
}

/// Half of the clients have a session of the older era; the others share one connection in the newer.
///
/// Each lists the tools first: whose tool a name is can only be known of a server that was there once.
fn client(url: &str, number: usize) -> Client {
    let mut client = Client::new(url).unwrap();
    if number.is_multiple_of(2) {
        client.open("2025-11-25", &json!({})).unwrap();
    } else {
        client = client.in_newer_era(&json!({}));
    }
    let list = client.request("tools/list", &json!({})).unwrap();
    assert!(list.to_string().contains("of_fragile"), "{list}");
    client
}

fn call(client: &mut Client, number: usize, round: usize, tally: &Tally) {
    let is_fragile = (number + round).is_multiple_of(OF_CALLS_ONE_FRAGILE);
    let server = if is_fragile { "fragile" } else { "steady" };
    let mark = format!("client {number}, call {round}");
    let result = json!({"content": [{"type": "text", "text": mark}], "structuredContent": {"mark": mark}, "resultType": "complete"});
    let arguments = json!({"steps": [{ "result": result }]});
    let answer = client.call(&format!("of_{server}"), &arguments).unwrap();
    if answer["error"].is_object() {
        let told = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(is_fragile && told.contains("fragile"), "{mark}: {answer}");
        assert_eq!(answer["error"]["code"], -32603, "{mark}: {answer}");
        tally.refused.fetch_add(1, Ordering::Relaxed);
        return;
    }
    assert_eq!(
        answer["result"]["structuredContent"]["mark"], mark,
        "{answer}"
    );
    assert_eq!(answer["result"]["content"][0]["text"], mark, "{answer}");
    tally.answered.fetch_add(1, Ordering::Relaxed);
}

/// Kills one process of the fragile server at a time, another one each time.
fn kill_until(begun: &Barrier, done: &mpsc::Receiver<()>, every: Duration, word: &str) -> usize {
    let mut killed = 0;
    begun.wait();
    while done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        let running = processes::with_word(word);
        if let Some(process) = running.get(killed % running.len().max(1)) {
            processes::kill(*process);
            killed += 1;
        }
    }
    killed
}

#[test]
fn two_hundred_clients_get_their_own_answers_while_a_server_is_killed() {
    let load = Load::asked_for();
    let room = Room::new().unwrap();
    let mut gateway = serve(&room);
    let (tally, url) = (Tally::default(), gateway.url().to_owned());
    let part = load.calls_a_client.div_ceil(PARTS);
    let parts = load.calls_a_client.div_ceil(part);
    // All clients are at the end of the same part while the memory is read.
    let barrier = Barrier::new(CLIENTS + 1);
    // Nothing is killed before everyone is there.
    let there = Barrier::new(CLIENTS + 1);
    let (over, done) = mpsc::channel();
    let mut memory = Vec::new();
    let killed = thread::scope(|scope| {
        let (word, begun) = (marked(&room, "fragile"), &there);
        let killer = scope.spawn(move || kill_until(begun, &done, load.kill_every, &word));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (tally, url, barrier, there) = (&tally, &url, &barrier, &there);
                scope.spawn(move || {
                    // A client that fails still has to meet the others.
                    let mut found = std::panic::catch_unwind(|| client(url, number)).ok();
                    let mut failed = found.is_none();
                    there.wait();
                    for index in 0..parts {
                        let rounds = index * part..((index + 1) * part).min(load.calls_a_client);
                        let all = std::panic::AssertUnwindSafe(|| {
                            let client = found.as_mut();
                            client.into_iter().for_each(|client| {
                                rounds
                                    .clone()
                                    .for_each(|round| call(client, number, round, tally));
                            });
                        });
                        failed |= !failed && std::panic::catch_unwind(all).is_err();
                        barrier.wait();
                        barrier.wait();
                    }
                    assert!(!failed, "client {number} failed");
                })
            })
            .collect();
        for _ in 0..parts {
            barrier.wait();
            memory.push(processes::memory_kib(gateway.id()).unwrap_or_default());
            barrier.wait();
        }
        let failed = clients
            .into_iter()
            .filter_map(|client| client.join().err())
            .count();
        over.send(()).unwrap();
        assert_eq!(failed, 0, "clients failed");
        killer
            .join()
            .unwrap_or_else(|_| panic!("the killer failed"))
    });
    let (answered, refused) = (tally.answered.into_inner(), tally.refused.into_inner());
    eprintln!("{answered} answered, {refused} refused, {killed} killed, memory in KiB {memory:?}");
    assert_eq!(answered + refused, CLIENTS * load.calls_a_client);
    assert!(killed > 0, "nothing was killed meanwhile");
    assert!(gateway.is_running());
    let (first, second) = memory.split_at(parts / 2);
    let most = |part: &[u64]| part.iter().max().copied().unwrap_or_default();
    assert!(
        most(second) <= most(first) + MORE_KIB_MAX,
        "memory grows: {memory:?}"
    );
    let after = client(&url, 1)
        .call("of_steady", &json!({"steps": []}))
        .unwrap();
    assert!(after["result"].is_object(), "{after}");
    assert_ne!(after, Value::Null);
}
