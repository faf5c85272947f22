//! Names and bounds of the form that attestations have.

/// The type of the payload: an in-toto statement in JSON.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// The type of the bundles that are written and read.
pub const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// Most bytes of an attestation that are read.
pub const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most signatures of one envelope.
pub const SIGNATURES_MAX: usize = 16;
