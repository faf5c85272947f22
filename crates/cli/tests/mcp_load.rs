//! Two hundred clients at once over HTTP, while a server is killed again and again.
//!
//! A sample runs with every test; `cargo xtask load` runs the whole load. Each answer of the steady server must reach
//! its caller exactly once; the answers of the server that is killed may be errors that name it. The gateway's memory
//! must not grow with the number of calls. Where a policy guards the project, each call is in a log, once.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "what was measured is to be seen")]

use std::{
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use interlock_testkit::{
    interlock::Interlock,
    mcp::{http::Client, listening::Listening},
    processes, programs,
    room::Room,
    sample,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const CLIENTS: usize = 200;
/// One in this many calls goes to the server that is killed.
const OF_CALLS_ONE_FRAGILE: usize = 10;
/// Number of parts of the run whose memory is compared.
const PARTS: usize = 20;
/// Factor for the number of calls of a guarded scene, in the whole load.
///
/// Each session's log grows with its calls; the gateway's memory must not.
const GUARDED_TIMES: usize = 4;
/// Maximum growth of the gateway's memory in the last quarter over the peak of the quarter before, in percent.
const MORE_PERCENT_MAX: u64 = 4;
/// Maximum growth of the gateway's memory in the second half of the run over the peak of the first, in KiB.
const MORE_KIB_MAX: u64 = 24 * 1024;

/// Size of the load.
struct Load {
    calls_a_client: usize,
    kill_every: Duration,
    clients: usize,
}

impl Load {
    fn asked_for(times: usize) -> Self {
        if sample::is_whole() {
            return Self {
                clients: CLIENTS,
                calls_a_client: 250 * times,
                kill_every: Duration::from_secs(1),
            };
        }
        Self {
            clients: CLIENTS,
            calls_a_client: 10,
            kill_every: Duration::from_millis(150),
        }
    }
}

/// Number of processes of the fragile server that are killed at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Killed {
    One,
    All,
}

/// Settings that differ between the tests.
struct Scene {
    /// Whether the fragile server is one process for all sessions.
    is_shared: bool,
    killed: Killed,
    /// Whether a policy guards the project.
    is_guarded: bool,
}

/// Counts of the calls by their outcome.
#[derive(Debug, Default)]
struct Tally {
    answered: AtomicUsize,
    refused: AtomicUsize,
}

impl Scene {
    fn serve(&self, room: &Room) -> Listening {
        let script = programs::built("interlock-testkit", "mcp-script", INTERLOCK).unwrap();
        let mut config = String::new();
        for server in ["steady", "fragile"] {
            let tool = json!([{"name": format!("of_{server}"), "description": "Echoes.", "inputSchema": {"type": "object"}}]);
            let settings = json!({"tools": tool, "marked": marked(room, server)}).to_string();
            config += &format!("[mcp.{server}]\ncommand = {script:?}\nargs = [{settings:?}]\n");
        }
        if self.is_shared {
            config += "shared = true\n";
        }
        if self.is_guarded {
            let working = json!({
                "allowed_tools": ["of_steady", "of_fragile"], "max_iterations": 1_000_000,
                "context_budget_bytes": 1_000_000_000, "on": {"DONE": "over"},
            });
            let states = json!({"working": working, "over": {"type": "final"}});
            let policy = json!({"id": "policy", "initial": "working", "states": states});
            room.write_policy(&policy, &config).unwrap();
        } else {
            room.write(".interlock/config.toml", &config).unwrap();
        }
        let mut command = room.command(INTERLOCK);
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        Listening::start(command).unwrap()
    }

    /// Kills processes of the fragile server until everything is done; a different one each time where one is killed at
    /// a time.
    fn kill_until(
        &self,
        begun: &Barrier,
        done: &mpsc::Receiver<()>,
        every: Duration,
        word: &str,
    ) -> usize {
        let mut killed = 0;
        begun.wait();
        while done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            let running = processes::with_word(word);
            match self.killed {
                Killed::All => {
                    running.iter().copied().for_each(processes::kill);
                    killed += running.len();
                }
                Killed::One => {
                    if let Some(process) = running.get(killed % running.len().max(1)) {
                        processes::kill(*process);
                        killed += 1;
                    }
                }
            }
        }
        killed
    }

    /// Plays all clients, and checks their answers and the logs.
    fn play(&self) {
        let load = Load::asked_for(if self.is_guarded { GUARDED_TIMES } else { 1 });
        let room = Room::new().unwrap();
        let mut gateway = self.serve(&room);
        let tally = Tally::default();
        let begun = Instant::now();
        let (killed, memory) = self.call_all(&load, &room, &gateway, &tally);
        let took = begun.elapsed();
        let (answered, refused) = (tally.answered.into_inner(), tally.refused.into_inner());
        eprintln!(
            "{answered} answered, {refused} refused, {killed} killed, {took:.1?}, memory in KiB {memory:?}"
        );
        assert_eq!(answered + refused, load.clients * load.calls_a_client);
        assert!(killed > 0, "nothing was killed meanwhile");
        assert!(gateway.is_running());
        let (first, second) = memory.split_at(memory.len() / 2);
        let most = |part: &[u64]| part.iter().max().copied().unwrap_or_default();
        assert!(
            most(second) <= most(first) + MORE_KIB_MAX,
            "memory grows: {memory:?}"
        );
        if sample::is_whole() {
            let quarter = memory.len() / 4;
            let (earlier, last) = memory.split_at(memory.len() - quarter);
            let before = earlier.split_at(earlier.len() - quarter).1;
            assert!(
                most(last) <= most(before) * (100 + MORE_PERCENT_MAX) / 100,
                "memory still grows: {memory:?}"
            );
        }
        if self.is_guarded {
            assert_eq!(counted(&room), answered + refused, "calls in the logs");
        }
        let after = client(gateway.url(), 1)
            .call("of_steady", &json!({"steps": []}))
            .unwrap();
        assert!(after["result"].is_object(), "{after}");
        assert_ne!(after, Value::Null);
    }

    /// Plays all clients; returns how many processes were killed, and the gateway's memory after each part.
    fn call_all(
        &self,
        load: &Load,
        room: &Room,
        gateway: &Listening,
        tally: &Tally,
    ) -> (usize, Vec<u64>) {
        let part = load.calls_a_client.div_ceil(PARTS);
        let parts = load.calls_a_client.div_ceil(part);
        let rounds = |index: usize| index * part..((index + 1) * part).min(load.calls_a_client);
        // All clients are at the end of the same part while the memory is measured.
        let barrier = Barrier::new(load.clients + 1);
        // Nothing is killed before every client has started.
        let there = Barrier::new(load.clients + 1);
        let (over, done) = mpsc::channel();
        let mut memory = Vec::new();
        thread::scope(|scope| {
            let (word, begun) = (marked(room, "fragile"), &there);
            let killer = scope.spawn(move || self.kill_until(begun, &done, load.kill_every, &word));
            let clients: Vec<_> = (0..load.clients)
                .map(|number| {
                    let (url, barrier, there) = (gateway.url(), &barrier, &there);
                    scope.spawn(move || {
                        // A client that fails still has to reach the barrier.
                        let mut found = std::panic::catch_unwind(|| client(url, number)).ok();
                        let mut failed = found.is_none();
                        there.wait();
                        for index in 0..parts {
                            let all = std::panic::AssertUnwindSafe(|| {
                                if let Some(client) = &mut found {
                                    rounds(index)
                                        .for_each(|round| call(client, number, round, tally));
                                }
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
            let failed = clients.into_iter().filter_map(|client| client.join().err());
            let failed = failed.count();
            over.send(()).unwrap();
            assert_eq!(failed, 0, "clients failed");
            let killed = killer.join();
            let killed = killed.unwrap_or_else(|_| panic!("the killer failed"));
            (killed, memory)
        })
    }
}

/// Returns a word that marks the command line of a server's processes in this room only.
fn marked(room: &Room, server: &str) -> String {
    format!("{}/{server}", room.project().display())
}

/// Counts the calls in the logs of all runs, and verifies each log.
fn counted(room: &Room) -> usize {
    let interlock = Interlock::new(INTERLOCK, room);
    let list = interlock.run(&["list", "--all", "--json"]).unwrap();
    let of_run = |line: &str| {
        let run: Value = serde_json::from_str(line).unwrap();
        let id = run["run"].as_str().unwrap();
        interlock.verify(id).unwrap();
        let status = interlock.status(id).unwrap();
        let used = status["limits"]["iterations"][0].as_u64().unwrap();
        usize::try_from(used).unwrap()
    };
    let list = String::from_utf8(list.stdout).unwrap();
    list.lines().map(of_run).sum()
}

/// Connects a client: every other one with a session, the others on one connection without sessions.
///
/// Each client lists the tools first: the gateway knows which server a tool belongs to only once that server has run.
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

#[test]
fn two_hundred_clients_get_their_own_answers_while_a_server_is_killed() {
    let scene = Scene {
        is_shared: false,
        killed: Killed::One,
        is_guarded: false,
    };
    scene.play();
}

#[test]
fn clients_that_share_a_server_get_their_own_answers_while_it_is_killed() {
    let scene = Scene {
        is_shared: true,
        killed: Killed::All,
        is_guarded: false,
    };
    scene.play();
}

#[test]
fn guarded_calls_are_in_the_logs_once_while_all_processes_of_a_server_are_killed() {
    let scene = Scene {
        is_shared: false,
        killed: Killed::All,
        is_guarded: true,
    };
    scene.play();
}
