//! One-use notes from the hook that saw a call to the gateway that receives it.

use std::path::PathBuf;

use interlock_core::{
    call::ControlTool,
    names::{AgentId, CallId, Digest, RunId},
};
use serde::{Deserialize, Serialize};

use crate::{
    bindings::{ClientProcess, SessionKey},
    error::StoreError,
    files::Versioned,
    home::Home,
    records::{Key, Record},
};

/// Lifetime of a note in milliseconds: one hour, for a person to answer.
pub const NOTE_AGE_MAX_MS: u64 = 3_600_000;

/// The gateway's tool that a note is about: a control tool, or one of a server behind the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NotedTool(String);

impl NotedTool {
    /// Names a server's tool as the client sees it.
    #[must_use]
    pub fn served(shown: &str) -> Self {
        Self(format!("served {shown}"))
    }
}

impl From<ControlTool> for NotedTool {
    fn from(tool: ControlTool) -> Self {
        let word = match tool {
            ControlTool::GetState => "get_state",
            ControlTool::Transition => "transition",
            ControlTool::ListWorkflows => "list_workflows",
            ControlTool::Start => "start",
            ControlTool::Pause => "pause",
            ControlTool::CreateWorkflow => "create_workflow",
        };
        Self(word.to_owned())
    }
}

/// A hook's knowledge of a call that the gateway needs when it receives the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Session that makes the call.
    pub session: SessionKey,
    /// Run that guards the session.
    pub run: Option<RunId>,
    /// Root of the project that the session belongs to.
    pub project_root: PathBuf,
    /// Sub-agent that makes the call; `None`: the main agent.
    pub agent: Option<AgentId>,
    /// Process of the client.
    pub process: Option<ClientProcess>,
    /// Id of the call.
    pub call: Option<CallId>,
    /// Tool of the call.
    pub tool: NotedTool,
    /// Digest of the arguments, which hook and gateway compute alike.
    pub digest: Digest,
    /// Whether the client was told to ask its person, so that the call arrives only if the person approved.
    pub asked: bool,
    /// Digest of the question asked; an approval of another question does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Digest>,
    /// Whether no person is present at the client.
    #[serde(default)]
    pub unattended: bool,
    /// Call in the run's log under which it has been judged and counted already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<CallId>,
    /// Time of the verdict, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Versioned for Note {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

impl Record for Note {
    const PLACE: &'static str = "notes";
}

/// The key of a note: its call, and the time when it was left.
struct NoteKey {
    key: Key,
    at_ms: u64,
}

impl NoteKey {
    fn new(key: Key) -> Option<Self> {
        let (_, rest) = key.as_str().split_once('-')?;
        let (at, _) = rest.split_once('-')?;
        let at_ms = u64::from_str_radix(at, 16).ok()?;
        Some(Self { key, at_ms })
    }

    // A note from after now is of a clock that was set back: no better than an old one.
    const fn counts(&self, now_ms: u64) -> bool {
        self.at_ms.abs_diff(now_ms) <= NOTE_AGE_MAX_MS
    }

    fn is_about(&self, call: &Key) -> bool {
        self.key.as_str().starts_with(call.as_str())
    }
}

impl Home {
    /// Lists the keys of all notes; those of one call are sorted oldest first.
    fn notes(&self) -> Result<impl Iterator<Item = NoteKey>, StoreError> {
        let keys = self.records::<Note>().keys()?;
        Ok(keys.into_iter().filter_map(NoteKey::new))
    }

    /// Leaves a note for the gateway that is about to receive the call.
    ///
    /// It replaces a note that asked about the same call of the same agent, because that call was rejected. Expired notes are
    /// removed.
    ///
    /// # Errors
    /// The note cannot be written, or one that it replaces cannot be read.
    pub fn leave_note(&self, note: &Note) -> Result<(), StoreError> {
        let notes = self.records::<Note>();
        let call = call_key(&note.tool, &note.digest);
        let is_replaced =
            |old: Note| old.asked && old.session == note.session && old.agent == note.agent;
        for left in self.notes()? {
            let goes = !left.counts(note.at_ms)
                || left.is_about(&call) && notes.get(&left.key)?.is_some_and(is_replaced);
            if goes {
                notes.remove(&left.key)?;
            }
        }
        let (call, random) = (call.as_str(), Key::random()?);
        let name = format!("{call}-{:016x}-{}", note.at_ms, random.as_str());
        let key = Key::named(&name).unwrap_or(random);
        notes.put(&key, note)
    }

    /// Returns whether there is any note.
    ///
    /// # Errors
    /// The directory of notes cannot be listed.
    pub fn has_notes(&self) -> Result<bool, StoreError> {
        Ok(!self.records::<Note>().keys()?.is_empty())
    }

    /// Takes the oldest note for a call that `fits`, so that no other process gets it.
    ///
    /// # Errors
    /// A note for the call cannot be read.
    pub fn take_note(
        &self,
        tool: impl Into<NotedTool>,
        digest: &Digest,
        now_ms: u64,
        fits: impl Fn(&Note) -> bool,
    ) -> Result<Option<Note>, StoreError> {
        let tool = tool.into();
        let notes = self.records::<Note>();
        let call = call_key(&tool, digest);
        let fits = |note: &Note| note.tool == tool && note.digest == *digest && fits(note);
        for left in self.notes()? {
            if !left.is_about(&call) || !left.counts(now_ms) {
                continue;
            }
            if notes.get(&left.key)?.is_some_and(|note| fits(&note))
                && let Some(note) = notes.take(&left.key)?
            {
                return Ok(Some(note));
            }
        }
        Ok(None)
    }

    /// Removes every note of a session that has no call in progress.
    ///
    /// # Errors
    /// A note cannot be read or removed.
    pub fn drop_notes(&self, session: &SessionKey) -> Result<(), StoreError> {
        let notes = self.records::<Note>();
        notes.remove_where(|note| note.session == *session)?;
        Ok(())
    }
}

fn call_key(tool: &NotedTool, digest: &Digest) -> Key {
    Key::of(&[tool.0.as_bytes(), digest.as_str().as_bytes()])
}
