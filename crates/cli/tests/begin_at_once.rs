//! Sessions under a project policy that begin at the same moment, in many processes: each gets its own run.
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeSet,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
    sync::Barrier,
    thread,
};

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    mcp::stdio::Client,
    programs,
    room::Room,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const HOOKS: usize = 20;
const AGENTS: usize = 6;

/// Returns a project whose policy guards every session, with a scripted server.
fn guarded() -> Room {
    let room = Room::new().unwrap();
    let script = programs::built("interlock-testkit", "mcp-script", INTERLOCK).unwrap();
    let tool =
        json!([{"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}}]);
    let settings = json!({"tools": tool}).to_string();
    let config = format!("[mcp.web]\ncommand = {script:?}\nargs = [{settings:?}]\n");
    let working =
        json!({"allowed_tools": ["Read", "look"], "max_iterations": 1000, "on": {"DONE": "over"}});
    let states = json!({"working": working, "over": {"type": "final"}});
    let policy = json!({"id": "policy", "initial": "working", "states": states});
    room.write_policy(&policy, &config).unwrap();
    room.write("a.txt", "one\n").unwrap();
    room
}

/// Returns a command for the program below a separate process, as a client would start it.
fn below(room: &Room, agent: &str) -> Command {
    room.install(agent, Path::new("/bin/sh")).unwrap();
    of_client(room, agent)
}

fn of_client(room: &Room, agent: &str) -> Command {
    let mut command = room.command(room.path("bin").join(agent));
    // The shell stays between this process and the program, under the agent's name.
    command.args(["-c", "\"$@\"; exit $?", agent, INTERLOCK]);
    command
}

fn read(mut hook: Command, room: &Room, session: &str, call: &str) -> Output {
    let input = json!({"file_path": room.file("a.txt")});
    let input = before_tool(room, session, call, "Read", &input).to_string();
    let streams = hook.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = streams.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

/// Returns the number of calls counted by each run.
fn calls_of_runs(room: &Room) -> Vec<u64> {
    let interlock = Interlock::new(INTERLOCK, room);
    let list = interlock.run(&["list", "--json"]).unwrap();
    let of_run = |line: &str| {
        let run: Value = serde_json::from_str(line).unwrap();
        let id = run["run"].as_str().unwrap();
        interlock.verify(id).unwrap();
        let status = interlock.status(id).unwrap();
        status["limits"]["iterations"][0].as_u64().unwrap()
    };
    let list = String::from_utf8(list.stdout).unwrap();
    list.lines().map(of_run).collect()
}

#[track_caller]
fn assert_allowed(output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(!said.contains("deny"), "{said}");
}

#[test]
fn hooks_of_one_new_session_share_the_run_that_one_of_them_begins() {
    let room = guarded();
    let gate = Barrier::new(HOOKS);
    room.install("client", Path::new("/bin/sh")).unwrap();
    let outputs: Vec<Output> = thread::scope(|scope| {
        let (room, gate) = (&room, &gate);
        let ask = move |number: usize| {
            let mut hook = of_client(room, "client");
            hook.args(["hook", "claude-code"]);
            gate.wait();
            read(hook, room, "new", &format!("toolu_{number}"))
        };
        let hooks: Vec<_> = (0..HOOKS)
            .map(|number| scope.spawn(move || ask(number)))
            .collect();
        hooks.into_iter().map(|hook| hook.join().unwrap()).collect()
    });
    outputs.iter().for_each(assert_allowed);
    assert_eq!(calls_of_runs(&room), [HOOKS as u64]);
}

#[test]
fn agents_with_hooks_and_agents_with_gateways_each_get_a_run() {
    let room = guarded();
    let open = |number| {
        let mut command = below(&room, &format!("agent-{number}"));
        command.arg("gateway");
        let (client, _) = Client::open(command, "2025-11-25", &json!({})).unwrap();
        client
    };
    let mut clients: Vec<Client> = (0..AGENTS).map(open).collect();
    let hook = |number| {
        let mut command = below(&room, &format!("client-{number}"));
        command.args(["hook", "claude-code"]);
        command
    };
    let hooks: Vec<Command> = (0..HOOKS).map(hook).collect();
    let gate = Barrier::new(AGENTS + HOOKS);
    thread::scope(|scope| {
        // Borrowed: if a client disappears, its run passes to the next one.
        for client in &mut clients {
            let gate = &gate;
            scope.spawn(move || {
                gate.wait();
                for _ in 0..3 {
                    let call = client.call("look", &json!({})).unwrap();
                    let answer = client.answer(&call).unwrap();
                    assert_ne!(answer["result"]["isError"], true, "{answer}");
                    assert!(answer["result"].is_object(), "{answer}");
                }
            });
        }
        for (number, hook) in hooks.into_iter().enumerate() {
            let (room, gate) = (&room, &gate);
            scope.spawn(move || {
                gate.wait();
                assert_allowed(&read(hook, room, &format!("s{number}"), "toolu_1"));
            });
        }
    });
    let calls = calls_of_runs(&room);
    assert_eq!(calls.len(), AGENTS + HOOKS, "{calls:?}");
    let kinds: BTreeSet<u64> = calls.into_iter().collect();
    assert_eq!(kinds, [1, 3].into(), "calls of hooks and of gateways");
}

#[test]
fn a_start_has_done_its_work_before_it_wants_what_others_wait_for() {
    let room = Room::new().unwrap();
    let flow = json!({"id": "w", "initial": "a", "states": {"a": {"on": {"DONE": "b"}}, "b": {"type": "final"}}});
    room.write("flow.json", &flow.to_string()).unwrap();
    let state = room.state().join("interlock");
    let runs = state.join("runs");
    let unseen = || {
        let names = std::fs::read_dir(&runs).into_iter().flatten().flatten();
        names
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(".new-"))
            .count()
    };
    let held = interlock_store::Home::at(state);
    let held = held.lock_bindings().unwrap();
    let mut start = room.command(INTERLOCK);
    start.args(["start", "flow.json"]).stdout(Stdio::null());
    let mut start = start.spawn().unwrap();
    while unseen() == 0 {
        assert!(start.try_wait().unwrap().is_none(), "it has ended");
        thread::yield_now();
    }
    drop(held);
    assert!(start.wait().unwrap().success());
    assert_eq!(unseen(), 0);
}
