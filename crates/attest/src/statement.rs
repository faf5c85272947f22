//! The statement: which commit it is about, and what the run proves.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Type of the statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Type of the predicate; the last part is its version.
pub const PREDICATE_TYPE: &str = "https://github.com/interlock-cli/interlock/attestation/run/v1";
/// The same without the version.
pub(crate) const PREDICATE_FAMILY: &str =
    "https://github.com/interlock-cli/interlock/attestation/run/";

/// An in-toto statement about a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub kind: String,
    /// The commit and its tree.
    pub subject: Vec<Subject>,
    /// [`PREDICATE_TYPE`].
    pub predicate_type: String,
    /// What the run proves.
    pub predicate: Predicate,
}

/// What a statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// `commit` or `tree`.
    pub name: String,
    /// Its digest.
    pub digest: Digest,
}

/// A digest by its algorithm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Digest {
    /// Id of a commit of git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// Id of a tree of git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_tree: Option<String>,
    /// A SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl Digest {
    /// Makes the digest of a SHA-256 in hex.
    #[must_use]
    pub fn sha256(hex: impl Into<String>) -> Self {
        Self {
            sha256: Some(hex.into()),
            ..Self::default()
        }
    }
}

/// What a run proves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Predicate {
    /// Program and version that looked at the log.
    pub producer: String,
    /// When it was signed.
    pub issued_at: String,
    /// When it is no longer valid.
    pub expires_at: String,
    /// Where the repository is fetched from, as `host/path`; `None`: it has no `origin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The run.
    pub run: RunFacts,
    /// Its workflow.
    pub workflow: WorkflowFacts,
    /// Its log.
    pub log: LogFacts,
    /// The workflow's named guards, judged at the log's head.
    pub guards: Vec<GuardFacts>,
    /// What Interlock saw.
    pub evidence: Vec<EvidenceFacts>,
    /// What people approved.
    pub approvals: Vec<ApprovalFacts>,
}

/// The run of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFacts {
    /// Its id.
    pub id: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `guarded` or `durable`.
    pub kind: String,
    /// When it began.
    pub started_at: String,
    /// Who started it.
    pub started_by: String,
    /// The commit that the project was at when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_commit: Option<String>,
    /// Its status, as `interlock status` shows it.
    pub status: String,
    /// Its states.
    pub states: Vec<String>,
}

/// The workflow of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowFacts {
    /// Its id.
    pub id: String,
    /// Hash of the machine that it compiles to, with everything that it uses.
    pub machine: Digest,
    /// The file.
    pub file: FileFacts,
    /// Whether a person moved the run to another version of the workflow.
    pub adopted: bool,
}

/// A file of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Its name.
    pub name: String,
    /// Digest of its text when the run began.
    pub digest: Digest,
}

/// The log of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFacts {
    /// Number of events.
    pub events: u64,
    /// Hash of the last event, which covers all before it.
    pub head: Digest,
}

/// A named guard of the workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GuardFacts {
    /// Its name.
    pub name: String,
    /// Whether it holds at the log's head.
    pub holds: bool,
    /// Whether it holds with evidence that was seen on the files of this commit; `None`: it asks for none of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_commit: Option<bool>,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Keys of the evidence that it asks for and that was seen.
    pub evidence: Vec<String>,
    /// Whether it reads values that the agent or the run's input set.
    pub reads_context: bool,
}

/// A call that counts as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceFacts {
    /// Its key.
    pub key: String,
    /// Exit code, 0 for a tool that succeeded; `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
    /// Number of the event that allowed the call.
    pub event: u64,
    /// When that was.
    pub at: String,
    /// Whether every file of the commit is as it was for the call.
    pub on_commit: bool,
    /// Why that cannot be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What its test report says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportFacts>,
}

/// Numbers of a test report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportFacts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that were skipped.
    pub skipped: u64,
}

/// A person's approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalFacts {
    /// Id of the request.
    pub id: String,
    /// `transition`, `entry` or `call`.
    pub kind: String,
    /// The event, state or tool that was approved.
    pub about: String,
    /// Who approved it.
    pub by: String,
    /// Number of the event with the answer.
    pub event: u64,
    /// When it was given.
    pub at: String,
    /// Whether it is signed with a passkey, whose signature was checked.
    pub passkey: bool,
    /// Whether every file of the commit is as it was when it was given.
    pub on_commit: bool,
    /// Why that cannot be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Statement {
    /// Makes a statement about a commit.
    #[must_use]
    pub fn new(commit: &str, tree: &str, predicate: Predicate) -> Self {
        let subject = |name: &str, digest: Digest| Subject {
            name: name.to_owned(),
            digest,
        };
        Self {
            kind: STATEMENT_TYPE.to_owned(),
            subject: vec![
                subject(
                    "commit",
                    Digest {
                        git_commit: Some(commit.to_owned()),
                        ..Digest::default()
                    },
                ),
                subject(
                    "tree",
                    Digest {
                        git_tree: Some(tree.to_owned()),
                        ..Digest::default()
                    },
                ),
            ],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate,
        }
    }

    /// Returns the only commit that it is about.
    #[must_use]
    pub fn commit(&self) -> Option<&str> {
        only(
            self.subject
                .iter()
                .filter_map(|one| one.digest.git_commit.as_deref()),
        )
    }

    /// Returns the only tree that it is about.
    #[must_use]
    pub fn tree(&self) -> Option<&str> {
        only(
            self.subject
                .iter()
                .filter_map(|one| one.digest.git_tree.as_deref()),
        )
    }
}

fn only<'a>(mut all: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

/// Writes a time in milliseconds since 1970 as RFC 3339.
#[must_use]
pub fn moment(at_ms: u64) -> String {
    // The last that is written is in the year 9999.
    let at_ms = at_ms.min(253_402_300_799_000);
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(at_ms)).to_string()
}

/// Reads a time of RFC 3339, in milliseconds since 1970; `None` if it is not one.
#[must_use]
pub fn time(text: &str) -> Option<u64> {
    let at: SystemTime = humantime::parse_rfc3339(text).ok()?;
    let since = at.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}
