//! Tool states: from the name of a tool to the output of the state.

use interlock_confine::{AllowedLine, plan};
use interlock_core::{
    call::ToolCall, confinement_at, conversation::cut, event::Passing, judge_written, names::CallId,
};
use interlock_facts::RealDisk;
use interlock_nodes::{
    Inputs, NodeOutput, ToolWork,
    tool::{ARGUMENTS, arguments, output},
};
use interlock_sandbox::{Level, Plan};
use interlock_tools::{ArgumentError, Arguments, Carrier, Code, Seen, Tool, ToolContext, ToolEnd};
use serde_json::Value;

use super::{CANCELLED, Nodes, Worked, failed, reasoned, servers::Found};
use crate::{carry::mark, order::Failed, run_context::EFFECT_VARIABLE};

/// Code of a tool that failed.
const FAILED: &str = "tool_failed";
/// Maximum size of a result in bytes.
const RESULT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The executor of a call.
enum Whose {
    Own(Tool),
    Server(Found),
}

impl Whose {
    fn schema(&self) -> &Value {
        match self {
            Self::Own(tool) => tool.schema(),
            Self::Server(found) => &found.served.spec.schema,
        }
    }
}

impl Worked<'_> {
    /// Runs the tool of a state.
    pub(super) fn tool(&mut self) -> Result<NodeOutput, Failed> {
        let work: ToolWork = self.input()?;
        let integration = match &work.integration {
            Some(alias) => self.nodes()?.configured.integration(alias),
            None => Ok(Vec::new()),
        };
        let integration = integration.map_err(|why| reasoned(FAILED, why, None))?;
        let values = integration.iter().map(|(_, value)| value.clone());
        self.secrets.extend(values);
        let whose = self.whose(&work)?;
        let given = super::servers::with(&self.given, &integration);
        let made = arguments(&work, whose.schema(), &given).map_err(|error| failed(&error))?;
        let call = Arguments::of(made.output).map_err(|fault| misfit(&work.tool, &[fault]))?;
        let faults = call.faults(whose.schema());
        if !faults.is_empty() {
            return Err(misfit(&work.tool, &faults));
        }
        let result = self.call(&whose, &call, &integration)?;
        let mut ended = self.output(&work, &whose, &result, &given)?;
        ended.warnings.splice(0..0, made.warnings);
        Ok(ended)
    }

    fn whose(&mut self, work: &ToolWork) -> Result<Whose, Failed> {
        if let Some(server) = &work.server {
            let found = self.tool_of_own(&work.tool, server, work.strict)?;
            return Ok(Whose::Server(found));
        }
        if let Some(tool) = Tool::named(&Tool::CODEMIE, &work.tool) {
            return Ok(Whose::Own(tool));
        }
        self.tool_of_configuration(&work.tool).map(Whose::Server)
    }

    /// Executes the call; returns its result.
    fn call(
        &self,
        whose: &Whose,
        call: &Arguments,
        integration: &[(String, String)],
    ) -> Result<String, Failed> {
        let nodes = self.nodes()?;
        let id = CallId::new(mark(&self.order.id, self.order.attempt));
        let proposed = match whose {
            Whose::Own(tool) => tool.proposed(id, call, &nodes.place, &RealDisk),
            Whose::Server(found) => found.servers.proposed(id, &found.served.spec.name, call),
        };
        let (machine, run) = (&self.node.machine, &self.node.run);
        judge_written(machine, run, &proposed, &self.node.path).map_err(|refusal| {
            let why = format!("{} ({})", refusal.message, refusal.code.as_str());
            reasoned(FAILED, why, None)
        })?;
        match whose {
            Whose::Own(tool) => {
                let end = self.carry(nodes, *tool, call, &proposed, integration);
                told(*tool, end)
            }
            Whose::Server(found) => {
                let end = found
                    .servers
                    .call(&found.served.spec.name, call, self.cancel);
                match (end.ok, end.code.as_deref()) {
                    (true, _) => Ok(end.text),
                    (false, Some("cancelled")) => Err(Failed::new(CANCELLED, end.text)),
                    (false, _) => Err(reasoned(
                        FAILED,
                        format!("`{}` failed: {}", found.served.spec.name, end.text),
                        end.passing.then(Passing::default),
                    )),
                }
            }
        }
    }

    fn carry(
        &self,
        nodes: &Nodes,
        tool: Tool,
        call: &Arguments,
        proposed: &ToolCall,
        integration: &[(String, String)],
    ) -> ToolEnd {
        let plan = self.plan(nodes, tool, call, proposed);
        let carrier = plan.as_ref().map(|plan| Carrier {
            program: &nodes.program,
            plan,
            level_max: Level::Full,
        });
        let mark = mark(&self.order.id, self.order.attempt);
        let mut environment = integration.to_vec();
        environment.push((EFFECT_VARIABLE.to_owned(), mark));
        tool.run(
            call,
            &ToolContext {
                call_context: &nodes.place,
                facts: &proposed.facts,
                seen: &Seen::new(),
                cancel: self.cancel,
                carrier,
                datasources: &nodes.datasources,
                environment: &environment,
                result_bytes_max: RESULT_BYTES_MAX,
                progress: None,
            },
        )
    }

    /// Creates the sandbox plan of a shell line; `None` if the call is not one.
    fn plan(
        &self,
        nodes: &Nodes,
        tool: Tool,
        call: &Arguments,
        proposed: &ToolCall,
    ) -> Option<Plan> {
        let facts = proposed.facts.shell.as_ref()?;
        let (machine, run) = (&self.node.machine, &self.node.run);
        let confinement = confinement_at(machine, run, proposed, &self.node.path)?;
        let line = AllowedLine {
            text: call.value().get("command").and_then(Value::as_str)?,
            directory: &tool.line_starts_at(call, &nodes.place, &RealDisk),
            facts,
            confinement: &confinement,
            machine,
            context: &nodes.place,
            decided: &nodes.decided,
        };
        Some(plan(&line, &RealDisk))
    }

    fn output(
        &self,
        work: &ToolWork,
        whose: &Whose,
        result: &str,
        given: &Inputs,
    ) -> Result<NodeOutput, Failed> {
        let made = output(work, result, given).map_err(|error| failed(&error))?;
        let of_server = match whose {
            Whose::Server(found) if work.tokens_max.is_none() => found.tokens_max,
            _ => None,
        };
        Ok(match of_server {
            Some(max) => NodeOutput {
                output: Value::String(cut(made.text(), max)),
                ..made
            },
            None => made,
        })
    }
}

fn misfit(tool: &str, faults: &[ArgumentError]) -> Failed {
    let faults = ArgumentError::sentence(faults);
    reasoned(
        ARGUMENTS,
        format!("the arguments do not match `{tool}`: {faults}"),
        None,
    )
}

/// Describes how a built-in tool ended.
fn told(tool: Tool, end: ToolEnd) -> Result<String, Failed> {
    let Some(code) = end.code else {
        return Ok(end.text);
    };
    if code == Code::Cancelled {
        return Err(Failed::new(CANCELLED, end.text));
    }
    let passing = end.passing().map(|after_ms| Passing { after_ms });
    if code == Code::InvalidArguments {
        return Err(reasoned(ARGUMENTS, end.text, None));
    }
    let why = format!("`{}` failed ({code}): {}", tool.name(), end.text);
    Err(reasoned(FAILED, why, passing))
}
