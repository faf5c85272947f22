//! One-use notes from the hook that saw a call to the gateway that receives it.

use std::{fs, io, path::PathBuf};

use interlock_core::{
    call::ControlTool,
    names::{AgentId, CallId, Digest, RunId},
};
use serde::{Deserialize, Serialize};

use crate::{
    bindings::{ClientProcess, SessionKey},
    chain::{ChainHash, hex},
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
    id,
};

/// Longest that a note counts, in milliseconds: an hour for a person to answer.
pub const NOTE_AGE_MAX_MS: u64 = 3_600_000;

const NOTES: &str = "notes";

/// Which tool of the gateway a note is about: a control tool, or one of a server behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NotedTool(String);

impl NotedTool {
    /// Takes a server's tool by the name under which the client sees it.
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

/// What a hook knows of a call and the gateway that receives it does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// The session that makes the call.
    pub session: SessionKey,
    /// The run that guards it.
    pub run: Option<RunId>,
    /// The project it belongs to.
    pub project_root: PathBuf,
    /// The sub-agent that makes it; `None`: the main agent.
    pub agent: Option<AgentId>,
    /// The client's process.
    pub process: Option<ClientProcess>,
    /// The call's id.
    pub call: Option<CallId>,
    /// Which tool it is.
    pub tool: NotedTool,
    /// Digest of the arguments, made alike by hook and server.
    pub digest: Digest,
    /// Whether the client was told to ask its person, so that the call's coming is a yes.
    pub asked: bool,
    /// What exactly it asked; a yes to anything else does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Digest>,
    /// Whether nobody sits at the client to be asked.
    #[serde(default)]
    pub unattended: bool,
    /// The call in the run's log under which it was judged and counted already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<CallId>,
    /// When it was judged, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Versioned for Note {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

/// The name of a note's file, which says when it was left.
struct NoteName<'a> {
    text: &'a str,
    at_ms: u64,
}

impl<'a> NoteName<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let (_, rest) = text.strip_suffix(".json")?.split_once('-')?;
        let (at, _) = rest.split_once('-')?;
        let at_ms = u64::from_str_radix(at, 16).ok()?;
        Some(Self { text, at_ms })
    }

    // A note from after now is of a clock that was set back: no better than an old one.
    const fn counts(&self, now_ms: u64) -> bool {
        self.at_ms.abs_diff(now_ms) <= NOTE_AGE_MAX_MS
    }
}

impl Home {
    /// Leaves a note for the server that is about to receive the call.
    ///
    /// It takes the place of a note that asked for the same call of the same
    /// agent: that one's person has said no. Notes too old to count are removed.
    ///
    /// # Errors
    /// The note cannot be written, or one that it should replace cannot be read.
    pub fn leave_note(&self, note: &Note) -> Result<(), StoreError> {
        let directory = self.made_place(NOTES)?;
        let call = call_name(&note.tool, &note.digest);
        for name in files::names(&directory)? {
            let path = directory.join(&name);
            let Some(left) = NoteName::new(&name) else {
                continue;
            };
            let goes = !left.counts(note.at_ms)
                || left.text.starts_with(&call)
                    && files::read::<Note>(&path)?.is_some_and(|old| {
                        old.asked && old.session == note.session && old.agent == note.agent
                    });
            if goes {
                files::remove(&path)?;
            }
        }
        let random = hex(&id::random::<8>()?);
        let path = directory.join(format!("{call}-{:016x}-{random}.json", note.at_ms));
        files::write(&path, note, Sync::Later)
    }

    /// Tells whether any note is left, whosever it is.
    ///
    /// # Errors
    /// The directory of notes cannot be listed.
    pub fn has_notes(&self) -> Result<bool, StoreError> {
        match self.existing()? {
            Some(root) => Ok(!files::names(&root.join(NOTES))?.is_empty()),
            None => Ok(false),
        }
    }

    /// Takes the oldest note for a call that `fits`; nobody else gets it.
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
        let Some(root) = self.existing()? else {
            return Ok(None);
        };
        let directory = root.join(NOTES);
        let call = call_name(&tool, digest);
        let names = files::names(&directory)?;
        let left = names.iter().filter_map(|name| NoteName::new(name));
        for name in left.filter(|left| left.text.starts_with(&call) && left.counts(now_ms)) {
            let path = directory.join(name.text);
            let Some(note) = files::read::<Note>(&path)? else {
                continue;
            };
            if note.tool == tool && note.digest == *digest && fits(&note) {
                let taken = directory.join(format!("{}.taken", hex(&id::random::<8>()?)));
                // Whoever renames it has it.
                match fs::rename(&path, &taken) {
                    Ok(()) => {
                        files::remove(&taken)?;
                        return Ok(Some(note));
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(StoreError::io("take", &path, error)),
                }
            }
        }
        Ok(None)
    }

    /// Removes every note of a session: none of its calls is under way.
    ///
    /// # Errors
    /// A note cannot be read or removed.
    pub fn drop_notes(&self, session: &SessionKey) -> Result<(), StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(());
        };
        let directory = root.join(NOTES);
        for name in files::names(&directory)? {
            let path = directory.join(&name);
            if NoteName::new(&name).is_some()
                && files::read::<Note>(&path)?.is_some_and(|note| note.session == *session)
            {
                files::remove(&path)?;
            }
        }
        Ok(())
    }
}

fn call_name(tool: &NotedTool, digest: &Digest) -> String {
    ChainHash::of_parts(&[tool.0.as_bytes(), digest.as_str().as_bytes()]).to_string()
}
