//! Checks before the first state that each tool that a workflow names exists.

use interlock_core::machine::{Activity, Machine, NodeKind, ServerStart, ServerWork, TaskKind};
use interlock_expr::text::ValueTemplate;
use interlock_nodes::{Inputs, ToolWork};
use interlock_tools::Tool;

use super::{
    Configured,
    servers::{asked, has, nowhere},
};
use crate::stage::{Served, Servers};

/// Looks up every tool that only a server of the configuration can have.
///
/// Servers are started for this if needed. A server whose fields have templates is started only later: it may have any tool.
///
/// # Errors
/// A tool does not exist, or a server cannot be started; one sentence.
pub fn look_up(
    machine: &Machine,
    configured: &dyn Configured,
    servers: Option<&dyn Servers>,
) -> Result<(), String> {
    let wanted = wanted(machine);
    if wanted.is_empty() {
        return Ok(());
    }
    let of_run = servers.map(Servers::tools).unwrap_or_default();
    let mut all = vec![(String::new(), of_run)];
    let mut is_open = false;
    for (id, server) in configured.servers() {
        if has_blocks(&server) {
            is_open = true;
            continue;
        }
        let (asked, _) = asked(configured, &server, &Inputs::default(), false)
            .map_err(|failed| failed.message)?;
        let started = configured.start(&asked, &|| false);
        let started = started.map_err(|why| why.to_string())?;
        all.push((id, started.tools()));
    }
    for (state, name) in wanted {
        let found = all.iter().any(|(id, tools)| is_there(&name, id, tools));
        if !found && !is_open {
            let known: Vec<Served> = all.iter().flat_map(|(_, tools)| tools.clone()).collect();
            let why = nowhere(&name, "any MCP server of the configuration", &known);
            return Err(format!("`{state}`: {}", why.message));
        }
    }
    Ok(())
}

fn is_there(name: &str, id: &str, tools: &[Served]) -> bool {
    match name.split_once('/') {
        None => tools.iter().any(|served| has(served, id, name)),
        Some((server, tool)) if id.is_empty() => {
            let whole = format!("{server}__{tool}");
            tools.iter().any(|served| served.served_as.contains(&whole))
        }
        Some((server, tool)) => server == id && tools.iter().any(|served| has(served, id, tool)),
    }
}

/// Lists the tools that are neither built in nor provided by a server of their own, each with its state.
fn wanted(machine: &Machine) -> Vec<(String, String)> {
    let mut wanted = Vec::new();
    let machines = std::iter::once(machine).chain(machine.machines.values());
    for (name, state) in machines.flat_map(|machine| &machine.states) {
        if let Activity::Task(work) = &state.activity
            && work.kind == TaskKind::Node(NodeKind::ToolCall)
            && let ValueTemplate::Plain(input) = &work.input
            && let Ok(tool) = serde_json::from_value::<ToolWork>(input.clone())
            && tool.server.is_none()
            && Tool::named(&Tool::CODEMIE, &tool.tool).is_none()
        {
            wanted.push((name.to_string(), tool.tool));
        }
    }
    for (name, agent) in &machine.agents {
        if agent.servers.is_empty() {
            let tools = agent.configured.iter().cloned();
            wanted.extend(tools.map(|tool| (name.to_string(), tool)));
        }
    }
    wanted
}

fn has_blocks(server: &ServerWork) -> bool {
    match &server.start {
        ServerStart::Configured(_) => false,
        ServerStart::Program {
            command,
            arguments,
            env,
        } => {
            let env = env.iter().map(|(_, text)| text);
            let mut texts = arguments.iter().chain([command]).chain(env);
            texts.any(interlock_expr::template::Template::has_blocks)
        }
        ServerStart::Address {
            url,
            headers,
            token,
            ..
        } => {
            let headers = headers.iter().map(|(_, text)| text);
            let mut texts = headers.chain([url]).chain(token);
            texts.any(interlock_expr::template::Template::has_blocks)
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_server_with_any_template_may_have_any_tool() {
        let has = |start: &Value| {
            let work = json!({"name": "s", "start": start});
            has_blocks(&serde_json::from_value(work).unwrap())
        };
        let program = |texts: [&str; 3]| {
            json!({"program": {
                "command": texts[0], "arguments": [texts[1]], "env": [["K", texts[2]]],
            }})
        };
        let address = |texts: [&str; 3]| {
            json!({"address": {
                "url": texts[0], "headers": [["H", texts[1]]], "token": texts[2], "streams": false,
            }})
        };
        let plain = ["http://a/", "b", "c"];
        assert!(!has(&program(plain)));
        assert!(!has(&address(plain)));
        for at in 0..3 {
            let mut texts = plain;
            texts[at] = "{{ x }}";
            assert!(has(&program(texts)), "{at}");
            assert!(has(&address(texts)), "{at}");
        }
        assert!(!has(&json!({"configured": "{{ x }}"})));
    }
}
