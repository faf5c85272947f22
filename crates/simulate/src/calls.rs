//! Converts tool calls of input lines for the engine.

use interlock_clients::{ClientId, plain_call, tool};
use interlock_core::{
    call::{ToolCall, WrittenPath},
    names::{AgentId, CallId},
};
use interlock_facts::{CallContext, CallSite, Disk, GivenDisk, Proposal, facts, locate};
use interlock_sandbox::Level;
use interlock_tools::{Arguments, Tool as BuiltIn};

use crate::{input::ToolLine, scenario::Scenario};

/// Creates the call of a line, with its facts.
#[must_use]
pub fn call(setting: &Scenario, line: &ToolLine, id: String) -> ToolCall {
    let mut disk = GivenDisk::empty();
    for (path, text) in &line.files {
        disk.put(&setting.project_root, path, text.clone());
    }
    call_on(setting, line, id, &disk)
}

/// Creates the call of a line, with `disk` as the source of what only files show.
pub(crate) fn call_on(
    setting: &Scenario,
    line: &ToolLine,
    id: String,
    disk: &dyn Disk,
) -> ToolCall {
    let client = line.client.as_deref().unwrap_or(&setting.client);
    let client = ClientId::named(client).unwrap_or(ClientId::ClaudeCode);
    let plain = plain_call(client, &line.tool, &line.input);
    let (name, known, input) = match &plain {
        Ok(plain) => (&*plain.name, plain.tool, &*plain.input),
        Err(_) => (line.tool.as_str(), tool(client, &line.tool), &line.input),
    };
    let proposal = Proposal {
        id: CallId::new(id),
        tool: name,
        common: known.common,
        shape: known.shape,
        input,
        doubled: None,
        agent: line.agent.clone().map(AgentId::new),
        branch: line.branch.clone(),
    };
    let mut call = facts(proposal, &call_context(setting).resolved(disk), disk);
    call.foreign = known.foreign;
    if let Err(why) = plain {
        call.facts.malformed.get_or_insert(why);
    }
    call
}

/// Creates the call of a stage's built-in tool, with its facts.
pub(crate) fn built_in(
    setting: &Scenario,
    line: &ToolLine,
    tool: BuiltIn,
    arguments: &Arguments,
    id: &CallId,
) -> ToolCall {
    let mut disk = GivenDisk::empty();
    for (path, text) in &line.files {
        disk.put(&setting.project_root, path, text.clone());
    }
    let here = call_context(setting).resolved(&disk);
    tool.proposed(id.clone(), arguments, &here, &disk)
}

/// Locates a path that a call was observed to write.
pub(crate) fn written(setting: &Scenario, path: &str) -> Result<WrittenPath, String> {
    let found = locate(path, &call_context(setting), &GivenDisk::empty())?;
    Ok(WrittenPath {
        path: found.real,
        relative: found.relative,
    })
}

/// Refuses a client whose tool names are unknown.
pub(crate) fn known_client(client: &str) -> Result<(), String> {
    if ClientId::named(client).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = ClientId::ALL.iter().map(|(word, _)| *word).collect();
    Err(format!(
        "unknown client `{client}`; known: {}",
        known.join(", ")
    ))
}

/// Lines are judged as if under `interlock exec`.
fn call_context(setting: &Scenario) -> CallContext {
    let home = setting.home.trim_end_matches('/');
    CallContext {
        home: Some(home.to_owned()),
        temporary: Some(setting.temporary.clone()),
        caches: vec![format!("{home}/.cache")],
        state_directory: Some(format!("{home}/.local/state/interlock")),
        config_directory: Some(format!("{home}/.config/interlock")),
        allowed_by_person: setting.allowed_by_person.clone(),
        transparent: setting.transparent.clone(),
        variables: setting.variables.clone(),
        site: CallSite {
            shell: setting.shell,
            ..CallSite::at(setting.project_root.clone())
        },
        environment_held: true,
        kernel_holds: setting.level >= Level::Files,
        ..CallContext::of_project(setting.project_root.clone())
    }
}
