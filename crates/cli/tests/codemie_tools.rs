//! Tools of CodeMie files through the built program: real servers, real files, secret values.

mod again;
mod chosen;
mod far;
mod hostile;
mod late;
mod names;
mod records;

use std::{fs, path::PathBuf};

use interlock_testkit::{
    processes, programs,
    provider::{Reply, Script, call, text},
};
use serde_json::{Value, json};

use crate::stages::place::{self, INTERLOCK, Place, Said, wait_until};

/// Returns a step that gives `text` as the result of a call.
fn says(text: &str) -> Value {
    json!([{"result": {"content": [{"type": "text", "text": text}]}}])
}

fn script() -> PathBuf {
    programs::built("interlock-testkit", "mcp-script", INTERLOCK).unwrap()
}

/// Returns a project with a workflow whose models send `replies`, one after the other.
fn made(workflow: &Value, replies: Vec<Reply>) -> Place {
    let script = Script::replies(replies);
    Place::new("anthropic", &workflow.to_string(), script)
}

fn configure(place: &Place, text: &str) {
    let path = place.room.config().join("interlock/config.toml");
    let known = fs::read_to_string(&path).unwrap();
    fs::write(path, format!("{known}{text}")).unwrap();
}

/// Replaces the workflow.
fn write(place: &Place, workflow: &Value) {
    let path = ".interlock/workflows/flow.yaml";
    place.room.write(path, &workflow.to_string()).unwrap();
}

/// Returns an MCP server for a workflow; its argument marks its process with the project.
fn server(name: &str, place: &str) -> Value {
    let tools = json!([
        {"name": "look", "description": "Looks.", "inputSchema": {"type": "object", "properties": {
            "steps": {"type": "array"}, "n": {"type": "integer"},
        }}},
        {"name": "hidden", "description": "Hides.", "inputSchema": {"type": "object"}},
    ]);
    let settings = json!({"tools": tools, "marked": place});
    json!({"name": name, "config": {"command": script(), "args": [settings.to_string()]}})
}

fn run(place: &Place, input: &str) -> Said {
    place.call(&["run", "flow", input, "--headless"])
}

fn all_ended(place: &Place) {
    let word = place.project().display().to_string();
    wait_until("the servers to end", || {
        processes::with_word(&word).is_empty()
    });
}

/// Returns a workflow of one tool state after a state that copies the input's keys into the context.
fn of_tool(tool: Value) -> Value {
    let mut tool = tool;
    tool["id"] = json!("t");
    json!({
        "tools": [tool],
        "states": [{"id": "only", "tool_id": "t", "next": {"state_id": "end"}}],
    })
}

#[test]
fn a_tool_state_calls_the_server_that_it_brings_along() {
    let place = made(&json!({"states": []}), Vec::new());
    let mark = place.project().display().to_string();
    let workflow = of_tool(json!({
        "tool": "look", "mcp_server": server("my zoo", &mark),
        "tool_args": {"steps": says("{\"found\": {\"n\": 3}}"), "n": "{{ count }}"},
        "tool_result_json_pointer": "/found/n",
    }));
    write(&place, &workflow);
    let said = run(&place, "{\"count\": \"7\"}").ended(0);
    assert_eq!(said.out.trim(), "3");
    all_ended(&place);
}

#[test]
fn a_tool_that_the_server_lacks_is_named() {
    let place = made(&json!({"states": []}), Vec::new());
    let mark = place.project().display().to_string();
    let tool = json!({"tool": "lok", "mcp_server": server("zoo", &mark), "tool_args": {"n": 1}});
    write(&place, &of_tool(tool));
    run(&place, "go")
        .ended(1)
        .says(&["no tool `lok`", "did you mean `look`?"]);
    all_ended(&place);
}

#[test]
fn servers_of_the_configuration_are_found_by_name() {
    for name in ["zoo/look", "look"] {
        let tool = json!({"tool": name, "tool_args": {"steps": says("seen")}});
        let place = made(&of_tool(tool), Vec::new());
        let mark = place.project().display().to_string();
        let settings = server("zoo", &mark)["config"]["args"][0]
            .as_str()
            .unwrap()
            .to_owned();
        let text = format!(
            "[mcp_servers.zoo]\ncommand = {:?}\nargs = ['''{settings}''']\n",
            script()
        );
        configure(&place, &text);
        let said = run(&place, "go").ended(0);
        assert_eq!(said.out.trim(), "seen", "{name}");
        all_ended(&place);
    }
}

#[test]
fn an_id_that_the_configuration_lacks_is_an_error_that_names_its_table() {
    let tool = json!({"tool": "http_request", "integration_alias": "api", "tool_args": {"url": "http://x"}});
    let place = made(&of_tool(tool), Vec::new());
    run(&place, "go").ended(1).says(&["[integrations.api]"]);
}

#[test]
fn values_of_an_integration_are_in_no_log() {
    let tool = json!({
        "tool": "bash", "integration_alias": "api",
        "tool_args": {"command": "echo \"$TOKEN is {{ what }}\""},
    });
    let place = made(&of_tool(tool), Vec::new());
    configure(
        &place,
        "[integrations.api]\nenv = { TOKEN = 'very-secret-value' }\n",
    );
    let said = run(&place, "{\"what\": \"it\"}").ended(0);
    assert_eq!(said.out.trim(), "[secret] is it");
    let log = place.call(&["log", "--json"]).ended(0);
    assert!(!log.out.contains("very-secret-value"), "{}", log.out);
}

#[test]
fn an_assistant_has_the_tools_of_its_own_server_and_no_others() {
    let place = made(
        &json!({"states": []}),
        vec![
            Reply::say(vec![
                call("look", json!({"steps": says("seen it")})),
                call("hidden", json!({})),
                call("read_file", json!({"path": "src/auth.rs"})),
                call("write_file", json!({"path": "x", "content": "x"})),
            ]),
            Reply::say(vec![text("{\"done\": true}")]),
            Reply::say(vec![text("other")]),
        ],
    );
    let mark = place.project().display().to_string();
    let mut zoo = server("zoo", &mark);
    zoo["tools"] = json!(["look"]);
    let workflow = json!({
        "assistants": [
            {"id": "a", "system_prompt": "Look.", "tools": [{"name": "read_file"}], "mcp_servers": [zoo]},
            {"id": "b", "system_prompt": "Rest."},
        ],
        "states": [
            {"id": "one", "assistant_id": "a", "task": "Go.", "next": {"state_id": "two"}},
            {"id": "two", "assistant_id": "b", "task": "Go on.", "next": {"state_id": "end"}},
        ],
    });
    write(&place, &workflow);
    run(&place, "go").ended(0);
    let asked = place.provider.asked();
    let names = |number: usize| -> Vec<String> {
        let tools = asked[number].body["tools"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    };
    assert_eq!(names(0), ["read_file", "look"]);
    assert_eq!(names(2), Vec::<String>::new());
    let results = asked[1].body.to_string();
    for words in ["seen it", "pub fn check"] {
        assert!(results.contains(words), "no `{words}` in {results}");
    }
    assert!(!place.project().join("x").exists());
    all_ended(&place);
}

#[test]
fn an_assistant_looks_things_up_in_its_own_datasources() {
    let workflow = json!({
        "assistants": [{"id": "a", "system_prompt": "Look.", "datasource_ids": ["handbook"]}],
        "states": [{"id": "one", "assistant_id": "a", "task": "Go.", "next": {"state_id": "end"}}],
    });
    let place = made(
        &workflow,
        vec![
            Reply::say(vec![
                call("search_knowledge_base", json!({"query": "holidays"})),
                call("get_document_by_id", json!({"id": "secrets:a.md"})),
            ]),
            Reply::say(vec![text("thirty")]),
        ],
    );
    for (name, words) in [
        ("handbook", "holidays are thirty"),
        ("secrets", "holidays are none"),
    ] {
        let folder = place.room.config().join("interlock").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.md"), words).unwrap();
        configure(&place, &format!("[datasources.{name}]\npath = '{name}'\n"));
    }
    let said = run(&place, "go").ended(0);
    assert_eq!(said.out.trim(), "thirty");
    let results = place.provider.asked()[1].body.to_string();
    assert!(results.contains("holidays are thirty"), "{results}");
    assert!(!results.contains("holidays are none"), "{results}");
}

#[test]
fn an_assistant_of_the_configuration_is_the_base() {
    let workflow = json!({
        "assistants": [{"id": "a", "assistant_id": "reviewer", "skill_ids": ["tone"]}],
        "states": [{"id": "one", "assistant_id": "a", "task": "Go.", "next": {"state_id": "end"}}],
    });
    let place = made(&workflow, vec![Reply::say(vec![text("done")])]);
    place
        .room
        .write(
            ".interlock/assistants/reviewer.yaml",
            "system_prompt: You review.\n",
        )
        .unwrap();
    place
        .room
        .write("tone.md", "Be kind: {{ as it is }}.")
        .unwrap();
    place
        .room
        .write(
            ".interlock/config.toml",
            "[skills.tone]\npath = 'tone.md'\n",
        )
        .unwrap();
    run(&place, "go").ended(0);
    let body = place.provider.asked()[0].body.to_string();
    assert!(
        body.contains("You review.") && body.contains("Be kind: {{ as it is }}."),
        "{body}"
    );
}

#[test]
fn nodes_work_together() {
    let workflow = json!({
        "custom_nodes": [
            {"id": "split", "custom_node_id": "transform_node", "config": {"mappings": [
                {"output_field": "names", "type": "array_map", "source_path": "people", "item_field": "name"},
            ]}},
            {"id": "sum", "custom_node_id": "state_processor_node", "config": {
                "state_id": "greet", "output_template": "{% for item in items %}{{ item.result }};{% endfor %}",
            }},
            {"id": "tree", "custom_node_id": "generate_documents_tree", "config": {"datasource_id": "code"}},
        ],
        "tools": [{"id": "say", "tool": "bash", "tool_args": {"command": "printf 'hello %s' {{ task }}"}}],
        "states": [
            {"id": "one", "custom_node_id": "split", "next": {"state_id": "greet", "iter_key": "names"}},
            {"id": "greet", "tool_id": "say", "next": {"state_id": "list"}},
            {"id": "list", "custom_node_id": "tree", "next": {"state_id": "all"}},
            {"id": "all", "custom_node_id": "sum", "next": {"state_id": "end"}},
        ],
    });
    let place = made(&workflow, Vec::new());
    place
        .room
        .write(
            ".interlock/config.toml",
            "[datasources.code]\npath = 'src'\n",
        )
        .unwrap();
    let said = run(
        &place,
        "{\"people\": [{\"name\": \"ana\"}, {\"name\": \"bob\"}]}",
    )
    .ended(0);
    assert_eq!(said.out.trim(), "hello ana;hello bob;");
    let events = place.events();
    let listed = events.iter().find_map(|event| {
        let output = event["output"].as_str()?;
        output.contains("documents_tree").then(|| output.to_owned())
    });
    assert!(listed.unwrap().contains("code:auth.rs"));
}

#[test]
fn a_server_for_single_usage_is_fresh_each_call() {
    let place = made(&json!({"states": []}), Vec::new());
    let mark = place.project().display().to_string();
    let pids = |single: bool| {
        let mut zoo = server("zoo", &mark);
        zoo["config"]["single_usage"] = json!(single);
        let workflow = json!({
            "tools": [{
                "id": "t", "tool": "look", "mcp_server": zoo, "tool_args": {"n": 1},
                "tool_result_json_pointer": "/pid",
            }],
            "states": [
                {"id": "a", "tool_id": "t", "next": {"state_id": "b", "output_key": "first"}},
                {"id": "b", "tool_id": "t", "next": {"state_id": "end", "output_key": "second"}},
            ],
        });
        write(&place, &workflow);
        run(&place, "go").ended(0);
        let context = place.status()["context"].clone();
        (context["first"].clone(), context["second"].clone())
    };
    let (first, second) = pids(false);
    assert_eq!(first, second);
    let (first, second) = pids(true);
    assert_ne!(first, second);
    all_ended(&place);
}

#[test]
fn what_a_project_reaches_through_its_configuration_is_asked_about_first() {
    for (table, asked) in [
        ("[mcp_servers.zoo]\ncommand = 'zoo'\n", true),
        ("[integrations.api]\nenv = ['HOME']\n", true),
        ("[datasources.all]\npath = '../..'\n", true),
        ("[skills.out]\npath = '/etc/hostname'\n", true),
        ("[integrations.api]\nenv = { A = 'plain' }\n", false),
        ("[datasources.own]\npath = 'src'\n", false),
        ("[assistants.a]\nsystem_prompt = 'Hi.'\n", false),
    ] {
        let tool = json!({"tool": "list_files", "tool_args": {"path": "src"}});
        let place = made(&of_tool(tool), Vec::new());
        place.room.write(".interlock/config.toml", table).unwrap();
        let said = run(&place, "go");
        let code = if asked { 1 } else { 0 };
        let said = said.ended(code);
        assert_eq!(
            said.err.contains("you have not said that you trust it"),
            asked,
            "{table}"
        );
    }
}

#[test]
fn an_integration_of_an_assistant_s_tool_reaches_that_tool_alone() {
    let workflow = json!({
        "assistants": [{"id": "a", "system_prompt": "Go.", "tools": [
            {"name": "bash", "integration_alias": "api"},
        ]}],
        "states": [{"id": "one", "assistant_id": "a", "task": "Go.", "next": {"state_id": "end"}}],
    });
    let place = made(
        &workflow,
        vec![
            Reply::say(vec![call(
                "bash",
                json!({"command": "echo \"it is $TOKEN\""}),
            )]),
            Reply::say(vec![text("done")]),
        ],
    );
    configure(
        &place,
        "[integrations.api]\nenv = { TOKEN = 'very-secret-value' }\n",
    );
    run(&place, "go").ended(0);
    let told = place.provider.asked()[1].body.to_string();
    assert!(told.contains("it is [secret]"), "{told}");
    assert!(!told.contains("very-secret-value"), "{told}");
}

#[test]
fn a_tool_that_nobody_has_is_found_before_the_first_state() {
    for (state, assistants) in [
        (json!({"tool_id": "t"}), json!([])),
        (
            json!({"assistant_id": "a"}),
            json!([{"id": "a", "system_prompt": "Go.", "tools": [{"name": "zoo/lok"}]}]),
        ),
    ] {
        let mut last = state;
        last["id"] = json!("last");
        last["next"] = json!({"state_id": "end"});
        let workflow = json!({
            "assistants": assistants,
            "tools": [
                {"id": "w", "tool": "write_file", "tool_args": {"path": "wrote", "content": "x"}},
                {"id": "t", "tool": "zoo/lok", "tool_args": {"n": 1}},
            ],
            "states": [{"id": "first", "tool_id": "w", "next": {"state_id": "last"}}, last],
        });
        let place = made(&workflow, Vec::new());
        let mark = place.project().display().to_string();
        let settings = server("zoo", &mark)["config"]["args"][0]
            .as_str()
            .unwrap()
            .to_owned();
        let text = format!(
            "[mcp_servers.zoo]\ncommand = {:?}\nargs = ['''{settings}''']\n",
            script()
        );
        configure(&place, &text);
        run(&place, "go")
            .ended(1)
            .says(&["`last`: there is no tool `zoo/lok`"]);
        assert!(!place.project().join("wrote").exists());
        all_ended(&place);
    }
}
