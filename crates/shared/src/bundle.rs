//! Bundles: the workflows of a tenant in one signed file, with a revision that only rises.
//!
//! A bundle has a manifest (name, revision, expiry, the digest of each file) in a DSSE envelope, and the files. Whoever
//! uses one [checks](CheckedBundle::check) the signature first, with a key of their own, and keeps the last one that was
//! good. A workflow of a project may take its place only if it [permits nothing more](stricter).

mod check;
mod file;
mod kept;
mod manifest;
mod refusal;
mod stricter;
mod tables;

pub use check::CheckedBundle;
pub use file::{BUNDLE_BYTES_MAX, new_bundle};
pub use kept::{Accepted, KeptBundles};
pub use manifest::{BundleName, Manifest};
pub use refusal::BundleRefusal;
pub use stricter::{Looser, check_stricter};
pub use tables::{BundleCard, PublishError};
