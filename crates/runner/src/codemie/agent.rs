//! Additions for the model of one state: servers, folders, values.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use interlock_core::{
    call::ToolCall,
    conversation::cut,
    machine::{AgentWork, ServerStart, ServerWork},
    names::CallId,
    place::stage_of,
};
use interlock_nodes::Inputs;
use interlock_process::Cancel;
use interlock_tool_names::server_name;
use interlock_tools::{Arguments, Secrets};

use super::{
    Nodes, Talk,
    chosen::Starting,
    reasoned,
    servers::{asked, not_started},
};
use crate::{
    order::Failed,
    run_context::RunContext,
    stage::{Served, ServedEnd, Servers, StageOrder, Stages},
};

/// Adapts the context of stages to the state of `order`; `None` if the state has nothing of its own.
pub(crate) fn fitted(
    order: &StageOrder,
    context: &RunContext,
    stages: &Stages,
    (talk, path): (&Talk, &str),
    stopped: &dyn Fn() -> bool,
) -> Result<Option<Stages>, Failed> {
    let run = &order.told.run;
    let frame = run.frame(&order.path);
    let found = frame.and_then(|frame| order.machine.agents.get(&frame.at));
    let (Some(agent), Some(nodes)) = (found, context.nodes.as_deref()) else {
        return Ok(None);
    };
    let given = Inputs::of(&order.machine, run, &order.path).unwrap_or_default();
    let mut fitted = stages.clone();
    if !agent.datasources.is_empty() {
        let wanted = |id: &str| agent.datasources.iter().any(|wanted| wanted == id);
        fitted.datasources.retain(|source| wanted(&source.id));
    }
    for (tool, alias) in &agent.integrations {
        let values = nodes.configured.integration(alias);
        let values = values.map_err(|why| reasoned("tool_failed", why, None))?;
        fitted.variables.insert(tool.clone(), values);
    }
    let mut joined = Joined {
        all: Vec::new(),
        run: stages.servers.clone(),
        names: Vec::new(),
    };
    let limit = frame.and_then(|frame| stage_of(&order.machine, frame)?.timeout_ms);
    let began = Instant::now();
    let is_late = || limit.is_some_and(|limit| began.elapsed() >= Duration::from_millis(limit));
    let given_up = || stopped() || is_late();
    let starting = Starting {
        nodes,
        talk,
        people: Some(&stages.people),
        path,
        given_up: &given_up,
    };
    for server in agent.servers.iter().chain(&configured(agent, nodes)) {
        let added = joined.add(&starting, server, &given);
        added.map_err(|failed| match is_late() {
            true => reasoned(
                "timeout",
                format!("the time of the state was over: {}", failed.message),
                None,
            ),
            false => failed,
        })?;
    }
    if !joined.all.is_empty() {
        fitted.servers = Some(Arc::new(joined));
    }
    Ok(Some(fitted))
}

/// Returns the servers of the configuration that may have a tool that the agent lists.
fn configured(agent: &AgentWork, nodes: &Nodes) -> Vec<ServerWork> {
    let wants = |id: &str, server: &ServerWork| {
        agent
            .configured
            .iter()
            .any(|tool| match tool.split_once('/') {
                Some((wanted, _)) => wanted == id || wanted == server.name,
                None => true,
            })
    };
    let all = nodes.configured.servers().into_iter();
    all.filter(|(id, server)| wants(id, server))
        .map(|(id, server)| ServerWork {
            name: id.clone(),
            start: ServerStart::Configured(id),
            ..server
        })
        .collect()
}

/// Servers of one state, followed by those of the run.
///
/// A server of the run with the same name as one of the state is hidden.
struct Joined {
    all: Vec<One>,
    run: Option<Arc<dyn Servers>>,
    /// Prefixes of the tools of the state's own servers.
    names: Vec<String>,
}

struct One {
    servers: Arc<dyn Servers>,
    /// Maximum number of tokens of one result.
    tokens_max: Option<u64>,
    /// Values that no result may show.
    secrets: Secrets,
}

impl Joined {
    fn add(
        &mut self,
        starting: &Starting<'_>,
        server: &ServerWork,
        given: &Inputs,
    ) -> Result<(), Failed> {
        let configured = starting.nodes.configured.as_ref();
        let (asked, secrets) = asked(configured, server, given, false)?;
        let secrets = Secrets::known(secrets);
        starting.check(server, &asked, &secrets)?;
        let started = starting
            .nodes
            .start(&asked, starting.given_up)
            .map_err(|why| {
                let failed = not_started(&why);
                Failed {
                    message: secrets.masked_known(&failed.message).into_owned(),
                    ..failed
                }
            });
        self.names
            .push(format!("mcp__{}__", server_name(&server.name)));
        self.all.push(One {
            servers: started?,
            tokens_max: server.tokens_max,
            secrets,
        });
        Ok(())
    }

    /// Finds the server of a tool; those of the state come first.
    fn whose(&self, tool: &str) -> Option<(&Arc<dyn Servers>, Option<&One>)> {
        let own = self
            .all
            .iter()
            .find(|one| one.servers.known(tool).is_some());
        let own = own.map(|one| (&one.servers, Some(one)));
        own.or_else(|| {
            let run = self.run.as_ref()?;
            let known = run.known(tool)?;
            (!self.is_hidden(&known)).then_some((run, None))
        })
    }

    /// Returns whether a server of the state hides a tool of the run's servers.
    fn is_hidden(&self, served: &Served) -> bool {
        let own = |name: &String| self.names.iter().any(|own| name.starts_with(own));
        served.served_as.iter().any(own)
    }
}

impl Servers for Joined {
    fn tools(&self) -> Vec<Served> {
        let own = self.all.iter().flat_map(|one| one.servers.tools());
        let of_run = self.run.iter().flat_map(|servers| servers.tools());
        let of_run = of_run.filter(|served| !self.is_hidden(served));
        let mut listed: Vec<Served> = Vec::new();
        for served in own.chain(of_run) {
            // Of two tools with the same name, the first is called.
            if listed
                .iter()
                .all(|known| known.spec.name != served.spec.name)
            {
                listed.push(served);
            }
        }
        listed
    }

    fn known(&self, tool: &str) -> Option<Served> {
        self.whose(tool)?.0.known(tool)
    }

    fn proposed(&self, id: CallId, tool: &str, arguments: &Arguments) -> ToolCall {
        match self.whose(tool) {
            Some((servers, _)) => servers.proposed(id, tool, arguments),
            None => crate::stage::unknown(id, tool),
        }
    }

    fn call(&self, tool: &str, arguments: &Arguments, cancel: &Cancel) -> ServedEnd {
        let Some((servers, one)) = self.whose(tool) else {
            return ServedEnd {
                ok: false,
                code: Some("unknown_tool".to_owned()),
                text: "the tool is not there any more".to_owned(),
                passing: false,
            };
        };
        let mut end = servers.call(tool, arguments, cancel);
        if let Some(one) = one {
            end.text = one.secrets.masked_known(&end.text).into_owned();
            if let Some(max) = one.tokens_max {
                end.text = cut(end.text, max);
            }
        }
        end
    }
}
