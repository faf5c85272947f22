//! The baseline rules that `init --floor` adds to the clients' own rules.

use std::{collections::BTreeSet, fs, path::Path};

use interlock_clients::{
    ClientId,
    install::{BaselineRules, Plan, Request, Scope, Site, apply, hook_file, plan, server_file},
};
use interlock_formats::{NoWorkflows, Source, load};
use serde_json::{Value, json};

/// Returns the rules of a workflow with these states; each is a JSON object.
fn floor(states: Value) -> BaselineRules {
    let initial = states.as_object().unwrap().keys().next().unwrap().clone();
    let workflow = json!({ "id": "w", "initial": initial, "states": states });
    let loaded = load(
        &Source::new("w.json", workflow.to_string()),
        None,
        &NoWorkflows,
    );
    BaselineRules::of(&loaded.unwrap().machine)
}

/// A workflow that reads, searches, and lists a directory by a shell line.
fn reviewing() -> BaselineRules {
    floor(json!({
        "reading": {
            "allowed_tools": ["Read", "Grep", "Glob", "Bash"],
            "allowed_commands": ["ls", "git log"],
            "on": { "DONE": "end" },
        },
        "end": { "type": "final" },
    }))
}

struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for part in ["project", "home"] {
            fs::create_dir(directory.path().join(part)).unwrap();
        }
        Self { directory }
    }

    fn site(&self) -> Site {
        let below = |part: &str| self.directory.path().join(part);
        Site {
            state: Some(below("home/.local/state/interlock")),
            ..Site::new(
                &below("project"),
                &below("home"),
                Path::new("/opt/interlock"),
            )
        }
    }

    fn ask(
        &self,
        client: ClientId,
        scope: Scope,
        floor: Option<&BaselineRules>,
        remove: bool,
    ) -> Plan {
        let request = Request {
            clients: &[client],
            scope,
            remove,
            floor,
            trust: false,
        };
        plan(&self.site(), &request).unwrap()
    }

    fn put(&self, client: ClientId, scope: Scope, floor: &BaselineRules) {
        apply(&self.ask(client, scope, Some(floor), false)).unwrap();
        let again = self.ask(client, scope, Some(floor), false);
        assert_eq!(again.changes, [], "twice");
        // Without an option about it, the rules are kept.
        assert_eq!(self.ask(client, scope, None, false).changes, []);
    }

    fn json(&self, path: &Path) -> Value {
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }

    fn left(&self) -> usize {
        fs::read_dir(self.site().project_root).unwrap().count()
    }
}

fn texts(list: &Value) -> BTreeSet<&str> {
    let items = list.as_array().unwrap().iter();
    items.map(|item| item.as_str().unwrap()).collect()
}

#[test]
fn claude_code_denies_what_no_state_allows_and_what_guards_interlock() {
    let project = Project::new();
    let client = ClientId::ClaudeCode;
    project.put(client, Scope::Project, &reviewing());
    let path = hook_file(client, &project.site(), Scope::Project);
    let settings = project.json(&path);
    let denied = texts(&settings["permissions"]["deny"]);
    for rule in [
        "Edit",
        "Write",
        "NotebookEdit",
        "WebFetch",
        "WebSearch",
        "Task",
        "Edit(/.interlock/**)",
        "Edit(/.claude/settings.json)",
        "Edit(/.mcp.json)",
        "Edit(~/.local/state/interlock/**)",
    ] {
        assert!(denied.contains(rule), "{rule}: {denied:?}");
    }
    for allowed in ["Read", "Bash"] {
        assert!(!denied.contains(allowed), "{allowed}");
    }
    apply(&project.ask(client, Scope::Project, None, true)).unwrap();
    assert_eq!(project.left(), 0);
}

#[test]
fn what_one_state_allows_is_in_no_floor() {
    let edits_later = floor(json!({
        "reading": { "allowed_tools": ["Read"], "on": { "GO": "writing" } },
        "writing": { "allowed_tools": ["Read", "Write"], "on": { "DONE": "end" } },
        "end": { "type": "final" },
    }));
    // A person may grant a call that is not listed, so the client must not refuse it.
    let asks = floor(json!({
        "reading": { "allowed_tools": ["Read"], "on_denied": "ask", "on": { "DONE": "end" } },
        "end": { "type": "final" },
    }));
    let free = floor(json!({
        "anything": { "on": { "DONE": "end" } },
        "end": { "type": "final" },
    }));
    for (floor, allowed) in [
        // A rule for `Edit` would apply to `Write` as well.
        (edits_later, vec!["Write", "Edit", "Read"]),
        (asks, vec!["Bash", "Edit", "WebFetch"]),
        (
            free,
            vec!["Bash", "Edit", "Write", "Read", "WebFetch", "Task"],
        ),
    ] {
        let project = Project::new();
        project.put(ClientId::ClaudeCode, Scope::Project, &floor);
        let path = hook_file(ClientId::ClaudeCode, &project.site(), Scope::Project);
        let settings = project.json(&path);
        let denied = texts(&settings["permissions"]["deny"]);
        for tool in allowed {
            assert!(!denied.contains(tool), "{tool} in {denied:?}");
        }
    }
}

#[test]
fn codex_reads_only_where_no_state_writes_or_reaches_out() {
    let commands = |commands: Option<Value>| {
        let mut state = json!({ "allowed_tools": ["Read", "Bash"], "on": { "DONE": "end" } });
        if let Some(commands) = commands {
            state["allowed_commands"] = commands;
        }
        floor(json!({ "reading": state, "end": { "type": "final" } }))
    };
    let cases = [
        (reviewing(), true),
        (commands(Some(json!(["git log", "grep"]))), true),
        (commands(Some(json!(["git fetch"]))), false),
        (commands(Some(json!(["git"]))), false),
        (commands(Some(json!(["curl"]))), false),
        (commands(None), false),
        (
            floor(json!({
                "a": { "allowed_tools": ["Bash", "Edit"], "allowed_commands": ["ls"], "on": { "DONE": "end" } },
                "end": { "type": "final" },
            })),
            false,
        ),
    ];
    for (floor, read_only) in cases {
        let project = Project::new();
        let site = project.site();
        let path = server_file(ClientId::Codex, &site, Scope::Project);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let before = "model = \"x\" # mine\n\n[tui]\n";
        fs::write(&path, before).unwrap();
        project.put(ClientId::Codex, Scope::Project, &floor);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            text.contains("sandbox_mode = \"read-only\""),
            read_only,
            "{text}"
        );
        assert!(text.starts_with("model = \"x\" # mine\n"), "{text}");
        assert!(text.contains("web_search = \"disabled\""), "{text}");
        let rules = site.project_root.join(".codex/rules/interlock.rules");
        // Such a rule would prevent lines from being rewritten.
        assert!(!rules.exists());
        // Somebody appends to the written rules.
        fs::write(&path, format!("{text}[mine]\n")).unwrap();
        apply(&project.ask(ClientId::Codex, Scope::Project, None, true)).unwrap();
        let left = fs::read_to_string(&path).unwrap();
        assert_eq!(left, format!("{before}[mine]\n"));
        assert!(!rules.exists());
    }
}

#[test]
fn where_no_state_has_a_shell_codex_forbids_a_persons_commands() {
    let no_shell = floor(json!({
        "reading": { "allowed_tools": ["Read"], "on": { "DONE": "end" } },
        "end": { "type": "final" },
    }));
    let project = Project::new();
    let rules = project
        .site()
        .project_root
        .join(".codex/rules/interlock.rules");
    project.put(ClientId::Codex, Scope::Project, &no_shell);
    let text = fs::read_to_string(&rules).unwrap();
    assert!(
        text.contains("\"approve\"") && text.contains("\"forbidden\""),
        "{text}"
    );
    // Rules without such an entry remove it.
    project.put(ClientId::Codex, Scope::Project, &reviewing());
    assert!(!rules.exists());
    project.put(ClientId::Codex, Scope::Project, &no_shell);
    apply(&project.ask(ClientId::Codex, Scope::Project, None, true)).unwrap();
    assert_eq!(project.left(), 0);
}

#[test]
fn what_a_person_wrote_under_the_same_key_stays() {
    let project = Project::new();
    let site = project.site();
    let codex = server_file(ClientId::Codex, &site, Scope::User);
    fs::create_dir_all(codex.parent().unwrap()).unwrap();
    fs::write(&codex, "sandbox_mode = \"workspace-write\"\n").unwrap();
    let opencode = server_file(ClientId::Opencode, &site, Scope::Project);
    fs::write(&opencode, "{\"permission\": {\"edit\": \"ask\"}}").unwrap();
    let claude = hook_file(ClientId::ClaudeCode, &site, Scope::Project);
    fs::create_dir_all(claude.parent().unwrap()).unwrap();
    fs::write(&claude, "{\"permissions\": {\"deny\": [\"WebFetch\"]}}").unwrap();
    for (client, scope) in [
        (ClientId::Codex, Scope::User),
        (ClientId::Opencode, Scope::Project),
        (ClientId::ClaudeCode, Scope::Project),
    ] {
        project.put(client, scope, &reviewing());
    }
    assert!(
        fs::read_to_string(&codex)
            .unwrap()
            .contains("\"workspace-write\"")
    );
    let settings = project.json(&opencode);
    assert_eq!(settings["permission"]["edit"], "ask");
    assert_eq!(settings["permission"]["webfetch"], "deny");
    // Somebody appends to the written rules, so the files differ from what was written.
    let with_more = fs::read_to_string(&claude)
        .unwrap()
        .replace("\"deny\": [", "\"deny\": [\"Mine\", ");
    fs::write(&claude, with_more).unwrap();
    apply(&project.ask(ClientId::ClaudeCode, Scope::Project, None, true)).unwrap();
    assert_eq!(
        project.json(&claude),
        json!({ "permissions": { "deny": ["Mine", "WebFetch"] } })
    );
}

#[test]
fn another_workflow_replaces_the_floor() {
    let project = Project::new();
    let path = hook_file(ClientId::Gemini, &project.site(), Scope::Project);
    project.put(ClientId::Gemini, Scope::Project, &reviewing());
    let excluded = project.json(&path)["tools"]["exclude"].clone();
    assert!(texts(&excluded).contains("write_file"), "{excluded}");
    let writes = floor(json!({
        "a": { "allowed_tools": ["Write"], "on": { "DONE": "end" } },
        "end": { "type": "final" },
    }));
    project.put(ClientId::Gemini, Scope::Project, &writes);
    let excluded = project.json(&path)["tools"]["exclude"].clone();
    assert!(!texts(&excluded).contains("write_file"), "{excluded}");
    assert!(texts(&excluded).contains("run_shell_command"), "{excluded}");
    apply(&project.ask(ClientId::Gemini, Scope::Project, None, true)).unwrap();
    assert_eq!(project.left(), 0);
}

#[test]
fn rules_of_the_person_are_a_file_for_gemini_and_a_hint_for_copilot() {
    let project = Project::new();
    project.put(ClientId::Gemini, Scope::User, &reviewing());
    let policy = project.site().home.join(".gemini/policies/interlock.toml");
    let text = fs::read_to_string(&policy).unwrap();
    assert!(
        text.contains("\"write_file\"") && text.contains("decision = \"deny\""),
        "{text}"
    );
    // A file of the same name that is not ours is not overwritten.
    let other = Project::new();
    let policy = other.site().home.join(".gemini/policies/interlock.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    fs::write(&policy, "# mine\n").unwrap();
    let floor = reviewing();
    let request = Request {
        clients: &[ClientId::Gemini],
        scope: Scope::User,
        remove: false,
        floor: Some(&floor),
        trust: false,
    };
    let said = plan(&other.site(), &request).unwrap_err().to_string();
    assert!(said.contains("somebody else's file"), "{said}");

    let plan = project.ask(ClientId::Copilot, Scope::Project, Some(&reviewing()), false);
    let hint = plan
        .notes
        .iter()
        .find(|note| note.contains("--deny-tool='write'"));
    assert!(
        hint.is_some_and(|hint| !hint.contains("shell")),
        "{:?}",
        plan.notes
    );
}
