//! Settings of others, and files shared by several clients.

use std::fs;

use interlock_clients::{
    ClientId,
    install::{Request, Scope, apply, hook_file, plan},
};
use serde_json::{Value, json};

use crate::install::place::{Project, text};

#[test]
fn several_clients_are_changed_all_or_none() {
    let project = Project::new();
    fs::create_dir_all(project.site().project_root.join(".cursor")).unwrap();
    let broken = hook_file(ClientId::Cursor, &project.site(), Scope::Project);
    fs::write(&broken, "{\n  \"version\": 1,\n  oops\n}\n").unwrap();
    let clients = ClientId::ALL.map(|(_, client)| client);
    let request = Request {
        clients: &clients,
        scope: Scope::Project,
        remove: false,
        floor: None,
        trust: false,
    };
    let before = project.files();
    let said = plan(&project.site(), &request).unwrap_err().to_string();
    assert!(said.contains("hooks.json:3:3`: not JSON"), "{said}");
    assert_eq!(project.files(), before);

    fs::remove_file(&broken).unwrap();
    let planned = plan(&project.site(), &request).unwrap();
    // The last file cannot be written, because a directory is in its place.
    let last = &planned.changes.last().unwrap().path;
    fs::create_dir_all(last.join("x")).unwrap();
    assert!(apply(&planned).is_err());
    fs::remove_dir_all(last).unwrap();
    assert_eq!(project.files().len(), 0);
    apply(&planned).unwrap();
    assert_eq!(plan(&project.site(), &request).unwrap().changes, []);
    let gone = Request {
        remove: true,
        ..request
    };
    apply(&plan(&project.site(), &gone).unwrap()).unwrap();
    assert_eq!(project.files().len(), 0);
}

#[test]
fn a_server_that_another_client_reads_stays() {
    let project = Project::new();
    let clients = [ClientId::ClaudeCode, ClientId::Copilot];
    let request = |clients, remove| Request {
        clients,
        scope: Scope::Project,
        remove,
        floor: None,
        trust: false,
    };
    let site = project.site();
    apply(&plan(&site, &request(&clients, false)).unwrap()).unwrap();
    apply(&plan(&site, &request(&clients[1..], true)).unwrap()).unwrap();
    assert!(text(&project.servers()).unwrap().contains("gateway"));
    assert!(!hook_file(ClientId::Copilot, &site, Scope::Project).exists());
    project.remove();
    assert_eq!(project.files().len(), 0);
}

#[test]
fn removing_leaves_what_others_wrote() {
    let before = "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"a\" }] }\n    ]\n  }\n}\n";
    let project = Project::with(before);
    project.install();
    // Somebody appends to the written settings.
    let mut with: Value = serde_json::from_str(&text(&project.settings()).unwrap()).unwrap();
    let groups = with
        .pointer_mut("/hooks/Stop")
        .unwrap()
        .as_array_mut()
        .unwrap();
    groups.push(json!({ "hooks": [{ "type": "command", "command": "b" }] }));
    with["hooks"]["PreToolUse"][0]["hooks"]
        .as_array_mut()
        .unwrap()
        .insert(
            0,
            json!({ "type": "command", "command": "interlock-lint hook claude-code" }),
        );
    fs::write(
        project.settings(),
        serde_json::to_string_pretty(&with).unwrap(),
    )
    .unwrap();
    project.remove();
    let left: Value = serde_json::from_str(&text(&project.settings()).unwrap()).unwrap();
    assert_eq!(
        left,
        json!({ "hooks": {
            "Stop": [
                { "hooks": [{ "type": "command", "command": "a" }] },
                { "hooks": [{ "type": "command", "command": "b" }] },
            ],
            "PreToolUse": [
                { "hooks": [{ "type": "command", "command": "interlock-lint hook claude-code" }] },
            ],
        } })
    );
}

#[test]
fn a_server_of_the_same_name_that_is_not_ours_is_not_replaced() {
    let project = Project::new();
    let theirs = "{\"mcpServers\":{\"interlock\":{\"url\":\"http://x\"}}}";
    fs::write(project.servers(), theirs).unwrap();
    let said = project.refusal().to_string();
    assert!(
        said.contains(":1:28`: `mcpServers.interlock` is another server"),
        "{said}"
    );
    project.remove();
    assert_eq!(text(&project.servers()).as_deref(), Some(theirs));
}

#[test]
fn a_file_of_a_person_that_has_our_name_is_neither_replaced_nor_taken_away() {
    let project = Project::of(ClientId::Opencode);
    let plugin = project.settings();
    fs::create_dir_all(plugin.parent().unwrap()).unwrap();
    let theirs = "// mine\nexport const Mine = async () => ({})\n";
    fs::write(&plugin, theirs).unwrap();
    let said = project.refusal().to_string();
    assert!(
        said.contains("somebody else's file has this name"),
        "{said}"
    );
    project.remove();
    assert_eq!(text(&plugin).as_deref(), Some(theirs));
    fs::remove_file(&plugin).unwrap();
    project.install();
    assert!(plugin.exists());
    project.remove();
    assert!(!plugin.exists());
}

#[test]
fn all_tables_of_our_server_go_with_it_and_no_other() {
    let project = Project::of(ClientId::Codex);
    let path = project.servers();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    apply(&project.ask(false).unwrap()).unwrap();
    let ours = fs::read_to_string(&path).unwrap();
    let below = "\n[mcp_servers.interlock.env]\nA = \"1\"\n\n[mcp_servers.interlock.tools.x]\napproval_mode = \"approve\"\n";
    let others = "model = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n\n[mcp_servers.other.env]\nA = \"1\"\n";
    for text in [
        format!("{others}\n{ours}{below}"),
        format!(
            "model = \"x\"\n{below}\n{ours}\n{}",
            others.trim_start_matches("model = \"x\"\n\n")
        ),
    ] {
        fs::write(&path, &text).unwrap();
        apply(&project.ask(true).unwrap()).unwrap();
        let left = fs::read_to_string(&path).unwrap();
        assert!(!left.contains("interlock"), "{text}\n---\n{left}");
        assert_eq!(left.trim_end(), others.trim_end(), "{text}");
    }
}
