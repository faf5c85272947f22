//! What a hook call is answered.

use interlock_core::refusal::Refusal;
use interlock_facts::one_line;
use interlock_project::{ConfigError, NotFound};
use interlock_store::{BindError, StartError, StoreError};
use serde_json::Value;

/// What the hook's process prints and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    /// One JSON document; empty where the exit code says everything.
    pub stdout: String,
    /// One sentence, where there was trouble.
    pub stderr: Option<String>,
    /// 0, or 2: no.
    pub exit: i32,
}

/// Characters of the longest sentence about trouble.
const TROUBLE_MAX: usize = 1_000;

impl HookAnswer {
    pub(crate) fn said(json: &Value) -> Self {
        Self {
            stdout: json.to_string(),
            stderr: None,
            exit: 0,
        }
    }

    pub(crate) fn refused(trouble: &Trouble) -> Self {
        let sentence = one_line(&trouble.to_string(), TROUBLE_MAX);
        Self {
            stdout: String::new(),
            stderr: Some(format!("interlock refuses: {sentence}")),
            exit: 2,
        }
    }
}

/// What a client is told, before it is put into the client's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// No opinion.
    Silent,
    /// The call may run, whoever else would ask.
    Allow,
    /// A person decides, and is told this.
    Ask(String),
    /// The call may not run, and this is why.
    Deny(String),
    /// The agent should know this.
    Inject(String),
    /// The agent should not stop yet, and this is why.
    GoOn(String),
}

/// Why a hook call could not be answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The input is not understood.
    #[error("{0}")]
    Input(String),
    /// The state directory failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session could not be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The project's workflow could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The project's configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The project's workflow is not there.
    #[error(transparent)]
    Workflow(#[from] NotFound),
    /// The project's workflow has errors.
    #[error(
        "the workflow `{name}` of this project cannot be loaded ({first}): try `interlock check`"
    )]
    Invalid {
        /// The workflow.
        name: String,
        /// The first error.
        first: String,
    },
    /// The answer took too long.
    #[error("no answer within {0} ms")]
    Late(u128),
    /// A bug.
    #[error("something in Interlock broke; please report it")]
    Broken,
}

/// Writes a refusal for the agent.
pub(crate) fn sentence(refusal: &Refusal) -> String {
    format!("{}: {}", refusal.code, refusal.message)
}
