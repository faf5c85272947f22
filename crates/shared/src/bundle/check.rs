//! Checks a bundle: the signature first, then what it says, then its files.

use std::collections::BTreeMap;

use interlock_attest::{Envelope, PublicKey};
use interlock_core::text_digest;
use interlock_formats::{Loaded, NoWorkflows, Source};
use interlock_store::ChainHash;

use super::{
    file::{MANIFEST_TYPE, document, malformed},
    manifest::{Manifest, VERSION},
    refusal::BundleRefusal,
};
use crate::tenant::Tenant;

/// How far the clocks of two machines may differ, in milliseconds.
const SKEW_MS: u64 = 5 * 60 * 1_000;
/// Maximum number of errors of a workflow that are reported.
const ERRORS_MAX: usize = 8;

/// A bundle whose signature and files are right. Whether it is valid now, and newer than others, is asked apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedBundle {
    /// What was signed.
    pub manifest: Manifest,
    /// The id of the key that signed.
    pub key: String,
    /// The text of each file, by path.
    pub files: BTreeMap<String, String>,
    /// The bytes, as they were published.
    pub bytes: Vec<u8>,
}

impl CheckedBundle {
    /// Checks the signature, the tenant and every file.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn check(
        bytes: &[u8],
        trusted: &[PublicKey],
        tenant: &Tenant,
    ) -> Result<Self, BundleRefusal> {
        let document = document(bytes)?;
        let envelope = document.envelope.ok_or(BundleRefusal::Unsigned)?;
        let envelope =
            Envelope::read(envelope.get().as_bytes()).map_err(|error| malformed(&error))?;
        let key = signer(&envelope, trusted)?;
        let manifest: Manifest =
            serde_json::from_slice(&envelope.payload).map_err(|error| malformed(&error))?;
        if manifest.bundle != VERSION {
            return Err(BundleRefusal::Version(manifest.bundle));
        }
        if manifest.tenant != tenant.as_str() {
            return Err(BundleRefusal::OtherTenant {
                found: manifest.tenant,
                wanted: tenant.as_str().to_owned(),
            });
        }
        check_files(&manifest, &document.files)?;
        Ok(Self {
            manifest,
            key,
            files: document.files,
            bytes: bytes.to_vec(),
        })
    }

    /// Checks that it is valid at a time.
    ///
    /// # Errors
    /// It is expired, or signed later.
    pub fn check_time(&self, now_ms: u64) -> Result<(), BundleRefusal> {
        let Manifest {
            issued_ms,
            expires_ms,
            ..
        } = self.manifest;
        if issued_ms > now_ms.saturating_add(SKEW_MS) {
            return Err(BundleRefusal::NotYet(issued_ms));
        }
        if now_ms >= expires_ms {
            return Err(BundleRefusal::Expired(expires_ms));
        }
        Ok(())
    }

    /// Checks that it may follow `seen`: it is the same one, or a newer one of the same name.
    ///
    /// # Errors
    /// It is older, has another name, or is another one with the same revision.
    pub fn check_follows(&self, seen: &Self) -> Result<(), BundleRefusal> {
        let (own, seen_revision) = (self.manifest.revision, seen.manifest.revision);
        if self.manifest.name != seen.manifest.name {
            return Err(BundleRefusal::OtherName {
                found: self.manifest.name.clone(),
                wanted: seen.manifest.name.clone(),
            });
        }
        if own < seen_revision {
            return Err(BundleRefusal::Older {
                found: own,
                seen: seen_revision,
            });
        }
        if own == seen_revision && self.manifest != seen.manifest {
            return Err(BundleRefusal::OtherOfRevision(own));
        }
        Ok(())
    }

    /// Checks that every file is a workflow that a server can start.
    ///
    /// # Errors
    /// One of them is not.
    pub fn check_workflows(&self) -> Result<(), BundleRefusal> {
        for (path, text) in &self.files {
            load(path, text).map_err(|errors| BundleRefusal::Invalid {
                path: path.clone(),
                errors,
            })?;
        }
        Ok(())
    }

    /// Returns the hash of its bytes.
    #[must_use]
    pub fn digest(&self) -> ChainHash {
        ChainHash::of_parts(&[b"interlock bundle", &self.bytes])
    }
}

/// Compiles a workflow that refers to no other file; errors are joined in one line.
pub(super) fn load(name: &str, text: &str) -> Result<Loaded, String> {
    let source = Source::new(name, text);
    interlock_formats::load(&source, None, &NoWorkflows).map_err(|found| {
        let lines = found.iter().take(ERRORS_MAX);
        let lines: Vec<String> = lines
            .map(|found| format!("{}:{}: {}", found.line, found.column, found.message))
            .collect();
        lines.join("; ")
    })
}

/// Returns the id of the trusted key that has signed.
fn signer(envelope: &Envelope, trusted: &[PublicKey]) -> Result<String, BundleRefusal> {
    if envelope.payload_type != MANIFEST_TYPE {
        let what = format!("what is signed is of type `{}`", envelope.payload_type);
        return Err(malformed(&what));
    }
    if envelope.signatures.is_empty() {
        return Err(BundleRefusal::Unsigned);
    }
    let signed = envelope.pae();
    let mut found = None;
    for signature in &envelope.signatures {
        // The id is not signed: it only says which key to try.
        let Some(key) = trusted.iter().find(|key| key.id() == signature.key) else {
            continue;
        };
        if !key.has_signed(&signed, &signature.bytes) {
            return Err(BundleRefusal::Forged);
        }
        found = Some(signature.key.clone());
    }
    found.ok_or_else(|| {
        let shown = |key: &str| format!("key {}", key.chars().take(64).collect::<String>());
        let named: Vec<String> = (envelope.signatures.iter().map(|one| shown(&one.key))).collect();
        BundleRefusal::OtherKey(named.join(", "))
    })
}

fn check_files(manifest: &Manifest, files: &BTreeMap<String, String>) -> Result<(), BundleRefusal> {
    for (path, text) in files {
        match manifest.files.get(path) {
            None => return Err(BundleRefusal::FileAdded(path.clone())),
            Some(digest) if *digest != text_digest(text).to_string() => {
                return Err(BundleRefusal::FileChanged(path.clone()));
            }
            Some(_) => {}
        }
    }
    match manifest
        .files
        .keys()
        .find(|path| !files.contains_key(*path))
    {
        Some(path) => Err(BundleRefusal::FileMissing(path.clone())),
        None => Ok(()),
    }
}
