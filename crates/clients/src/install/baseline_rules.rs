//! Baseline rules below the hooks: the client's own rules, made from a workflow.
//!
//! They contain only what no state of the workflow allows, and what protects Interlock itself: a client's rule does not change
//! with the state, and must not deny what a state allows.

mod rules;

use std::path::Path;

use interlock_core::{
    machine::{Activity, Machine, State},
    policy::{OnDenied, Policy, Stance},
};
use interlock_tool_names::{NAMES, WRITERS};
use serde_json::{Value, json};

pub(super) use rules::{Language, Rules, take};

use super::edit::{Edit, What};
use crate::client::ClientId;
use crate::registry::definition;
use crate::settings::{MARK, Scope, Site, json::Syntax};
use crate::{codex::install as codex, gemini::install as gemini, opencode::install as opencode};

/// What no state of a workflow allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaselineRules {
    /// Denied tools, by their common names.
    denied: Vec<&'static str>,
    /// Whether no state allows a shell line to write or to connect to a network.
    reads_only: bool,
}

/// First words of commands that may connect to a network.
const REACHING: [&str; 20] = [
    "curl", "wget", "gh", "npm", "npx", "pnpm", "yarn", "bun", "pip", "pip3", "uv", "cargo", "go",
    "ssh", "scp", "rsync", "ping", "nc", "dig", "nslookup",
];

impl BaselineRules {
    /// Finds what no state of a machine allows, including the machines that it calls.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let machines = std::iter::once(machine).chain(machine.machines.values());
        let states = machines.flat_map(|machine| machine.states.values());
        let policies: Vec<&Policy> = states
            .filter(|state| an_agent_may_stand_in(state))
            .map(|state| &state.policy)
            .collect();
        if policies.is_empty() {
            return Self::default();
        }
        let names = NAMES.iter().filter_map(|names| names.first());
        let never = |tool: &&str| policies.iter().all(|policy| !may_allow(policy, tool));
        Self {
            denied: names.copied().filter(never).collect(),
            reads_only: policies.iter().all(|policy| reads_only(policy)),
        }
    }

    fn denies(&self, tools: &[&str]) -> bool {
        tools.iter().all(|tool| self.denied.contains(tool))
    }
}

/// Returns whether an agent's calls are judged by this state.
fn an_agent_may_stand_in(state: &State) -> bool {
    let others_work = matches!(
        state.activity,
        Activity::Choice | Activity::Call(_) | Activity::Final { .. }
    );
    !others_work && !state.activity.forks()
}

/// Returns whether a state allows a tool, possibly after an approval.
fn may_allow(policy: &Policy, tool: &str) -> bool {
    policy.lets_pass(&[tool]) || policy.on_denied == OnDenied::Ask && !policy.disallows(&[tool])
}

fn reads_only(policy: &Policy) -> bool {
    if WRITERS.iter().any(|tool| may_allow(policy, tool)) {
        return false;
    }
    if !may_allow(policy, "Bash") {
        return true;
    }
    let Some(commands) = &policy.allowed_commands else {
        return false;
    };
    let reaches = |words: &[String]| match words {
        [git] if git == "git" => true,
        [git, word, ..] if git == "git" => [
            "fetch",
            "pull",
            "push",
            "clone",
            "remote",
            "ls-remote",
            "submodule",
        ]
        .contains(&word.as_str()),
        [first, ..] => REACHING.contains(&first.as_str()),
        [] => true,
    };
    policy.stance() == Stance::NoWrite && !commands.iter().any(|entry| reaches(&entry.words))
}

/// Returns the edits of a client's own rules; without baseline rules, those that remove them.
pub(super) fn edits(
    client: ClientId,
    site: &Site,
    scope: Scope,
    floor: Option<&BaselineRules>,
) -> Vec<Edit> {
    let edit = |path, what| Edit { path, scope, what };
    let rules = |language, fill: &dyn Fn(&BaselineRules, &mut Rules)| {
        let mut rules = Rules::new(language);
        if let Some(floor) = floor {
            fill(floor, &mut rules);
        }
        What::BaselineRules(rules)
    };
    let file = definition(client);
    match client {
        ClientId::ClaudeCode => vec![edit(
            (file.hook_file)(site, scope),
            rules(Language::Json(Syntax::Strict), &|floor, rules| {
                rules.items(&["permissions", "deny"], claude_code(floor, site, scope));
            }),
        )],
        ClientId::Codex => vec![
            edit(
                (file.server_file)(site, scope),
                rules(Language::Toml, &|floor, rules| codex_keys(floor, rules)),
            ),
            edit(
                codex::rules_file(site, scope),
                // A line cannot be rewritten if any such rule exists.
                What::Own(
                    floor
                        .filter(|floor| floor.denies(&["Bash"]))
                        .map(|_| codex_rules(site)),
                ),
            ),
        ],
        ClientId::Gemini if scope != Scope::User => vec![edit(
            (file.hook_file)(site, scope),
            rules(Language::Json(Syntax::Comments), &|floor, rules| {
                let names = gemini_names(floor).into_iter().map(Value::from).collect();
                rules.items(&["tools", "exclude"], names);
            }),
        )],
        ClientId::Gemini => vec![edit(
            gemini::policy_file(site),
            What::Own(floor.map(gemini_policy)),
        )],
        ClientId::Opencode => vec![edit(
            opencode::server_file(site, scope),
            rules(Language::Json(Syntax::Loose), &|floor, rules| {
                opencode_keys(floor, rules);
            }),
        )],
        ClientId::Copilot | ClientId::Cursor => Vec::new(),
    }
}

/// Returns what a person has to do for a client whose rules are not in a file.
pub(super) fn note(client: ClientId, floor: &BaselineRules) -> Option<String> {
    match client {
        ClientId::Copilot => {
            let kinds = [
                ("shell", ["Bash"].as_slice()),
                ("write", &["Edit", "Write", "apply_patch"]),
                ("url", &["WebFetch"]),
            ];
            let denied = kinds.iter().filter(|(_, tools)| floor.denies(tools));
            let options: Vec<String> = denied
                .map(|(kind, _)| format!("--deny-tool='{kind}'"))
                .collect();
            (!options.is_empty()).then(|| {
                let options = options.join(" ");
                format!("Copilot CLI keeps such rules in no file: start it as `copilot {options}`")
            })
        }
        ClientId::Cursor => Some("Cursor gets no floor: its hooks are all there is".to_owned()),
        _ => None,
    }
}

fn claude_code(floor: &BaselineRules, site: &Site, scope: Scope) -> Vec<Value> {
    // A rule for `Edit` or `Read` applies to every tool that edits or reads.
    let groups: [(&str, &[&str]); 9] = [
        ("Bash", &["Bash"]),
        ("Edit", &["Edit", "Write", "MultiEdit", "NotebookEdit"]),
        ("Write", &["Write"]),
        ("NotebookEdit", &["NotebookEdit"]),
        ("Read", &["Read", "Grep", "Glob", "LS"]),
        ("WebFetch", &["WebFetch"]),
        ("WebSearch", &["WebSearch"]),
        ("Task", &["Task"]),
        ("Agent", &["Task"]),
    ];
    let denied = groups.iter().filter(|(_, tools)| floor.denies(tools));
    let mut rules: Vec<String> = denied.map(|(name, _)| (*name).to_owned()).collect();
    let mut protected = vec![
        from_home(&site.claude_home.join("settings.json"), &site.home),
        from_home(&site.home.join(".claude.json"), &site.home),
        format!(
            "{}/**",
            from_home(&site.configuration.join("interlock"), &site.home)
        ),
    ];
    if let Some(state) = &site.state {
        protected.push(format!("{}/**", from_home(state, &site.home)));
    }
    if scope != Scope::User {
        protected.extend(
            [
                "/.interlock/**",
                "/.claude/settings.json",
                "/.claude/settings.local.json",
                "/.mcp.json",
            ]
            .map(str::to_owned),
        );
    }
    rules.extend(protected.iter().map(|path| format!("Edit({path})")));
    rules.into_iter().map(Value::from).collect()
}

/// Writes an absolute path as Claude Code's rules do.
fn from_home(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(below) => format!("~/{}", below.display()),
        Err(_) => format!("/{}", path.display()),
    }
}

fn codex_keys(floor: &BaselineRules, rules: &mut Rules) {
    if floor.reads_only {
        rules.key(&["sandbox_mode"], json!("read-only"));
    }
    if floor.denies(&["WebSearch"]) {
        rules.key(&["web_search"], json!("disabled"));
    }
}

/// Returns Codex's rules for shell lines: they deny the commands of Interlock that only a person may run.
fn codex_rules(site: &Site) -> String {
    let answers = json!([
        "approve", "attest", "reject", "resume", "cancel", "token", "init"
    ]);
    let program = Value::from(site.program.display().to_string());
    format!(
        "#{MARK}\nprefix_rule(\n    pattern = [[\"interlock\", {program}], {answers}],\n    decision = \"forbidden\",\n    justification = \"only a person answers for Interlock\",\n)\n"
    )
}

fn gemini_names(floor: &BaselineRules) -> Vec<&'static str> {
    let names = [
        ("Bash", "run_shell_command"),
        ("Edit", "replace"),
        ("Write", "write_file"),
        ("Read", "read_file"),
        ("Grep", "grep_search"),
        ("Glob", "glob"),
        ("LS", "list_directory"),
        ("WebFetch", "web_fetch"),
        ("WebSearch", "google_web_search"),
        ("Task", "invoke_agent"),
    ];
    let denied = names.iter().filter(|(common, _)| floor.denies(&[*common]));
    denied.map(|(_, name)| *name).collect()
}

fn gemini_policy(floor: &BaselineRules) -> String {
    let mut text = format!("#{MARK}\n");
    let names = gemini_names(floor);
    if !names.is_empty() {
        let names = json!(names);
        text.push_str(&format!(
            "\n[[rule]]\ntoolName = {names}\ndecision = \"deny\"\npriority = 900\n"
        ));
    }
    let protected = r#""file_path":"[^"]*(\\.interlock/|\\.gemini/(settings\\.json|policies/|trustedFolders\\.json))"#;
    let protected = protected.replace("\\\\", "\\");
    text.push_str(&format!(
        "\n[[rule]]\ntoolName = [\"write_file\", \"replace\"]\nargsPattern = '{protected}'\ndecision = \"deny\"\npriority = 901\n"
    ));
    text
}

fn opencode_keys(floor: &BaselineRules, rules: &mut Rules) {
    let groups: [(&str, &[&str]); 9] = [
        ("bash", &["Bash"]),
        ("edit", &["Edit", "Write", "MultiEdit", "apply_patch"]),
        ("read", &["Read"]),
        ("grep", &["Grep"]),
        ("glob", &["Glob"]),
        ("list", &["LS"]),
        ("webfetch", &["WebFetch"]),
        ("websearch", &["WebSearch"]),
        ("task", &["Task"]),
    ];
    for (name, tools) in groups {
        if floor.denies(tools) {
            rules.key(&["permission", name], json!("deny"));
        } else if name == "edit" {
            let protected = json!({
                ".interlock/**": "deny",
                ".opencode/**": "deny",
                "opencode.json*": "deny",
            });
            rules.key(&["permission", "edit"], protected);
        }
    }
}
