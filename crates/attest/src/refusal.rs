//! Why an attestation is refused: a stable code and a sentence that says what to do.

use crate::form::{BYTES_MAX, PAYLOAD_TYPE, SIGNATURES_MAX};

/// A requirement that a statement does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// Its name, as it was asked for.
    pub name: String,
    /// Why it is not met.
    pub why: String,
}

/// Why an attestation is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The file is too large.
    #[error("the file has more than {BYTES_MAX} bytes: it is no attestation")]
    TooLarge,
    /// The bytes are not JSON.
    #[error(
        "{what} is not JSON ({why}): fetch the attestation again, or make a new one with `interlock attest`"
    )]
    NotJson {
        /// The part.
        what: &'static str,
        /// What the parser says.
        why: String,
    },
    /// An object has a key twice, so that readers may differ.
    #[error(
        "{what} has the key `{key}` twice, so it can be read in two ways: do not trust where it comes from"
    )]
    DuplicateKey {
        /// The part.
        what: &'static str,
        /// The key as a JSON Pointer.
        key: String,
    },
    /// The file has another form.
    #[error("the file is neither a DSSE envelope nor a Sigstore bundle with one: {0}")]
    NotAnEnvelope(String),
    /// There are too many signatures.
    #[error("the envelope has {0} signatures, and at most {SIGNATURES_MAX} are read")]
    TooManySignatures(usize),
    /// The payload is of another type.
    #[error(
        "the payload is of type `{0}`, not `{PAYLOAD_TYPE}`: this signature is about something else"
    )]
    PayloadType(String),
    /// There is no signature.
    #[error("the attestation is not signed")]
    Unsigned,
    /// No signature names a trusted key.
    #[error(
        "the attestation is signed with {0}, which is not trusted here: add its public key to the trusted ones if you know whose it is"
    )]
    UnknownKey(String),
    /// A signature of a trusted key does not fit.
    #[error("the signature of key {0} does not fit: the attestation was changed or forged")]
    WrongSignature(String),
    /// The payload is no in-toto statement of the known version.
    #[error("the payload is a statement of type `{0}`, which is not known here")]
    StatementType(String),
    /// The statement is of another version than this program reads.
    #[error(
        "the statement is of version `{0}`, and this Interlock reads `v1`: use a newer Interlock"
    )]
    Version(String),
    /// The statement is about something else than a run.
    #[error("the statement is a `{0}`, not an attestation of a run")]
    PredicateType(String),
    /// The statement lacks something.
    #[error("the statement is malformed: {0}")]
    Malformed(String),
    /// It is about another commit.
    #[error(
        "foreign: the attestation is for commit {found}, not for {wanted}: attest the run again at this commit"
    )]
    OtherCommit {
        /// The commit that it is about.
        found: String,
        /// The commit that was asked for.
        wanted: String,
    },
    /// It is about another tree.
    #[error("foreign: the attestation is for tree {found}, and the commit has tree {wanted}")]
    OtherTree {
        /// The tree that it is about.
        found: String,
        /// The tree of the commit.
        wanted: String,
    },
    /// It was made in another repository.
    #[error("foreign: the attestation was made in {found}, not in `{wanted}`")]
    OtherRepository {
        /// Where it was made.
        found: String,
        /// The repository that was asked for.
        wanted: String,
    },
    /// The run followed another workflow.
    #[error("foreign: the run followed another workflow than `{wanted}`: {why}")]
    OtherWorkflow {
        /// The workflow that was asked for.
        wanted: String,
        /// How it differs.
        why: String,
    },
    /// It is not valid yet.
    #[error("the attestation is from the future ({0}): check the clocks of both machines")]
    NotYet(String),
    /// It is no longer valid.
    #[error("the attestation expired at {0}: attest the run again")]
    Expired(String),
    /// A requirement has a name that nothing has.
    #[error("there is no requirement `{name}`{}: there are {}", meant(near.as_deref()), listed(known))]
    UnknownRequirement {
        /// The name.
        name: String,
        /// The name that was probably meant.
        near: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// Requirements are not met.
    #[error("{}", sentence(.0))]
    Unmet(Vec<Unmet>),
}

fn meant(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn sentence(unmet: &[Unmet]) -> String {
    let parts: Vec<String> = unmet
        .iter()
        .map(|one| format!("`{}` is required and not met: {}", one.name, one.why))
        .collect();
    parts.join("\n")
}

impl Refusal {
    /// Returns its stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::NotJson { .. } => "not_json",
            Self::DuplicateKey { .. } => "duplicate_key",
            Self::NotAnEnvelope(_) => "not_an_envelope",
            Self::TooManySignatures(_) => "too_many_signatures",
            Self::PayloadType(_) => "payload_type",
            Self::Unsigned => "unsigned",
            Self::UnknownKey(_) => "unknown_key",
            Self::WrongSignature(_) => "wrong_signature",
            Self::StatementType(_) => "statement_type",
            Self::Version(_) => "unknown_version",
            Self::PredicateType(_) => "predicate_type",
            Self::Malformed(_) => "malformed",
            Self::OtherCommit { .. } => "other_commit",
            Self::OtherTree { .. } => "other_tree",
            Self::OtherRepository { .. } => "other_repository",
            Self::OtherWorkflow { .. } => "other_workflow",
            Self::NotYet(_) => "not_yet_valid",
            Self::Expired(_) => "expired",
            Self::UnknownRequirement { .. } => "unknown_requirement",
            Self::Unmet(_) => "not_met",
        }
    }
}
