//! Conditions on the servers' tools that must hold before a run begins or continues.

use interlock_core::{
    machine::{Activity, Machine},
    run::Run,
};
use interlock_tools::Tool;

use crate::{build_error::BuildError, stage::Servers};

/// Refuses a stage of `machine` whose completion tool has the name of a server's tool.
pub(super) fn leave_free(machine: &Machine, servers: &dyn Servers) -> Result<(), BuildError> {
    let listed = servers.listed();
    let machines = std::iter::once(machine).chain(machine.machines.values());
    for (state, activity) in machines.flat_map(|machine| {
        let states = machine.states.iter();
        states.map(|(name, state)| (machine.shown(name), &state.activity))
    }) {
        let Activity::Stage(stage) = activity else {
            continue;
        };
        let Some(name) = stage.completion_tool() else {
            continue;
        };
        let mut of_name = listed.iter().filter(|served| {
            served.spec.name == name || served.served_as.iter().any(|other| other == name)
        });
        if let Some(served) = of_name.next() {
            let whole = served.served_as.get(1).unwrap_or(&served.spec.name);
            return Err(BuildError::Usage(format!(
                "`{state}` is to end with the tool `{name}`, and an MCP server has one of that name (`{whole}`): \
                 choose another name for what ends the stage, such as `submit_result`"
            )));
        }
    }
    Ok(())
}

/// Refuses to continue a stage whose tools no longer exist.
pub(super) fn still_there(
    machine: &Machine,
    run: &Run,
    servers: Option<&dyn Servers>,
) -> Result<(), BuildError> {
    let own: Vec<&str> = Tool::PIPELINE
        .iter()
        .chain(&Tool::CODEMIE)
        .map(|tool| tool.name())
        .collect();
    for path in run.open_leaves() {
        let Some(frame) = run.frame(&path) else {
            continue;
        };
        if machine.agents.contains_key(&frame.at) {
            // Its own servers are started with it.
            continue;
        }
        let attempt = frame.stay.stage_attempt();
        let mut tools = attempt.into_iter().flat_map(|progress| &progress.tools);
        let gone = tools.find(|tool| {
            !own.contains(&tool.as_str())
                && servers.and_then(|servers| servers.known(tool)).is_none()
        });
        if let Some(tool) = gone {
            return Err(BuildError::Unusable(format!(
                "`{}` works with the tool `{tool}`, which no MCP server has now: the run is unchanged",
                frame.at
            )));
        }
    }
    Ok(())
}
