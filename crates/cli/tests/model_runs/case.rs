//! Case files: a workflow, what its models say, the commands given, and what must come of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::model_runs::case_file;

/// Keys of a case that are not keys of its only command.
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

/// A workflow, and what becomes of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// The workflow, as it stands in `flow.yaml`: its text, or its value.
    workflow: Option<Value>,
    /// The workflow's file instead, from the repository's root.
    file: Option<String>,
    /// Further files of the project.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// What the person's `config.toml` holds beside the model.
    #[serde(default)]
    pub(crate) config: String,
    /// Shell scripts by name, found before any other program; `./NAME` in the project.
    #[serde(default)]
    pub(crate) programs: BTreeMap<String, String>,
    /// The protocols it is played in.
    #[serde(default = "both")]
    pub(crate) providers: Vec<Provider>,
    #[serde(default)]
    pub(crate) models: Vec<Model>,
    pub(crate) steps: Vec<Step>,
    /// Patterns of events that the log holds, in this order, with others in between.
    #[serde(default)]
    pub(crate) log: Vec<Value>,
    /// Patterns of which no event is one.
    #[serde(default)]
    pub(crate) log_lacks: Vec<Value>,
    /// How many events have that name.
    #[serde(default)]
    pub(crate) count: BTreeMap<String, usize>,
    /// A pattern of what `status --json` prints.
    pub(crate) status: Option<Value>,
    /// Files of the project when all is over.
    #[serde(default)]
    pub(crate) left: BTreeMap<String, Option<String>>,
}

/// A protocol that a case is played in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Provider {
    Anthropic,
    OpenAi,
}

/// What a model says to requests in which a text occurs, one after the other.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    /// The text; the first model whose text occurs answers.
    #[serde(rename = "for", default)]
    pub(crate) text: String,
    pub(crate) says: Vec<Turn>,
    /// It may be cancelled before all of it is asked for.
    #[serde(default)]
    pub(crate) may_end: bool,
}

/// What is said to one request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Turn {
    /// What the request must hold.
    pub(crate) asked: Option<Wanted>,
    #[serde(default)]
    pub(crate) say: Vec<Part>,
    /// `length`, `refused`.
    pub(crate) stop: Option<String>,
    /// An error of HTTP instead.
    pub(crate) status: Option<u16>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// The connection breaks after so many bytes.
    pub(crate) broken_at: Option<usize>,
    /// So many requests are answered like this.
    pub(crate) times: Option<usize>,
}

/// A part of a message.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    pub(crate) text: Option<String>,
    pub(crate) thinking: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) input: Option<Value>,
    /// The arguments as they are written.
    pub(crate) raw: Option<String>,
    /// So many of it.
    pub(crate) times: Option<usize>,
}

/// What a request must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    #[serde(default)]
    pub(crate) has: Vec<String>,
    #[serde(default)]
    pub(crate) lacks: Vec<String>,
    /// The names of its tools, in any order.
    pub(crate) tools: Option<Vec<String>>,
    /// A text in each of the newest results.
    pub(crate) results: Option<Vec<String>>,
    /// A pattern of its body.
    pub(crate) body: Option<Value>,
}

/// One command, and what comes of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// Files written before it, or removed.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, Option<String>>,
    #[serde(default = "run_flow")]
    pub(crate) args: Vec<String>,
    /// Given by a script of the person.
    #[serde(default)]
    pub(crate) person: bool,
    /// Given at a terminal, where this is done.
    pub(crate) terminal: Option<Vec<Press>>,
    /// The terminal is one that a tree can be drawn on.
    #[serde(default)]
    pub(crate) tree: bool,
    #[serde(default)]
    pub(crate) exit: i32,
    /// All of the standard output.
    pub(crate) out: Option<String>,
    /// The same as a value.
    pub(crate) out_json: Option<Value>,
    /// In the standard output or error.
    #[serde(default)]
    pub(crate) has: Vec<String>,
    #[serde(default)]
    pub(crate) lacks: Vec<String>,
    /// Requests made so far.
    pub(crate) requests: Option<usize>,
}

/// What a person types when they see a text.
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
    /// Reads a case file.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut case = case_file::read(text, &WHOLE)?;
        // One model for every request needs no text.
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

/// Writes a plain list of parts as a turn that says them, and a plain text as a part.
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
