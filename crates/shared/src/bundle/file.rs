//! The file of a bundle: the signed manifest and the texts of its workflows, in one JSON document.

use std::collections::BTreeMap;

use interlock_attest::{Envelope, SecretKey};
use interlock_core::text_digest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    manifest::{BundleName, Manifest, VERSION, is_path},
    refusal::BundleRefusal,
};
use crate::tenant::Tenant;

/// Maximum size of a bundle in bytes.
pub const BUNDLE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Maximum number of files.
const FILES_MAX: usize = 64;
/// The type of what is signed.
pub(super) const MANIFEST_TYPE: &str = "application/vnd.interlock.bundle+json";
/// Number of characters of foreign text in a message.
const SHOWN_MAX: usize = 120;

/// The document of a bundle.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    /// The manifest in a DSSE envelope; a document without one is not signed.
    #[serde(default)]
    pub(super) envelope: Option<Box<RawValue>>,
    /// The text of each file, by path.
    pub(super) files: BTreeMap<String, String>,
}

/// Parses the document of a bundle, in which nothing occurs twice.
pub(super) fn document(bytes: &[u8]) -> Result<Document, BundleRefusal> {
    if bytes.len() > BUNDLE_BYTES_MAX {
        return Err(BundleRefusal::TooLarge);
    }
    let document: Document = serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
    // Another reader may take the other value of a duplicate key.
    interlock_json::parse_unique(bytes).map_err(|error| malformed(&error))?;
    if document.files.len() > FILES_MAX {
        let what = format!(
            "it has {} files, more than {FILES_MAX}",
            document.files.len()
        );
        return Err(BundleRefusal::Malformed(what));
    }
    match document.files.keys().find(|path| !is_path(path)) {
        Some(path) => Err(malformed(&format!(
            "`{path}` is no plain path of a workflow file"
        ))),
        None => Ok(document),
    }
}

pub(super) fn malformed(what: &dyn std::fmt::Display) -> BundleRefusal {
    BundleRefusal::Malformed(what.to_string().chars().take(SHOWN_MAX).collect())
}

/// Makes and signs a bundle of `files`, valid from and until two times, and returns its bytes.
///
/// # Errors
/// A path, the number or the size of the files is not acceptable, or the expiry is not after now.
pub fn new_bundle(
    (tenant, name, revision): (&Tenant, &BundleName, u64),
    (issued_ms, expires_ms): (u64, u64),
    files: BTreeMap<String, String>,
    key: &SecretKey,
) -> Result<Vec<u8>, BundleRefusal> {
    if revision == 0 || u32::try_from(revision).is_err() {
        return Err(malformed(&"a revision is a number from 1 to 4294967295"));
    }
    if files.is_empty() {
        return Err(malformed(&"it has no files"));
    }
    if expires_ms <= issued_ms {
        return Err(BundleRefusal::Expired(expires_ms));
    }
    let digests = files
        .iter()
        .map(|(path, text)| (path.clone(), text_digest(text).to_string()));
    let manifest = Manifest {
        bundle: VERSION,
        tenant: tenant.as_str().to_owned(),
        name: name.as_str().to_owned(),
        revision,
        issued_ms,
        expires_ms,
        files: digests.collect(),
    };
    let envelope = Envelope {
        payload_type: MANIFEST_TYPE.to_owned(),
        payload: serde_json::to_vec(&manifest).map_err(|error| malformed(&error))?,
        signatures: Vec::new(),
    };
    let envelope = RawValue::from_string(envelope.signed(key).to_json());
    let made = Document {
        envelope: Some(envelope.map_err(|error| malformed(&error))?),
        files,
    };
    let bytes = serde_json::to_vec(&made).map_err(|error| malformed(&error))?;
    // What is written can be read.
    document(&bytes)?;
    Ok(bytes)
}
