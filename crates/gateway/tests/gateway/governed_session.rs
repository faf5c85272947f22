//! A session of the gateway, used like the protocol layer does.

use std::fs;

use crate::gateway::world::{NOW, World, object};
use interlock_core::{
    command::{CommandKind, TransitionRequest},
    event::Event,
    machine::Object,
    names::RunId,
};
use interlock_gateway::govern::{
    CallDecision, CallEnd, Caller, GatewayCall, Governor, Instead, ListedTool, OwnCall, Reading,
    ReadingOf, SessionPolicy as _, Ticket,
};
use interlock_project::{Config, Servers};
use serde_json::{Value, json, value::RawValue};

pub(crate) const WORK: &str = r#"
id: w
initial: planning
interrupts: {schema: {trigger: {file_pattern: "*.sql"}, target: checking}}
states:
  planning:
    allowed_tools: [look, "fs__read_text_file", "mcp__fs__list_*"]
    on: {READY: building}
  building:
    allowed_tools: [look, write_file, move_file]
    max_files_per_state: 2
    max_edit_lines: 3
    on: {DONE: completed}
  checking: {on: {OK: $return}}
  completed: {type: final}
"#;
/// A session of the gateway.
pub(crate) struct Session {
    pub(crate) governor: Governor,
    pub(crate) definition: Value,
}

impl Session {
    pub(crate) fn new(world: &World) -> Self {
        Self::of(world, Caller::Stdio, "")
    }

    pub(crate) fn of(world: &World, who: Caller, servers: &str) -> Self {
        let servers = servers_of(world, servers);
        Self {
            governor: Governor::new(world.settings(), who, &servers).unwrap(),
            definition: json!({"name": "x", "description": "d", "inputSchema": {"type": "object"}}),
        }
    }

    pub(crate) fn call(&mut self, server: &str, tool: &str, arguments: &Value) -> CallDecision {
        self.resumed(server, tool, arguments, None)
    }

    pub(crate) fn resumed(
        &mut self,
        server: &str,
        tool: &str,
        arguments: &Value,
        state: Option<&Value>,
    ) -> CallDecision {
        self.with_input(server, tool, arguments, (state, state.is_some()))
    }

    /// Makes a call that may contain the input that a server requested, and the server's opaque state.
    pub(crate) fn with_input(
        &mut self,
        server: &str,
        tool: &str,
        arguments: &Value,
        (state, answers_input): (Option<&Value>, bool),
    ) -> CallDecision {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        self.governor.call(&GatewayCall {
            tool: ListedTool {
                server,
                name: tool,
                shown: tool,
                definition: &self.definition,
            },
            arguments: &arguments,
            meta: None,
            request_state: state,
            answers_input,
            at_ms: NOW + 10,
        })
    }

    /// Makes a call without arguments, with the client's `_meta`.
    pub(crate) fn told(&mut self, server: &str, tool: &str, meta: Option<&Object>) -> CallDecision {
        self.governor.call(&GatewayCall {
            tool: ListedTool {
                server,
                name: tool,
                shown: tool,
                definition: &self.definition,
            },
            arguments: &Object::new(),
            meta,
            request_state: None,
            answers_input: false,
            at_ms: NOW + 10,
        })
    }

    /// Makes a call that must pass.
    #[track_caller]
    pub(crate) fn passes(&mut self, server: &str, tool: &str, arguments: &Value) -> Ticket {
        match self.call(server, tool, arguments) {
            CallDecision::Pass(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    /// Makes a call that must be denied; returns the code and the text.
    #[track_caller]
    pub(crate) fn denied(
        &mut self,
        server: &str,
        tool: &str,
        arguments: &Value,
    ) -> (String, String) {
        denial(self.call(server, tool, arguments))
    }

    pub(crate) fn ended(&mut self, ticket: &Ticket, result: &Value) -> Option<Value> {
        self.ended_as(ticket, result.to_string())
    }

    /// Ends a call with a result as its server wrote it.
    pub(crate) fn ended_as(&mut self, ticket: &Ticket, result: String) -> Option<Value> {
        let text = RawValue::from_string(result).unwrap();
        let instead = self
            .governor
            .ended(ticket, CallEnd::Result(&text), NOW + 20)?;
        match instead {
            Instead::Result(result) => Some(result),
            Instead::Error(error) => panic!("{error}"),
        }
    }

    /// Ends a call with a JSON-RPC error; returns the error that the client gets instead.
    pub(crate) fn failed(&mut self, ticket: &Ticket, error: &Value) -> Option<Value> {
        let text = RawValue::from_string(error.to_string()).unwrap();
        let instead = self
            .governor
            .ended(ticket, CallEnd::Error(&text), NOW + 20)?;
        match instead {
            Instead::Error(error) => Some(error),
            Instead::Result(result) => panic!("{result}"),
        }
    }

    pub(crate) fn own(&mut self, name: &str, arguments: &str) -> Value {
        let arguments = object(arguments);
        let call = OwnCall {
            arguments: &arguments,
            meta: None,
            at_ms: NOW + 15,
        };
        match self.governor.own_call(name, &call) {
            Some(CallDecision::Answer(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn shown(&mut self, tools: &[(&str, &str)]) -> Vec<bool> {
        let definition = self.definition.clone();
        let tools: Vec<ListedTool<'_>> = tools
            .iter()
            .map(|(server, name)| ListedTool {
                server,
                name,
                shown: name,
                definition: &definition,
            })
            .collect();
        self.governor.shown(&tools)
    }

    pub(crate) fn reads(&mut self, of: ReadingOf<'_>) -> Option<String> {
        let reading = Reading {
            server: "fs",
            of,
            at_ms: NOW,
        };
        let refused = self.governor.read(&reading)?;
        Some(refused.data["code"].as_str().unwrap_or_default().to_owned())
    }
}

pub(crate) fn servers_of(world: &World, text: &str) -> Servers {
    let path = world.configuration.join("servers.toml");
    fs::create_dir_all(&world.configuration).unwrap();
    fs::write(&path, text).unwrap();
    let config = Config::read(&path).unwrap();
    Config::servers(&Config::default(), &config)
}

/// Splits a denial, which must be a result that a client can show, into code and text.
#[track_caller]
pub(crate) fn denial(ruling: CallDecision) -> (String, String) {
    let CallDecision::Answer(answer) = ruling else {
        panic!("{ruling:?}");
    };
    assert_eq!(answer["isError"], true, "{answer}");
    assert_eq!(answer["content"].as_array().map(Vec::len), Some(1));
    let text = answer["content"][0]["text"].as_str().unwrap().to_owned();
    let code = answer["structuredContent"]["code"].as_str().unwrap();
    assert!(text.contains(code), "{text}");
    (code.to_owned(), text)
}

pub(crate) fn said(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Starts the workflow `w`, waiting for the next session.
pub(crate) fn started(world: &World) -> RunId {
    let answer = Session::new(world).own("interlock_start", r#"{"workflow": "w"}"#);
    let run = answer["structuredContent"]["run"].as_str();
    RunId::new(run.unwrap_or_else(|| panic!("{answer}")))
}

pub(crate) fn transition(world: &World, run: &RunId, event: &str) {
    world.ask(
        run,
        CommandKind::Transition(TransitionRequest {
            event: event.to_owned(),
            data: Object::new(),
            branch: None,
            agent: None,
            by: "ana".to_owned(),
            approved_by: None,
        }),
    );
}

pub(crate) fn names(world: &World, run: &RunId) -> Vec<&'static str> {
    world.events(run).iter().map(Event::name).collect()
}
