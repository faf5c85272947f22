//! States that look beyond their own run: at the log of another one, and at the servers of the configuration.

use std::sync::Arc;

use interlock_core::{
    call::{CallFacts, CallKind, ToolCall},
    event::Event,
    machine::{Machine, ServerWork},
    names::{CallId, Digest},
};
use interlock_models::ToolSpec;
use interlock_process::Cancel;
use interlock_project::Environment;
use interlock_runner::{
    Builder, Configured, Halt, Nodes, NotStarted, RunConfig, Served, ServedEnd, ServerRequest,
    Servers,
};
use interlock_tools::Arguments;
use serde_json::{Value, json};

use crate::runs::{
    flow::{Room, into},
    nodes::{failures, node, room, tool},
};

fn constant(value: &str) -> Value {
    json!({"mappings": [{"field": "file", "rule": {"constant": value}}]})
}

/// Carries a run out with the configuration of a state directory.
fn drive_at(room: &Room, environment: Environment) {
    let mut builder = Builder::new(environment, &room.project()).config(RunConfig::default());
    builder.prepare(&room.machine, None).unwrap();
    let mut host = builder.take(room.log(), &room.machine).unwrap();
    assert_eq!(host.drive(&room.machine).unwrap(), Halt::Over);
}

#[test]
fn records_of_another_run_are_those_of_its_log() {
    let other = room(
        json!({}),
        json!({
            "a": node("transform", constant("a.rs"), Some("part-one")),
            "part-one": node("transform", constant("b.rs"), Some("part-all")),
            "part-all": node("transform", constant("c.rs"), None),
        }),
    );
    assert_eq!(other.drive(), Halt::Over);
    let template = "{% for item in items %}{{ item.state_id }} {{ item.file }};{% endfor %}";
    let looking = |run: &str| {
        let work = json!({
            "state": "part-", "statuses": ["succeeded"], "run": "{{ other }}", "output": template,
        });
        let own = room(
            json!({ "other": run }),
            json!({
                "a": node("transform", constant("own"), Some("part-all")),
                "part-all": into(node("state_records", work, None), "out"),
            }),
        );
        let environment = Environment {
            program: Some("interlock".into()),
            ..Environment::at(other.home())
        };
        drive_at(&own, environment);
        own
    };
    // A state of the other run is no part of this one, even under the name of the state that looks.
    let seen = looking(&format!(" {} ", other.run));
    let wanted = json!("part-one b.rs;part-all c.rs;");
    assert_eq!(seen.variable("out"), wanted, "{:?}", failures(&seen));

    let gone = looking("r-gone");
    let failed = failures(&gone);
    assert_eq!(failed[0].0, "node_failed");
    let said = "the run `r-gone` cannot be read: ";
    assert!(failed[0].1.starts_with(said), "{}", failed[0].1);
}

/// A server with these tools, each of which says who was called.
struct Saying {
    name: String,
    tools: &'static [&'static str],
}

impl Servers for Saying {
    fn tools(&self) -> Vec<Served> {
        let tools = self.tools.iter();
        tools.filter_map(|tool| self.known(tool)).collect()
    }

    fn known(&self, tool: &str) -> Option<Served> {
        self.tools.contains(&tool).then(|| Served {
            spec: ToolSpec {
                name: tool.to_owned(),
                description: String::new(),
                schema: json!({"type": "object"}),
            },
            served_as: vec![
                format!("mcp__{}__{tool}", self.name),
                format!("{}__{tool}", self.name),
            ],
        })
    }

    fn proposed(&self, id: CallId, tool: &str, arguments: &Arguments) -> ToolCall {
        ToolCall {
            id,
            tool: tool.to_owned(),
            common: None,
            served_as: vec![format!("{}__{tool}", self.name)],
            foreign: true,
            kind: CallKind::Other,
            digest: Digest::of(arguments.value().to_string()),
            summary: String::new(),
            agent: None,
            branch: None,
            prompts_in: None,
            facts: CallFacts::default(),
        }
    }

    fn call(&self, tool: &str, _: &Arguments, _: &Cancel) -> ServedEnd {
        ServedEnd {
            ok: true,
            code: None,
            text: format!("{tool} of {}", self.name),
            passing: false,
        }
    }
}

/// A configuration with the servers `first` and `second`, and `again`, which names another one.
struct Two;

impl Configured for Two {
    fn start(
        &self,
        asked: &ServerRequest,
        _: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Servers>, NotStarted> {
        Ok(Arc::new(Saying {
            name: asked.written["command"].as_str().unwrap().to_owned(),
            tools: match asked.name.as_str() {
                "first" => &["list", "only"],
                _ => &["list"],
            },
        }))
    }

    fn trusts_project(&self) -> bool {
        true
    }

    fn server(&self, id: &str) -> Option<ServerWork> {
        let start = match id {
            "again" => json!({"configured": "first"}),
            "first" | "second" => {
                json!({"program": {"command": format!("the-{id}"), "arguments": [], "env": []}})
            }
            _ => return None,
        };
        let work = json!({"name": id, "start": start});
        Some(serde_json::from_value(work).unwrap())
    }

    fn servers(&self) -> Vec<(String, ServerWork)> {
        let ids = ["first", "second"].iter();
        ids.map(|id| ((*id).to_owned(), self.server(id).unwrap()))
            .collect()
    }

    fn integration(&self, alias: &str) -> Result<Vec<(String, String)>, String> {
        Err(format!("there is no `{alias}`"))
    }

    fn run(&self, id: &str) -> Result<(Machine, Vec<Event>), String> {
        Err(format!("there is no run `{id}`"))
    }
}

/// Carries out one state with those servers, and with `tracker` of the whole run.
fn drive_with_servers(state: Value) -> Room {
    let room = room(json!({}), json!({ "a": state }));
    let project = room.project();
    let place = interlock_facts::CallContext::of_project(project.to_str().unwrap())
        .resolved(&interlock_facts::RealDisk);
    let decided = interlock_confine::Decided::default();
    let mut nodes = Nodes::new(place, decided, "interlock".into(), Arc::new(Two));
    nodes.servers = Some(Arc::new(Saying {
        name: "tracker".to_owned(),
        tools: &["find_issue"],
    }));
    let mut host = room.host_with(|context| context.nodes = Some(Arc::new(nodes)));
    assert_eq!(host.drive(&room.machine).unwrap(), Halt::Over);
    room
}

#[test]
fn a_tool_that_several_servers_have_is_called_only_by_its_server() {
    for (name, output) in [
        ("first/list", "list of the-first"),
        ("second/list", "list of the-second"),
        ("only", "only of the-first"),
        ("find_issue", "find_issue of tracker"),
        ("tracker/find_issue", "find_issue of tracker"),
    ] {
        let room = drive_with_servers(tool(name, json!({})));
        assert_eq!(room.variable("out"), json!(output), "{name}");
    }
    for (name, said) in [
        ("list", "several MCP servers have a tool `list`"),
        ("second/only", "there is no tool `second/only`"),
        ("tracker/list", "there is no tool `tracker/list`"),
        ("find_isue", "did you mean `find_issue`?"),
    ] {
        let room = drive_with_servers(tool(name, json!({})));
        let failed = failures(&room);
        assert_eq!(failed[0].0, "undefined_tool", "{name}");
        assert!(failed[0].1.contains(said), "{name}: {}", failed[0].1);
    }
}

#[test]
fn a_server_of_the_configuration_is_one_that_it_defines_itself() {
    let of = |id: &str| {
        let server = json!({"name": "mine", "start": {"configured": id}});
        let work = json!({"tool": "list", "arguments": {}, "server": server});
        drive_with_servers(into(node("tool_call", work, None), "out"))
    };
    assert_eq!(of("second").variable("out"), json!("list of the-second"));
    for (id, said) in [
        ("again", "`[mcp_servers.again]` names another server"),
        ("third", "the configuration has no `[mcp_servers.third]`"),
    ] {
        let failed = failures(&of(id));
        assert_eq!(failed, [("tool_failed".to_owned(), said.to_owned())]);
    }
}
