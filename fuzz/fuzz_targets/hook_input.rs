//! Any bytes as the input of a hook: understood or refused, and the facts of a call found.

#![cfg_attr(fuzzing, no_main)]

use interlock_clients::{ClientId, failure_stops, input::Event, read, tool};
use interlock_core::names::CallId;
use interlock_facts::{CallContext, GivenDisk, Proposal, facts};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (client, event) = (ClientId::ClaudeCode, Some("PreToolUse"));
    let _ = failure_stops(client, bytes, event);
    let Ok(input) = read(client, bytes, event) else {
        return;
    };
    let (Event::BeforeTool(call) | Event::AfterTool { tool: call, .. }) = input.event else {
        return;
    };
    let disk = GivenDisk::empty()
        .with("/p", "src/a.rs", "fn main() {}\n")
        .with("/p", "notes.ipynb", "{\"cells\": []}");
    let context = CallContext::of_project("/p").resolved(&disk);
    let known = tool(ClientId::ClaudeCode, &call.name);
    let found = facts(
        Proposal {
            id: call.id.unwrap_or_else(|| CallId::from("1")),
            tool: &call.name,
            common: known.common,
            shape: known.shape,
            input: &call.input,
            doubled: call.doubled.as_deref(),
            agent: input.agent,
            branch: None,
        },
        &context,
        &disk,
    );
    let _ = format!("{found:?}");
});
