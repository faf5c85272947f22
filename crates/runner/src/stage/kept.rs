//! Messages stored next to the log: those of a model, and those to it.

use interlock_core::names::Digest;
use interlock_models::Answer;
use interlock_store::{Messages, StoreError};
use interlock_tools::SeenFile;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A message of a model as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptAnswer {
    /// Message of the model.
    pub answer: Answer,
}

/// The result of a call as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptResult {
    /// Text returned to the model.
    pub text: String,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Digest of the whole result, if `text` holds only parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Digest>,
    /// Files whose content the model has seen in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<SeenFile>,
}

/// Stores a value; its digest is computed from the stored bytes.
pub(crate) fn keep(messages: &Messages, value: &impl Serialize) -> Result<Digest, StoreError> {
    // Texts, numbers and lists of them: everything in it can be represented in JSON.
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    messages.keep(&bytes)
}

/// Reads a stored value.
pub(crate) fn read<T: DeserializeOwned>(
    messages: &Messages,
    digest: &Digest,
) -> Result<T, Unreadable> {
    let bytes = messages.read(digest)?;
    serde_json::from_slice(&bytes).map_err(|source| Unreadable::Other {
        digest: digest.clone(),
        source,
    })
}

/// Why a stored message cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The file cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The content has another format.
    #[error("message `{digest}` has an unknown format: {source}")]
    Other {
        /// Digest of the message.
        digest: Digest,
        /// The underlying error.
        source: serde_json::Error,
    },
}
