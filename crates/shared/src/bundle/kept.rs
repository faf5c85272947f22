//! The last good bundle of each server on this machine, which is used where a newer one is refused.

use std::path::{Path, PathBuf};

use interlock_attest::PublicKey;
use interlock_store::{
    ChainHash, StoreError,
    record::{Sync, Versioned, make_directory, read_file, write_file},
};
use serde::{Deserialize, Serialize};

use super::{check::CheckedBundle, file::BUNDLE_BYTES_MAX, refusal::BundleRefusal};
use crate::tenant::Tenant;

/// The folder of bundles in a state directory, which guarded agents neither read nor write.
const FOLDER: &str = "bundles";

/// The content of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptFile {
    /// The text of the bundle, as it was sent.
    bundle: String,
}

impl Versioned for KeptFile {
    const VERSION: i64 = 1;
    // Quotes and line breaks of the texts are written with a backslash twice.
    const BYTES_MAX: u64 = 4 * BUNDLE_BYTES_MAX as u64;
}

/// Where the last good bundle of one server and tenant is kept.
#[derive(Debug)]
pub struct KeptBundles {
    folder: PathBuf,
    file: PathBuf,
    tenant: Tenant,
}

/// The bundle that is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The bundle.
    pub bundle: CheckedBundle,
    /// Why the one that the server sent was refused; `None` if it is the one that is used.
    pub refused: Option<BundleRefusal>,
}

impl KeptBundles {
    /// Returns the place for a server and a tenant, below a state directory.
    #[must_use]
    pub fn new(state: &Path, server: &str, tenant: &Tenant) -> Self {
        let server = server.trim_end_matches('/').as_bytes();
        let name = ChainHash::of_parts(&[b"bundle", server, tenant.as_str().as_bytes()]);
        let folder = state.join(FOLDER);
        Self {
            file: folder.join(format!("{name}.json")),
            folder,
            tenant: tenant.clone(),
        }
    }

    /// Checks a bundle that a server has sent, and keeps it if it is good; otherwise, the kept one is used.
    ///
    /// `sent` is what was sent, or why there is nothing.
    ///
    /// # Errors
    /// Neither is good, or the file cannot be read or written.
    pub fn accept(
        &self,
        sent: Result<&[u8], BundleRefusal>,
        trusted: &[PublicKey],
        now_ms: u64,
    ) -> Result<Result<Accepted, BundleRefusal>, StoreError> {
        let kept = self.read(trusted)?;
        let checked = sent.and_then(|bytes| {
            let bundle = CheckedBundle::check(bytes, trusted, &self.tenant)?;
            if let Some(kept) = &kept {
                bundle.check_follows(kept)?;
            }
            bundle.check_time(now_ms)?;
            Ok(bundle)
        });
        match (checked, kept) {
            (Ok(bundle), _) => {
                make_directory(&self.folder)?;
                let text = String::from_utf8_lossy(&bundle.bytes).into_owned();
                write_file(&self.file, &KeptFile { bundle: text }, Sync::Now)?;
                Ok(Ok(Accepted {
                    bundle,
                    refused: None,
                }))
            }
            (Err(refusal), Some(kept)) if kept.check_time(now_ms).is_ok() => Ok(Ok(Accepted {
                bundle: kept,
                refused: Some(refusal),
            })),
            (Err(refusal), _) => Ok(Err(refusal)),
        }
    }

    /// Reads the kept bundle; one that another key has signed does not count.
    fn read(&self, trusted: &[PublicKey]) -> Result<Option<CheckedBundle>, StoreError> {
        let Some(KeptFile { bundle }) = read_file(&self.file)? else {
            return Ok(None);
        };
        match CheckedBundle::check(bundle.as_bytes(), trusted, &self.tenant) {
            Ok(bundle) => Ok(Some(bundle)),
            Err(BundleRefusal::OtherKey(_)) => Ok(None),
            Err(refusal) => Err(StoreError::Elsewhere(
                format!(
                    "`{}` is damaged ({refusal}): remove the file if nobody but you can write there",
                    self.file.display()
                )
                .into(),
            )),
        }
    }
}
