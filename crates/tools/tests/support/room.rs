//! A project, a place outside it, a temporary directory, and calls in them.
#![allow(dead_code, reason = "each test uses what it needs of it")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use interlock_confine::{PersonsLine, plan_for_person};
use interlock_core::{
    call::{CallFacts, ToolCall},
    names::CallId,
    policy::Policy,
};
use interlock_facts::{CallContext, RealDisk};
use interlock_process::Cancel;
use interlock_project::Environment;
use interlock_sandbox::{Level, Plan};
use interlock_store::Home;
use interlock_testkit::room::no_temporary;
use interlock_tools::{Arguments, Carrier, Datasource, Seen, Tool, ToolContext, ToolEnd};
use serde_json::Value;

/// A project `p`, a place `out` outside it, a temporary directory `tmp`, a datasource `docs`, and Interlock's state in
/// `state`.
pub(crate) struct Room {
    _kept: tempfile::TempDir,
    pub(crate) path: PathBuf,
    pub(crate) call_context: CallContext,
    pub(crate) seen: Seen,
    pub(crate) cancel: Cancel,
    pub(crate) datasources: Vec<Datasource>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) policy: Policy,
    pub(crate) result_bytes_max: usize,
}

impl Room {
    pub(crate) fn new() -> Self {
        let kept = tempfile::Builder::new()
            .prefix("room")
            // Every line may write in temporary directories.
            .tempdir_in(no_temporary(Path::new(env!("CARGO_TARGET_TMPDIR"))))
            .unwrap();
        let path = kept.path().canonicalize().unwrap();
        for name in ["p", "out", "tmp", "docs", "state", "home"] {
            fs::create_dir(path.join(name)).unwrap();
        }
        fs::write(path.join("state/secret"), "state secret\n").unwrap();
        let text = |name: &str| path.join(name).to_str().unwrap().to_owned();
        let mut call_context = CallContext::of_project(text("p"));
        call_context.temporary = Some(text("tmp"));
        call_context.home = Some(text("home"));
        call_context.state_directory = Some(text("state"));
        call_context.site.shell = interlock_shell::Dialect::Bash;
        call_context.environment_held = true;
        let docs = Datasource::at("docs", &path.join("docs")).unwrap();
        Self {
            _kept: kept,
            call_context: call_context.resolved(&RealDisk),
            path,
            seen: Seen::new(),
            cancel: Cancel::new().unwrap(),
            datasources: vec![docs],
            environment: Vec::new(),
            policy: policy(&["Read", "Edit", "Write", "Bash"]),
            result_bytes_max: 30_000,
        }
    }

    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("{room}", self.path.to_str().unwrap())
    }

    /// Creates a file, a link (`-> `), a directory (name ending with `/`) or a pipe (`<pipe>`).
    pub(crate) fn make(&self, name: &str, content: &str) {
        let path = self.path.join(name);
        if name.ends_with('/') {
            fs::create_dir_all(&path).unwrap();
            return;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let content = self.fill(content);
        if let Some(target) = content.strip_prefix("-> ") {
            symlink(target, &path).unwrap();
        } else if let Some(other) = content.strip_prefix("<hard> ") {
            fs::hard_link(self.path.join(other), &path).unwrap();
        } else if let Some(mode) = content.strip_prefix("<mode> ") {
            fs::write(&path, "text\n").unwrap();
            let mode = u32::from_str_radix(mode, 8).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        } else if let Some(hex) = content.strip_prefix("<hex> ") {
            let bytes: Vec<u8> = hex
                .split_whitespace()
                .map(|byte| u8::from_str_radix(byte, 16).unwrap())
                .collect();
            fs::write(&path, bytes).unwrap();
        } else if let Some(rest) = content.strip_prefix("<repeat ") {
            let (count, line) = rest.split_once("> ").unwrap();
            fs::write(&path, line.repeat(count.parse().unwrap())).unwrap();
        } else if content == "<pipe>" {
            let status = std::process::Command::new("mkfifo").arg(&path).status();
            assert!(status.unwrap().success());
        } else {
            fs::write(&path, content).unwrap();
        }
    }

    pub(crate) fn proposed(&self, tool: Tool, arguments: &Arguments) -> ToolCall {
        tool.proposed(
            CallId::from("t1.c1"),
            arguments,
            &self.call_context,
            &RealDisk,
        )
    }

    /// Judges and runs a call.
    pub(crate) fn call(&self, tool: Tool, input: &Value) -> (ToolCall, ToolEnd) {
        let arguments = Arguments::of(input.clone()).unwrap();
        let call = self.proposed(tool, &arguments);
        let end = self.run(tool, &arguments, &call.facts);
        (call, end)
    }

    /// Runs a call by facts that were derived before.
    pub(crate) fn run(&self, tool: Tool, arguments: &Arguments, facts: &CallFacts) -> ToolEnd {
        let plan = self.plan(arguments);
        let carrier = plan.as_ref().map(|plan| Carrier {
            program: Self::program(),
            plan,
            level_max: Level::Full,
        });
        tool.run(
            arguments,
            &ToolContext {
                carrier,
                ..self.context(facts)
            },
        )
    }

    /// Returns the context of a call, without the program that runs lines.
    pub(crate) fn context<'a>(&'a self, facts: &'a CallFacts) -> ToolContext<'a> {
        ToolContext {
            call_context: &self.call_context,
            facts,
            seen: &self.seen,
            cancel: &self.cancel,
            carrier: None,
            datasources: &self.datasources,
            environment: &self.environment,
            result_bytes_max: self.result_bytes_max,
            progress: None,
        }
    }

    /// Returns the program that runs lines in these tests.
    pub(crate) fn program() -> &'static Path {
        Path::new(env!("CARGO_BIN_EXE_carry-line"))
    }

    /// Returns the plan of a call's line.
    pub(crate) fn plan(&self, arguments: &Arguments) -> Option<Plan> {
        let root = Path::new(&self.call_context.project_root);
        let text = arguments.value().get("command").and_then(Value::as_str)?;
        let directory = arguments.value().get("cwd").and_then(Value::as_str);
        let directory = directory.map_or(root.to_owned(), |cwd| root.join(cwd));
        let environment = Environment {
            variables: vec![
                ("HOME".into(), self.path.join("home").into()),
                ("TMPDIR".into(), self.path.join("tmp").into()),
            ],
            ..Environment::at(Home::at(self.path.join("state")))
        };
        let asked = PersonsLine {
            text,
            policy: &self.policy,
            project: root,
            directory: &directory.canonicalize().unwrap_or(directory.clone()),
        };
        Some(plan_for_person(&environment, &[], &asked).unwrap())
    }

    /// Returns everything below the room, in a form that shows any change.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        self.add(&self.path, &mut tree);
        tree
    }

    fn add(&self, directory: &Path, tree: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let name = path.to_string_lossy().into_owned();
            let what = if found.is_symlink() {
                format!("link {:?}", fs::read_link(&path).unwrap())
            } else if found.is_file() {
                let bytes = fs::read(&path).unwrap();
                format!("file {:o} {:?}", found.mode(), bytes)
            } else {
                format!("other {:o}", found.mode())
            };
            tree.insert(name, what);
            if found.is_dir() {
                self.add(&path, tree);
            }
        }
    }
}

/// Returns a policy that lists these tools and nothing else.
pub(crate) fn policy(tools: &[&str]) -> Policy {
    Policy {
        allowed_tools: Some(tools.iter().map(|tool| (*tool).to_owned()).collect()),
        ..Policy::default()
    }
}

/// Returns the tool with a name in tests: CodeMie's `bash` and `Bash` are two tools.
pub(crate) fn named(name: &str) -> Tool {
    Tool::named(&Tool::PIPELINE, name)
        .or_else(|| Tool::named(&Tool::CODEMIE, name))
        .unwrap()
}
