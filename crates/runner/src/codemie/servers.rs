//! Finds the server of a tool, and starts it for a tool state.

use std::sync::Arc;

use interlock_core::{
    event::Passing,
    machine::{ServerStart, ServerWork},
};
use interlock_expr::template::Template;
use interlock_nodes::{Inputs, tool::fill};
use interlock_tools::Secrets;
use serde_json::{Map, Value, json};

use super::{Configured, NotStarted, ServerRequest, Worked, chosen::Starting, failed, reasoned};
use crate::{
    order::Failed,
    stage::{Served, Servers},
};

/// Code of a tool that does not exist.
const UNDEFINED: &str = "undefined_tool";

/// A tool of a server.
pub(super) struct Found {
    pub(super) servers: Arc<dyn Servers>,
    pub(super) served: Served,
    /// Maximum number of tokens of one result.
    pub(super) tokens_max: Option<u64>,
}

impl Worked<'_> {
    /// Finds a tool of the server that is defined with the tool.
    pub(super) fn tool_of_own(
        &mut self,
        tool: &str,
        server: &ServerWork,
        strict: bool,
    ) -> Result<Found, Failed> {
        let servers = self.begin(server, strict)?;
        let tools = servers.tools();
        let served = tools.iter().find(|served| has(served, &server.name, tool));
        match served {
            Some(served) => Ok(Found {
                served: served.clone(),
                servers,
                tokens_max: server.tokens_max,
            }),
            None => Err(nowhere(
                tool,
                &format!("the server `{}`", server.name),
                &tools,
            )),
        }
    }

    /// Finds a tool of any server of the configuration: `server/tool`, or a unique name.
    pub(super) fn tool_of_configuration(&mut self, name: &str) -> Result<Found, Failed> {
        let nodes = self.nodes()?;
        let (wanted, tool) = match name.split_once('/') {
            Some((server, tool)) => (Some(server), tool),
            None => (None, name),
        };
        let mut found = Vec::new();
        let mut known = Vec::new();
        if let Some(servers) = &nodes.servers {
            let tools = servers.tools();
            let own = tools.iter().filter(|served| match wanted {
                Some(server) => served.served_as.contains(&format!("{server}__{tool}")),
                None => has(served, "", tool),
            });
            found.extend(own.map(|served| Found {
                servers: Arc::clone(servers),
                served: served.clone(),
                tokens_max: None,
            }));
            known.extend(tools);
        }
        for (id, server) in nodes.configured.servers() {
            if wanted.is_some_and(|wanted| wanted != id && wanted != server.name) {
                continue;
            }
            let servers = self.begin(&server, false)?;
            let tools = servers.tools();
            found.extend(
                tools
                    .iter()
                    .filter(|served| has(served, &id, tool))
                    .map(|served| Found {
                        servers: Arc::clone(&servers),
                        served: served.clone(),
                        tokens_max: server.tokens_max,
                    }),
            );
            known.extend(tools);
        }
        let several = found.len() > 1;
        match found.pop() {
            Some(found) if !several => Ok(found),
            Some(_) => Err(reasoned(
                UNDEFINED,
                format!("several MCP servers have a tool `{tool}`: write `server/{tool}`"),
                None,
            )),
            None => Err(nowhere(name, "any MCP server of the configuration", &known)),
        }
    }

    /// Starts a server with its fields filled.
    fn begin(&mut self, server: &ServerWork, strict: bool) -> Result<Arc<dyn Servers>, Failed> {
        let (asked, secrets) = {
            let nodes = self.nodes()?;
            asked(nodes.configured.as_ref(), server, &self.given, strict)?
        };
        self.secrets.extend(secrets.iter().cloned());
        let given_up = || self.cancel.is_cancelled();
        let nodes = self.nodes()?;
        let stages = self.context.stages.as_deref();
        let starting = Starting {
            nodes,
            talk: &self.talk,
            people: stages.map(|stages| &stages.people),
            path: &self.order.path,
            given_up: &given_up,
        };
        starting.check(server, &asked, &Secrets::known(secrets))?;
        let started = nodes.start(&asked, &given_up);
        started.map_err(|why| not_started(&why))
    }
}

/// Describes that a server is not running.
pub(super) fn not_started(why: &NotStarted) -> Failed {
    let passing = why.passing.then(Passing::default);
    reasoned("tool_failed", why.to_string(), passing)
}

/// Fills the fields of a server; also returns the values that must stay secret.
pub(super) fn asked(
    configured: &dyn Configured,
    server: &ServerWork,
    given: &Inputs,
    strict: bool,
) -> Result<(ServerRequest, Vec<String>), Failed> {
    let integration = match &server.integration {
        Some(alias) => configured.integration(alias),
        None => Ok(Vec::new()),
    };
    let integration = integration.map_err(|why| reasoned("tool_failed", why, None))?;
    let given = with(given, &integration);
    let text = |template: &Template| -> Result<Value, Failed> {
        let filled = fill(template, given.values(), strict).map_err(|error| failed(&error))?;
        Ok(Value::String(filled.0))
    };
    // An unfilled block names no program and no address.
    let whole = |key: &str, template: &Template| -> Result<Value, Failed> {
        let named = |why: &str| format!("`{key}` of the server `{}` {why}", server.name);
        let filled = fill(template, given.values(), true).map_err(|error| Failed {
            message: named(&format!("cannot be filled: {}", error.message)),
            ..failed(&error)
        })?;
        if filled.0.trim().is_empty() {
            let why = named(&format!(
                "is empty: `{}` came to nothing",
                template.source().trim()
            ));
            return Err(reasoned("template_error", why, None));
        }
        Ok(Value::String(filled.0))
    };
    let pairs = |pairs: &[(String, Template)]| -> Result<Map<String, Value>, Failed> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| Ok((name.clone(), text(value)?)))
            .collect()
    };
    let mut written = Map::new();
    match &server.start {
        ServerStart::Configured(id) => {
            let found = configured.server(id).ok_or_else(|| {
                let why = format!("the configuration has no `[mcp_servers.{id}]`");
                reasoned("tool_failed", why, None)
            })?;
            if matches!(found.start, ServerStart::Configured(_)) {
                let why = format!("`[mcp_servers.{id}]` names another server");
                return Err(reasoned("tool_failed", why, None));
            }
            let whole = ServerWork {
                name: server.name.clone(),
                tools: server.tools.clone().or_else(|| found.tools.clone()),
                integration: server
                    .integration
                    .clone()
                    .or_else(|| found.integration.clone()),
                ..found
            };
            return asked(configured, &whole, &given, strict);
        }
        ServerStart::Program {
            command,
            arguments,
            env,
        } => {
            written.insert("command".to_owned(), whole("command", command)?);
            let arguments = arguments.iter().map(text);
            written.insert("args".to_owned(), arguments.collect::<Result<_, _>>()?);
            let mut env = pairs(env)?;
            for (name, value) in &integration {
                env.entry(name.clone()).or_insert_with(|| json!(value));
            }
            written.insert("env".to_owned(), Value::Object(env));
        }
        ServerStart::Address {
            url,
            headers,
            token,
            streams,
        } => {
            written.insert("url".to_owned(), whole("url", url)?);
            written.insert("headers".to_owned(), Value::Object(pairs(headers)?));
            if let Some(token) = token {
                written.insert("auth_token".to_owned(), text(token)?);
            }
            if *streams {
                written.insert("type".to_owned(), json!("streamable-http"));
            }
        }
    }
    written.insert("single_usage".to_owned(), json!(server.single_usage));
    let asked = ServerRequest {
        name: server.name.clone(),
        written,
        only: server.tools.clone(),
    };
    Ok((
        asked,
        integration.into_iter().map(|(_, value)| value).collect(),
    ))
}

/// Adds values to the inputs of templates, with lower precedence than the context.
pub(super) fn with(given: &Inputs, values: &[(String, String)]) -> Inputs {
    let mut given = given.clone();
    for (name, value) in values {
        let known = given.beside.entry(name.clone());
        known.or_insert_with(|| json!(value));
    }
    given
}

/// Returns whether a listed tool is the one called `tool`.
pub(super) fn has(served: &Served, server: &str, tool: &str) -> bool {
    served.spec.name == tool
        || served
            .served_as
            .iter()
            .any(|name| name == tool || name.strip_suffix(tool).is_some_and(names_server))
        || served.served_as.contains(&format!("{server}__{tool}"))
}

/// Returns whether `rest` is what stands before a tool's own name: `mcp__SERVER__` or `SERVER__`.
///
/// No server's name contains `__`, but that of a tool may.
fn names_server(rest: &str) -> bool {
    let is_server = |rest: &str| {
        rest.strip_suffix("__")
            .is_some_and(|server| !server.is_empty() && !server.contains("__"))
    };
    is_server(rest) || rest.strip_prefix("mcp__").is_some_and(is_server)
}

pub(super) fn nowhere(tool: &str, whose: &str, known: &[Served]) -> Failed {
    let names = known.iter().map(|served| served.spec.name.as_str());
    let near = interlock_expr::nearest::nearest(tool, names.clone());
    let said = match near {
        Some(near) => format!(": did you mean `{near}`?"),
        None if known.is_empty() => ", which is down or has no tools".to_owned(),
        None => {
            let names: Vec<String> = names.take(30).map(|name| format!("`{name}`")).collect();
            format!(": it has {}", names.join(", "))
        }
    };
    reasoned(
        UNDEFINED,
        format!("there is no tool `{tool}` of {whose}{said}"),
        None,
    )
}

#[cfg(test)]
mod tests {
    use interlock_models::ToolSpec;

    use super::*;

    /// Returns a tool as its server lists it, under `name`.
    fn served(name: &str, server: &str, tool: &str) -> Served {
        Served {
            spec: ToolSpec {
                name: name.to_owned(),
                description: String::new(),
                schema: json!({}),
            },
            served_as: vec![
                format!("mcp__{server}__{tool}"),
                format!("{server}__{tool}"),
            ],
        }
    }

    #[test]
    fn a_tool_is_meant_by_its_whole_name_and_not_by_its_end() {
        let plain = served("list", "tracker", "list");
        let prefixed = served("tracker__list", "tracker", "list");
        let long = served("drop__list", "tracker", "drop__list");
        let of_mcp = served("mcp__list", "mcp", "list");
        for (served, tool, wanted) in [
            (&plain, "list", true),
            (&plain, "tracker__list", true),
            (&plain, "mcp__tracker__list", true),
            (&plain, "ist", false),
            (&plain, "", false),
            (&prefixed, "list", true),
            (&long, "drop__list", true),
            (&long, "tracker__drop__list", true),
            (&long, "list", false),
            (&of_mcp, "list", true),
            (&of_mcp, "mcp__mcp__list", true),
        ] {
            assert_eq!(has(served, "", tool), wanted, "{} {tool}", served.spec.name);
        }
    }
}
