//! Why a bundle is refused: a stable code and a sentence that says what to do.

use interlock_core::instant::utc;

use super::file::BUNDLE_BYTES_MAX;

/// Why a bundle is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleRefusal {
    /// It is too large.
    #[error("the bundle has more than {BUNDLE_BYTES_MAX} bytes")]
    TooLarge,
    /// It is no bundle.
    #[error("this is no bundle: {0}")]
    Malformed(String),
    /// It has another version.
    #[error("the bundle has form {0}, and this Interlock reads 1: use a newer Interlock")]
    Version(u32),
    /// There is no signature.
    #[error("the bundle is not signed")]
    Unsigned,
    /// It is signed with another key.
    #[error("the bundle is signed with {0}, which is not trusted here")]
    OtherKey(String),
    /// The signature does not fit.
    #[error("the signature of the bundle does not fit: its manifest was changed or forged")]
    Forged,
    /// It is for another tenant.
    #[error("the bundle is for tenant `{found}`, not for `{wanted}`")]
    OtherTenant {
        /// The tenant that it is for.
        found: String,
        /// The tenant that was expected.
        wanted: String,
    },
    /// It has another name.
    #[error(
        "the bundle is named `{found}`, and the one before it `{wanted}`: all revisions have one name"
    )]
    OtherName {
        /// Its name.
        found: String,
        /// The name of the one before it.
        wanted: String,
    },
    /// It is from the future.
    #[error("the bundle was signed in the future ({}): check the clocks", utc(*.0))]
    NotYet(u64),
    /// It is no longer valid.
    #[error("the bundle expired at {}: sign and publish a new revision", utc(*.0))]
    Expired(u64),
    /// It is older than one that was seen.
    #[error(
        "the bundle has revision {found}, and revision {seen} was seen before: an older one is not used again"
    )]
    Older {
        /// Its revision.
        found: u64,
        /// The highest revision that was seen.
        seen: u64,
    },
    /// Another bundle has the same revision.
    #[error("another bundle with revision {0} was seen before: give each its own revision")]
    OtherOfRevision(u64),
    /// A file is not what was signed.
    #[error("file `{0}` of the bundle is not what was signed: it was changed")]
    FileChanged(String),
    /// A file is there that was not signed.
    #[error("file `{0}` of the bundle is not in its manifest: it was added")]
    FileAdded(String),
    /// A file is missing.
    #[error("file `{0}` is in the manifest and not in the bundle: it is missing")]
    FileMissing(String),
    /// A workflow has errors.
    #[error("file `{path}` of the bundle is no workflow that a server can start: {errors}")]
    Invalid {
        /// The path of the file.
        path: String,
        /// Its errors.
        errors: String,
    },
    /// The server has none that is good.
    #[error("the server has no good bundle: {0}")]
    OfServer(String),
    /// There is none.
    #[error("no bundle was published for the tenant: `interlock shared bundle publish` does it")]
    Missing,
}

impl BundleRefusal {
    /// Returns its stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge => "bundle_too_large",
            Self::Malformed(_) => "bundle_malformed",
            Self::Version(_) => "bundle_unknown_version",
            Self::Unsigned => "bundle_unsigned",
            Self::OtherKey(_) => "bundle_other_key",
            Self::Forged => "bundle_wrong_signature",
            Self::OtherTenant { .. } => "bundle_other_tenant",
            Self::OtherName { .. } => "bundle_other_name",
            Self::NotYet(_) => "bundle_not_yet_valid",
            Self::Expired(_) => "bundle_expired",
            Self::Older { .. } => "bundle_older",
            Self::OtherOfRevision(_) => "bundle_other_of_revision",
            Self::FileChanged(_) => "bundle_file_changed",
            Self::FileAdded(_) => "bundle_file_added",
            Self::FileMissing(_) => "bundle_file_missing",
            Self::Invalid { .. } => "bundle_workflow_invalid",
            Self::OfServer(_) => "bundle_of_server",
            Self::Missing => "no_bundle",
        }
    }
}
