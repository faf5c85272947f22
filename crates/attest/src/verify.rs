//! Checks an attestation: the signatures first, then what it says.

use serde_json::Value;

use crate::{
    envelope::{Envelope, cut, document},
    form::PAYLOAD_TYPE,
    keys::PublicKey,
    refusal::{Refusal, Unmet},
    requirement::Requirement,
    statement::{PREDICATE_FAMILY, PREDICATE_TYPE, STATEMENT_TYPE, Statement, time},
};

/// How far the clocks of two machines may differ, in milliseconds.
const SKEW_MS: u64 = 5 * 60 * 1_000;

/// What an attestation must be about.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The commit, in full.
    pub commit: &'a str,
    /// The commit's tree; `None`: the repository is not at hand, and the commit's id stands for it.
    pub tree: Option<&'a str>,
    /// The repository, as `host/path`; `None`: any.
    pub repository: Option<&'a str>,
    /// The workflow's name and the hash of its machine; `None`: any.
    pub workflow: Option<ExpectedWorkflow<'a>>,
    /// Names of what is required.
    pub require: &'a [String],
    /// The time, in milliseconds since 1970.
    pub now_ms: u64,
}

/// The workflow that a run must have followed.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedWorkflow<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// Hash of its machine.
    pub machine: &'a str,
    /// SHA-256 of the file's text; `None`: not known.
    pub text: Option<&'a str>,
}

/// An attestation that is as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// What was signed.
    pub statement: Statement,
    /// The trusted keys that have signed it.
    pub keys: Vec<PublicKey>,
}

/// Checks an attestation against trusted keys and what it must be about.
///
/// One signature of a trusted key suffices; every signature that names a trusted key must fit. Others are ignored.
///
/// # Errors
/// Says what is wrong with it.
pub fn verify(
    bytes: &[u8],
    trusted: &[PublicKey],
    expected: &Expected<'_>,
) -> Result<Verified, Refusal> {
    let envelope = Envelope::read(bytes)?;
    let keys = signers(&envelope, trusted)?;
    let statement = statement(&envelope.payload)?;
    about(&statement, expected)?;
    lifetime(&statement, expected.now_ms)?;
    required(&statement, expected.require)?;
    Ok(Verified { statement, keys })
}

/// Returns the trusted keys that have signed an envelope.
fn signers(envelope: &Envelope, trusted: &[PublicKey]) -> Result<Vec<PublicKey>, Refusal> {
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(Refusal::PayloadType(cut(&envelope.payload_type)));
    }
    if envelope.signatures.is_empty() {
        return Err(Refusal::Unsigned);
    }
    let signed = envelope.pae();
    let known: Vec<(String, &PublicKey)> = trusted.iter().map(|key| (key.id(), key)).collect();
    let mut found = Vec::new();
    for signature in &envelope.signatures {
        // The id is not signed: it only says which key to try.
        let Some((id, key)) = known.iter().find(|(id, _)| *id == signature.key) else {
            continue;
        };
        if !key.has_signed(&signed, &signature.bytes) {
            return Err(Refusal::WrongSignature(id.clone()));
        }
        found.push(**key);
    }
    if found.is_empty() {
        let named: Vec<String> = envelope
            .signatures
            .iter()
            .map(|one| match one.key.as_str() {
                "" => "a key without id".to_owned(),
                key => format!("key {}", cut(key)),
            })
            .collect();
        return Err(Refusal::UnknownKey(named.join(", ")));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Reads the statement of a payload whose signature fits.
fn statement(payload: &[u8]) -> Result<Statement, Refusal> {
    let value = document(payload, "the signed payload")?;
    let text = |name: &str| match value.get(name) {
        Some(Value::String(text)) => Ok(text.as_str()),
        _ => Err(Refusal::Malformed(format!("`{name}` is missing"))),
    };
    let kind = text("_type")?;
    if kind != STATEMENT_TYPE {
        return Err(Refusal::StatementType(cut(kind)));
    }
    let predicate = text("predicateType")?;
    if predicate != PREDICATE_TYPE {
        return Err(match predicate.strip_prefix(PREDICATE_FAMILY) {
            Some(version) => Refusal::Version(cut(version)),
            None => Refusal::PredicateType(cut(predicate)),
        });
    }
    serde_json::from_value(value).map_err(|error| Refusal::Malformed(cut(&error.to_string())))
}

/// Checks commit, tree, repository and workflow.
fn about(statement: &Statement, expected: &Expected<'_>) -> Result<(), Refusal> {
    let lacks = |what: &str| Refusal::Malformed(format!("it does not name exactly one {what}"));
    let commit = statement.commit().ok_or_else(|| lacks("commit"))?;
    let tree = statement.tree().ok_or_else(|| lacks("tree"))?;
    if commit != expected.commit {
        return Err(Refusal::OtherCommit {
            found: cut(commit),
            wanted: expected.commit.to_owned(),
        });
    }
    if let Some(wanted) = expected.tree.filter(|wanted| *wanted != tree) {
        return Err(Refusal::OtherTree {
            found: cut(tree),
            wanted: wanted.to_owned(),
        });
    }
    let predicate = &statement.predicate;
    let repository = predicate.repository.as_deref();
    if let Some(wanted) = expected
        .repository
        .filter(|wanted| Some(*wanted) != repository)
    {
        return Err(Refusal::OtherRepository {
            found: repository.map_or_else(
                || "a repository without `origin`".to_owned(),
                |found| format!("`{}`", cut(found)),
            ),
            wanted: wanted.to_owned(),
        });
    }
    let Some(wanted) = expected.workflow else {
        return Ok(());
    };
    if predicate.workflow.machine.sha256.as_deref() == Some(wanted.machine) {
        return Ok(());
    }
    let found = &predicate.workflow;
    let same_text = wanted.text.is_some() && found.file.digest.sha256.as_deref() == wanted.text;
    let why = match same_text {
        true => format!(
            "the file is the same, but a workflow that it uses has changed, or another version of Interlock compiled it ({})",
            cut(&predicate.producer)
        ),
        false => format!(
            "`{}` ({}), whose text was another when the run began",
            cut(&found.id),
            cut(&found.file.name)
        ),
    };
    Err(Refusal::OtherWorkflow {
        wanted: wanted.name.to_owned(),
        why,
    })
}

/// Checks that a statement is valid now.
fn lifetime(statement: &Statement, now_ms: u64) -> Result<(), Refusal> {
    let at = |name: &str, text: &str| {
        time(text).ok_or_else(|| Refusal::Malformed(format!("`{name}` is not a time")))
    };
    let predicate = &statement.predicate;
    let issued = at("issuedAt", &predicate.issued_at)?;
    let expires = at("expiresAt", &predicate.expires_at)?;
    if issued > now_ms.saturating_add(SKEW_MS) {
        return Err(Refusal::NotYet(cut(&predicate.issued_at)));
    }
    if now_ms >= expires {
        return Err(Refusal::Expired(cut(&predicate.expires_at)));
    }
    Ok(())
}

/// Checks every requirement; an unknown one is refused before any that is not met.
fn required(statement: &Statement, names: &[String]) -> Result<(), Refusal> {
    let predicate = &statement.predicate;
    let mut found = Vec::new();
    for name in names {
        found.push((name, Requirement::find(name, predicate)?));
    }
    let unmet: Vec<Unmet> = found
        .into_iter()
        .filter_map(|(name, one)| one.check(name, predicate).err())
        .collect();
    match unmet.is_empty() {
        true => Ok(()),
        false => Err(Refusal::Unmet(unmet)),
    }
}
