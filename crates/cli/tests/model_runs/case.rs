//! Case files: a workflow, the messages of its models, the commands, and the expected results.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::model_runs::case_file;

/// Keys that belong to the whole case, not to its only command.
const WHOLE: [&str; 13] = [
    "workflow",
    "file",
    "files",
    "config",
    "programs",
    "providers",
    "models",
    "says",
    "log",
    "log_lacks",
    "count",
    "status",
    "left",
];

/// A workflow, with its models, its commands and the expected results.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// The workflow, as the text of `flow.yaml` or as a value.
    workflow: Option<Value>,
    /// Path of the workflow's file instead, from the repository's root.
    file: Option<String>,
    /// Further files of the project, by path.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// Lines of the person's `config.toml` in addition to those for the model.
    #[serde(default)]
    pub(crate) config: String,
    /// Shell scripts by name, found before any other program; `./NAME` in the project.
    #[serde(default)]
    pub(crate) programs: BTreeMap<String, String>,
    /// Protocols in which the case is played.
    #[serde(default = "both")]
    pub(crate) providers: Vec<Provider>,
    #[serde(default)]
    pub(crate) models: Vec<Model>,
    pub(crate) steps: Vec<Step>,
    /// Patterns of events that the log has in this order, possibly with others in between.
    #[serde(default)]
    pub(crate) log: Vec<Value>,
    /// Patterns that no event of the log fits.
    #[serde(default)]
    pub(crate) log_lacks: Vec<Value>,
    /// Number of events, by name.
    #[serde(default)]
    pub(crate) count: BTreeMap<String, usize>,
    /// Pattern of the output of `status --json`.
    pub(crate) status: Option<Value>,
    /// Files of the project after the last command; `None` if a file must not exist.
    #[serde(default)]
    pub(crate) left: BTreeMap<String, Option<String>>,
}

/// Protocol in which a case is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Provider {
    Anthropic,
    OpenAi,
}

/// Messages of a model, in order, for the requests that contain a text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    /// The text; of several models the first whose text is in the request answers.
    #[serde(rename = "for", default)]
    pub(crate) text: String,
    pub(crate) says: Vec<Turn>,
    /// Whether the run may end before all messages are requested.
    #[serde(default)]
    pub(crate) may_end: bool,
}

/// Answer to one request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Turn {
    /// Conditions on the request.
    pub(crate) asked: Option<Wanted>,
    #[serde(default)]
    pub(crate) say: Vec<Part>,
    /// `length` or `refused`.
    pub(crate) stop: Option<String>,
    /// HTTP status of an error to answer with instead.
    pub(crate) status: Option<u16>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Number of bytes after which the connection breaks.
    pub(crate) broken_at: Option<usize>,
    /// Number of requests that get this answer.
    pub(crate) times: Option<usize>,
}

/// Part of a message.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    pub(crate) text: Option<String>,
    pub(crate) thinking: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) input: Option<Value>,
    /// The arguments as literal text.
    pub(crate) raw: Option<String>,
    /// Number of repetitions.
    pub(crate) times: Option<usize>,
}

/// Conditions on a request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    #[serde(default)]
    pub(crate) has: Vec<String>,
    #[serde(default)]
    pub(crate) lacks: Vec<String>,
    /// Names of its tools, in any order.
    pub(crate) tools: Option<Vec<String>>,
    /// Texts, one in each of the newest results.
    pub(crate) results: Option<Vec<String>>,
    /// Pattern of its body.
    pub(crate) body: Option<Value>,
}

/// A command, and the expected result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// Files written before the command, or removed if `None`.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, Option<String>>,
    #[serde(default = "run_flow")]
    pub(crate) args: Vec<String>,
    /// Whether a script of the person gives the command.
    #[serde(default)]
    pub(crate) person: bool,
    /// What the person does at the terminal, if the command has one.
    pub(crate) terminal: Option<Vec<Press>>,
    /// Whether a tree can be drawn on the terminal.
    #[serde(default)]
    pub(crate) tree: bool,
    #[serde(default)]
    pub(crate) exit: i32,
    /// The whole standard output.
    pub(crate) out: Option<String>,
    /// The whole standard output, as a JSON value.
    pub(crate) out_json: Option<Value>,
    /// Texts in the standard output or error.
    #[serde(default)]
    pub(crate) has: Vec<String>,
    #[serde(default)]
    pub(crate) lacks: Vec<String>,
    /// Number of requests to the models so far.
    pub(crate) requests: Option<usize>,
}

/// Keys that a person types once they see a text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Press {
    pub(crate) see: String,
    #[serde(rename = "type")]
    pub(crate) typed: String,
}

fn both() -> Vec<Provider> {
    vec![Provider::Anthropic, Provider::OpenAi]
}

fn run_flow() -> Vec<String> {
    ["run", "flow.yaml", "the task", "--name", "n", "--headless"]
        .map(str::to_owned)
        .to_vec()
}

impl Case {
    /// Parses a case file.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut case = case_file::read(text, &WHOLE)?;
        // A single model that answers every request needs no text.
        if let Some(says) = case.remove("says") {
            case.insert("models".to_owned(), serde_json::json!([{ "says": says }]));
        }
        messages_as_turns(case.get_mut("models"));
        serde_json::from_value(Value::Object(case)).map_err(|error| error.to_string())
    }

    /// Returns the text of `flow.yaml`.
    pub(crate) fn flow(&self) -> String {
        match (&self.workflow, &self.file) {
            (Some(Value::String(text)), None) => text.clone(),
            (Some(value), None) => value.to_string(),
            (None, Some(file)) => {
                let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
                std::fs::read_to_string(root.join(file)).unwrap()
            }
            _ => panic!("a case has either `workflow` or `file`"),
        }
    }
}

/// Rewrites a plain list of parts as a turn with those parts, and a plain text as a part.
fn messages_as_turns(models: Option<&mut Value>) {
    let models = models.and_then(Value::as_array_mut).into_iter().flatten();
    for turn in models.flat_map(|model| model["says"].as_array_mut().into_iter().flatten()) {
        if turn.is_array() {
            let said = turn.take();
            *turn = serde_json::json!({ "say": said });
        }
        let said = turn.get_mut("say").and_then(Value::as_array_mut);
        for part in said.into_iter().flatten() {
            if let Value::String(text) = part {
                *part = serde_json::json!({ "text": text });
            }
        }
    }
}
