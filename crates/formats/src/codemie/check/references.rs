//! Names that must refer to something.

use interlock_expr::nearest::nearest;

use crate::{
    codemie::{
        notes::{Notes, shown},
        state::END,
        syntax::{Does, Named, Server, Start, State, Tool, Workflow},
        tools::{BUILTINS, builtin},
    },
    source::Workflows,
    stage::PROVIDERS,
};

pub(super) fn check(workflow: &Workflow, others: &dyn Workflows, notes: &mut Notes<'_>) {
    let states: Vec<&Named> = workflow.states.iter().map(|state| &state.id).collect();
    let assistants: Vec<&Named> = workflow.assistants.iter().map(|one| &one.id).collect();
    let tools: Vec<&Named> = workflow.tools.iter().map(|one| &one.id).collect();
    let nodes: Vec<&Named> = workflow.nodes.iter().map(|one| &one.id).collect();
    for (kind, ids) in [
        ("state", &states),
        ("assistant", &assistants),
        ("tool", &tools),
        ("custom node", &nodes),
    ] {
        twice(kind, ids, notes);
    }
    let whole = |list: &str| !workflow.incomplete.contains(&list);
    for state in &workflow.states {
        match &state.does {
            Some(Does::Assistant(id)) if whole("assistants") => {
                refers("assistant", "undefined_assistant", id, &assistants, notes);
            }
            Some(Does::Tool(id)) if whole("tools") => {
                refers("tool", "undefined_tool", id, &tools, notes);
            }
            Some(Does::Node(id)) if whole("custom_nodes") => {
                refers("custom node", "undefined_node", id, &nodes, notes);
            }
            _ => {}
        }
        if whole("states") {
            targets(state, &states, notes);
        }
    }
    if !others.assumes_configured() {
        configured(workflow, others, notes);
        models(workflow, others, notes);
        available(workflow, others, notes);
    }
    started(workflow, notes);
}

fn twice(kind: &str, ids: &[&Named], notes: &mut Notes<'_>) {
    for (at, id) in ids.iter().enumerate() {
        let mut before = ids.iter().take(at);
        if before.any(|other| other.text == id.text) {
            notes
                .report
                .error(
                    id.span,
                    "duplicate_id",
                    format!("there are two {kind}s `{}`", shown(&id.text)),
                )
                .help("give one of them another id");
        }
    }
}

fn targets(state: &State, states: &[&Named], notes: &mut Notes<'_>) {
    let ways = state.next.iter().flat_map(|next| next.way.targets());
    for target in ways.chain(&state.on_error) {
        if target.text != END {
            refers("state", "undefined_state", target, states, notes);
        }
    }
}

fn refers(kind: &str, code: &'static str, wanted: &Named, known: &[&Named], notes: &mut Notes<'_>) {
    if known.iter().any(|one| one.text == wanted.text) {
        return;
    }
    let names = known.iter().map(|one| one.text.as_str());
    let end = (kind == "state").then_some(END);
    let near = nearest(&wanted.text, names.chain(end));
    let guess = near
        .map(|near| format!(": did you mean `{near}`?"))
        .unwrap_or_default();
    let listed: Vec<String> = known.iter().map(|one| format!("`{}`", one.text)).collect();
    notes
        .report
        .error(
            wanted.span,
            code,
            format!("there is no {kind} `{}`{guess}", shown(&wanted.text)),
        )
        .help(match (near, listed.is_empty()) {
            (Some(near), _) => format!("write `{near}`"),
            (None, false) => format!("there are {}", listed.join(", ")),
            (None, true) => format!("there is no {kind} at all: define it"),
        });
}

/// Checks the ids of the configuration, if it is known.
fn configured(workflow: &Workflow, others: &dyn Workflows, notes: &mut Notes<'_>) {
    let mut wanted: Vec<(&str, &Named)> = Vec::new();
    let mut of_server = |server: &'_ Server| -> Vec<(&'static str, Named)> {
        let mut ids = Vec::new();
        if let Some(Start::Configured(id)) = &server.start {
            ids.push(("mcp_servers", id.clone()));
        }
        ids.extend(server.alias.iter().map(|id| ("integrations", id.clone())));
        ids
    };
    let mut from_servers = Vec::new();
    for assistant in &workflow.assistants {
        wanted.extend(assistant.base.iter().map(|id| ("assistants", id)));
        wanted.extend(assistant.datasources.iter().map(|id| ("datasources", id)));
        wanted.extend(assistant.skills.iter().map(|id| ("skills", id)));
        let aliases = assistant
            .tools
            .iter()
            .filter_map(|tool| tool.alias.as_ref());
        wanted.extend(aliases.map(|id| ("integrations", id)));
        from_servers.extend(assistant.servers.iter().flat_map(&mut of_server));
    }
    for tool in &workflow.tools {
        wanted.extend(tool.alias.iter().map(|id| ("integrations", id)));
        from_servers.extend(tool.server.iter().flat_map(&mut of_server));
    }
    for node in &workflow.nodes {
        wanted.extend(node.datasources.iter().map(|id| ("datasources", id)));
    }
    let servers = from_servers.iter().map(|(table, id)| (*table, id));
    for (table, id) in wanted.into_iter().chain(servers) {
        let Some(known) = others.entries(table) else {
            continue;
        };
        if known.contains(&id.text) {
            continue;
        }
        let near = nearest(&id.text, known.iter().map(String::as_str));
        let guess = near
            .map(|near| format!(": did you mean `{near}`?"))
            .unwrap_or_default();
        let id_shown = shown(&id.text);
        notes
            .report
            .error(
                id.span,
                "not_configured",
                format!("the configuration has no `[{table}.{id_shown}]`{guess}"),
            )
            .help(format!(
                "add `[{table}.{id_shown}]` to `.interlock/config.toml`, or to the `config.toml` of your own"
            ));
    }
}

/// Checks that a model with a provider names an existing one.
fn models(workflow: &Workflow, others: &dyn Workflows, notes: &mut Notes<'_>) {
    let of_assistants = workflow.assistants.iter().map(|one| &one.model);
    let of_nodes = workflow.nodes.iter().map(|one| &one.model);
    for model in of_assistants.chain(of_nodes).flatten() {
        let Some((provider, _)) = model.text.split_once('/') else {
            continue;
        };
        let known = |table: &str| others.entries(table).unwrap_or_default();
        if provider.contains("{{") || known("models").contains(&model.text) {
            continue;
        }
        let mut providers = known("providers");
        providers.extend(PROVIDERS.iter().map(|name| (*name).to_owned()));
        if providers.iter().any(|known| known == provider) {
            continue;
        }
        let near = nearest(provider, providers.iter().map(String::as_str));
        let guess = near
            .map(|near| format!(": did you mean `{near}`?"))
            .unwrap_or_default();
        let listed: Vec<String> = providers.iter().map(|name| format!("`{name}`")).collect();
        notes
            .report
            .error(
                model.span,
                "unknown_provider",
                format!("there is no provider `{}`{guess}", shown(provider)),
            )
            .help(format!(
                "there are {}; add `[providers.NAME]` or `[models]` to `config.toml`",
                listed.join(", ")
            ));
    }
}

/// Checks that each tool can be available.
fn available(workflow: &Workflow, others: &dyn Workflows, notes: &mut Notes<'_>) {
    // A server of the configuration may have any tool; this is checked when the run starts.
    if others
        .entries("mcp_servers")
        .is_none_or(|known| !known.is_empty())
    {
        return;
    }
    let mut wanted: Vec<&Named> = Vec::new();
    for assistant in &workflow.assistants {
        // The tools of an assistant of the configuration are unknown here.
        if assistant.servers.is_empty() && assistant.base.is_none() {
            wanted.extend(assistant.tools.iter().map(|tool| &tool.name));
        }
    }
    let alone = workflow.tools.iter().filter(|tool| tool.server.is_none());
    wanted.extend(alone.map(|tool| &tool.tool));
    for name in wanted
        .into_iter()
        .filter(|name| builtin(&name.text).is_none())
    {
        let names = BUILTINS.iter().map(|(name, _)| *name);
        let near = nearest(&name.text, names.clone());
        let guess = near
            .map(|near| format!(": did you mean `{near}`?"))
            .unwrap_or_default();
        let known: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        notes
            .report
            .error(
                name.span,
                "undefined_tool",
                format!("no tool `{}` is built in, and there is no MCP server that could have it{guess}", shown(&name.text)),
            )
            .help(format!("built in are {}", known.join(", ")));
    }
}

/// Lists the programs that are started and the addresses that are used.
fn started(workflow: &Workflow, notes: &mut Notes<'_>) {
    let of_assistants = workflow.assistants.iter().flat_map(|one| &one.servers);
    let of_tools = workflow
        .tools
        .iter()
        .filter_map(|tool: &Tool| tool.server.as_ref());
    for server in of_assistants.chain(of_tools).filter(|one| one.enabled) {
        let (span, message) = match &server.start {
            Some(Start::Program { command, .. }) => (
                command.span,
                format!(
                    "the MCP server `{}` starts `{}`",
                    server.name.text,
                    shown(&command.text)
                ),
            ),
            Some(Start::Address { url, .. }) => (
                url.span,
                format!(
                    "the MCP server `{}` is at `{}`",
                    server.name.text,
                    shown(&url.text)
                ),
            ),
            _ => continue,
        };
        notes.report.note(span, "mcp_server", message);
    }
}
