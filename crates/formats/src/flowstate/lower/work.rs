//! The input of a runner for each tool.

use indexmap::IndexMap;
use interlock_core::{
    machine::{Activity, OnCrash, Task, TaskKind},
    names::ProgramName,
};
use interlock_expr::text::{Base, Expr, Piece, Text, ValueTemplate};
use serde_json::{Value, json};

use super::Lowering;
use crate::flowstate::{
    check::is_safe,
    reader::Flow,
    safe,
    syntax::{Action, Choice, Condition, Custom, CustomTool, Doing, ToolArgument, Tree, Written},
    tools,
};

/// An activity and its handling after a crash.
pub(super) struct Made {
    pub(super) activity: Activity,
    pub(super) on_crash: OnCrash,
}

type Fields = IndexMap<String, ValueTemplate>;

impl Lowering<'_> {
    /// Creates the activity of a tool that a runner executes.
    pub(super) fn work(&self, flow: &Flow, action: &Action) -> Made {
        match &action.doing {
            Doing::Custom(custom) => self.custom(flow, action, custom),
            Doing::Work(given) => self.given(flow, &action.tool.text, given),
            _ => Made {
                activity: Activity::Await,
                on_crash: OnCrash::Ask,
            },
        }
    }

    fn given(&self, flow: &Flow, kind: &str, given: &[(&'static str, ToolArgument)]) -> Made {
        let mut fields = Fields::new();
        for (name, value) in given {
            match value {
                ToolArgument::Flag(_) => {}
                ToolArgument::Name(named) => {
                    let key = (named.span.file, named.text.clone());
                    let name_of = self.guards.get(&key).unwrap_or(&named.text);
                    fields.insert((*name).to_owned(), word(name_of));
                }
                ToolArgument::Condition(condition) => {
                    fields.insert((*name).to_owned(), condition_of(flow, condition));
                }
                _ => drop(fields.insert((*name).to_owned(), form(value))),
            }
        }
        for (name, value) in tools::tool(kind).map_or(&[][..], |tool| tool.defaults) {
            fields
                .entry((*name).to_owned())
                .or_insert_with(|| word(value));
        }
        if kind == "bash" {
            bash(flow, given, &mut fields);
        }
        let input = ValueTemplate::Object(fields);
        let (activity, on_crash) = match kind {
            "pause" => (Activity::Pause(input), OnCrash::Retry),
            "ask-user" => (Activity::Ask(input), OnCrash::Retry),
            "get-gh-issue" => (program(kind, input), OnCrash::Retry),
            _ => (program(kind, input), OnCrash::Ask),
        };
        Made { activity, on_crash }
    }

    fn custom(&self, flow: &Flow, action: &Action, custom: &Custom) -> Made {
        let name = &action.tool.text;
        let mut fields = Fields::new();
        if let Some(tool) = flow.tools.get(name) {
            fields = custom_fields(name, tool);
        }
        let arguments = custom
            .arguments
            .iter()
            .map(|(name, tree)| (name.text.clone(), of_tree(tree)))
            .collect();
        fields.insert("arguments".to_owned(), ValueTemplate::Object(arguments));
        if !custom.env.is_empty() {
            fields.insert("extra-env".to_owned(), texts(&custom.env));
        }
        Made {
            activity: program("custom", ValueTemplate::Object(fields)),
            on_crash: OnCrash::Ask,
        }
    }
}

fn program(name: &str, input: ValueTemplate) -> Activity {
    Activity::Task(Task {
        kind: TaskKind::Program(ProgramName::new(name)),
        input,
    })
}

/// Returns the definition of a file's own tool, with its texts over the arguments unfilled.
fn custom_fields(name: &str, tool: &CustomTool) -> Fields {
    let plain = |text: &Text| serde_json::to_value(text).unwrap_or(Value::Null);
    let mut fields = Fields::new();
    let mut put = |key: &str, value: Value| {
        fields.insert(key.to_owned(), ValueTemplate::Plain(value));
    };
    put("tool", json!(name));
    let command: Vec<Value> = tool
        .command
        .iter()
        .map(|item| plain(&item.text()))
        .collect();
    put("command", Value::Array(command));
    put("schema", tool.schema.clone());
    if let Some(timeout) = &tool.timeout {
        put("timeout", plain(&timeout.text()));
    }
    let env: serde_json::Map<String, Value> = tool
        .env
        .iter()
        .map(|(name, text)| (name.clone(), plain(&text.text())))
        .collect();
    put("env", Value::Object(env));
    if let Some(stdin) = &tool.stdin {
        put("stdin", plain(&stdin.text()));
    }
    let cwd = tool
        .cwd
        .as_ref()
        .map_or_else(|| Text::plain("@/"), Written::text);
    put("cwd", plain(&hole(Expr::Path(cwd, Base::RunDir))));
    fields
}

/// Adds the folder and, if values are passed as variables, the environment of a command.
fn bash(flow: &Flow, given: &[(&'static str, ToolArgument)], fields: &mut Fields) {
    let own = match tools::given(given, "cwd") {
        Some(ToolArgument::Text(text)) => Some(text.text()),
        _ => None,
    };
    fields.insert("cwd".to_owned(), directory(flow, own));
    let Some(ToolArgument::Text(command)) = tools::given(given, "command") else {
        return;
    };
    if is_safe(given, flow) {
        safe_command(command, fields);
    }
}

/// Field with the names that a rewritten command's variables have in the file, for messages.
const NAMES: &str = "env-names";

/// Adds the rewritten command, with its values in the environment.
fn safe_command(command: &Written, fields: &mut Fields) {
    let env = match fields.get("env") {
        Some(ValueTemplate::Object(env)) => env.clone(),
        _ => Fields::new(),
    };
    let taken: Vec<&str> = env.keys().map(String::as_str).collect();
    let Some(safe) = safe::rewrite(command, &taken) else {
        return;
    };
    fields.insert("command".to_owned(), of_text(safe.command));
    let mut env = env;
    env.extend(
        safe.env
            .into_iter()
            .map(|(name, text)| (name, of_text(text))),
    );
    if !env.is_empty() {
        fields.insert("env".to_owned(), ValueTemplate::Object(env));
    }
    let names: Fields = safe
        .names
        .into_iter()
        .map(|(name, written)| (name, ValueTemplate::Plain(written.into())))
        .collect();
    if !names.is_empty() {
        fields.insert(NAMES.to_owned(), ValueTemplate::Object(names));
    }
}

fn condition_of(flow: &Flow, condition: &Condition) -> ValueTemplate {
    let mut fields = Fields::new();
    fields.insert("command".to_owned(), of_text(condition.command.text()));
    if let Some(timeout) = &condition.timeout {
        fields.insert("timeout".to_owned(), of_text(timeout.text()));
    }
    fields.insert("cwd".to_owned(), directory(flow, None));
    if flow.shell_safe {
        safe_command(&condition.command, &mut fields);
    }
    ValueTemplate::Object(fields)
}

/// Returns the folder of a command: its own, the file's, or the run's.
fn directory(flow: &Flow, own: Option<Text>) -> ValueTemplate {
    let written = own.or_else(|| flow.cwd.as_ref().map(Text::plain));
    let path = written.unwrap_or_else(|| Text::plain("./"));
    ValueTemplate::Text(hole(Expr::Path(path, Base::RunDir)))
}

fn hole(expr: Expr) -> Text {
    Text {
        pieces: vec![Piece::Hole(expr)],
    }
}

fn form(given: &ToolArgument) -> ValueTemplate {
    match given {
        ToolArgument::Text(text) => of_text(text.text()),
        ToolArgument::Texts(items) => {
            ValueTemplate::List(items.iter().map(Written::text).map(of_text).collect())
        }
        ToolArgument::Map(map) => texts(map),
        ToolArgument::Options(options) => ValueTemplate::List(options.iter().map(option).collect()),
        ToolArgument::Flag(flag) => word(&flag.to_string()),
        ToolArgument::Name(name) => word(&name.text),
        ToolArgument::Condition(_) => ValueTemplate::default(),
    }
}

fn option(choice: &Choice) -> ValueTemplate {
    let mut fields = Fields::new();
    fields.insert("value".to_owned(), of_text(choice.value.text()));
    if let Some(description) = &choice.description {
        fields.insert("description".to_owned(), of_text(description.text()));
    }
    ValueTemplate::Object(fields)
}

fn texts(map: &IndexMap<String, Written>) -> ValueTemplate {
    ValueTemplate::Object(
        map.iter()
            .map(|(name, text)| (name.clone(), of_text(text.text())))
            .collect(),
    )
}

fn of_tree(tree: &Tree) -> ValueTemplate {
    match tree {
        Tree::Text(text) => of_text(text.text()),
        Tree::Null(_) => ValueTemplate::Plain(Value::Null),
        Tree::List(_, items) => ValueTemplate::List(items.iter().map(of_tree).collect()),
        Tree::Map(_, fields) => ValueTemplate::Object(
            fields
                .iter()
                .map(|(name, field)| (name.text.clone(), of_tree(field)))
                .collect(),
        ),
    }
}

fn of_text(text: Text) -> ValueTemplate {
    match text.as_plain() {
        Some(plain) => word(plain),
        None => ValueTemplate::Text(text),
    }
}

fn word(text: &str) -> ValueTemplate {
    ValueTemplate::Plain(Value::String(text.to_owned()))
}
