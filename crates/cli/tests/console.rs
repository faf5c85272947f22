//! `interlock console` over HTTP: access, the content of pages, and the effect of answers.
#![cfg(target_os = "linux")]

mod answers;
mod calls;
mod compare;
pub(crate) mod corpus;
mod demo;
mod door;
mod drafts;
mod export;
mod injections;
mod memory;
mod moments;
pub(crate) mod page;
mod passkeys;
mod port;
mod protected;
mod secrets;
mod stages;
mod trials;
mod trust;
mod wire;
mod workflows;

use std::process::Stdio;

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
};
use serde_json::Value;

use crate::stages::place;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const SESSION: &str = "5b1e8f2c-8d2b-4c55-9a3f-0d7f3f0a6c11";

const FLOW: &str = "id: shop
initial: draft
states:
  draft:
    allowed_tools: [Read, Bash]
    on_denied: ask
    on:
      SHIP: {target: shipped, requires_approval: true, approval_message: Ship the release?}
  shipped: {on: {DONE: done}}
  done: {type: final}
";

/// A room with a run that waits for a person.
struct World {
    room: Room,
    run: String,
}

impl World {
    fn new() -> Self {
        Self::of(FLOW)
    }

    fn of(flow: &str) -> Self {
        Self::prepared(flow, |_| ())
    }

    /// Starts a run in a project that is prepared first.
    fn prepared(flow: &str, make_ready: impl FnOnce(&Room)) -> Self {
        let room = Room::new().unwrap();
        room.write("flow.yaml", flow).unwrap();
        make_ready(&room);
        let interlock = Interlock::new(INTERLOCK, &room);
        let run = interlock.start_for_session("flow.yaml", SESSION).unwrap();
        Self { room, run }
    }

    /// Requests the transition SHIP, which a person is asked about.
    fn asks(&self) {
        self.interlock()
            .by_a_person(&["send", "SHIP", "--run", &self.run])
            .unwrap();
    }

    fn interlock(&self) -> Interlock<'_> {
        Interlock::new(INTERLOCK, &self.room)
    }

    /// Proposes a call by the agent.
    fn proposes(&self, id: &str, tool: &str, input: &Value) {
        self.below_a_client((id, tool, input), "true");
    }

    /// Runs a bash line below a client that has proposed a call to its hook; returns the line's output.
    fn below_a_client(&self, (id, tool, input): (&str, &str, &Value), line: &str) -> String {
        let told = before_tool(&self.room, SESSION, id, tool, input);
        let told = self.room.write("told.json", &told.to_string()).unwrap();
        let script = self.room.write("line.sh", line).unwrap();
        let hook = format!("'{INTERLOCK}' hook claude-code < {} >&2", told.display());
        let line = format!("{hook}; bash {}", script.display());
        // A shell does not count as a client.
        let mut client = self.room.command("find");
        client.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &line, ";"]);
        let output = client.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // A call that its client asks about itself gets an empty answer.
        assert!(said.trim_start().starts_with('{'), "{said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn events(&self, name: &str) -> Vec<Value> {
        let mut events = self.interlock().events(&self.run).unwrap();
        events.retain(|event| event["event"] == name);
        events
    }
}
