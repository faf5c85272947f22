//! The manifest of a bundle, which is what is signed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of the form.
pub(super) const VERSION: u32 = 1;
/// The longest name of a bundle, and of one part of a path.
const NAME_CHARS_MAX: usize = 63;
/// The longest path of a file.
const PATH_CHARS_MAX: usize = 200;
/// How the names of workflow files end.
const ENDINGS: [&str; 3] = [".json", ".yaml", ".yml"];

/// What is signed of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of the form.
    pub bundle: u32,
    /// The tenant that it is for.
    pub tenant: String,
    /// Its name, which all revisions share.
    pub name: String,
    /// Its revision, which is higher than that of any earlier one.
    pub revision: u64,
    /// When it was signed, in milliseconds since 1970.
    pub issued_ms: u64,
    /// When it is no longer valid, in milliseconds since 1970.
    pub expires_ms: u64,
    /// The SHA-256 of each file in lower-case hex, by path.
    pub files: BTreeMap<String, String>,
}

/// The name of a bundle: small letters, digits, `-` and `_`, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleName(String);

impl BundleName {
    /// Parses a name; `None` if it is not one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        let begins = text.starts_with(|c: char| c.is_ascii_lowercase());
        let fits = begins && text.len() <= NAME_CHARS_MAX && text.chars().all(is_plain);
        fits.then(|| Self(text.to_owned()))
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether a path names a workflow file below the folder of the bundle, in one spelling only.
pub(super) fn is_path(path: &str) -> bool {
    let is_part = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let begins = part.starts_with(|c: char| c.is_ascii_alphanumeric());
        begins && part.len() <= NAME_CHARS_MAX && part.chars().all(is_plain)
    };
    let ends = ENDINGS.iter().any(|ending| path.ends_with(ending));
    ends && path.len() <= PATH_CHARS_MAX && path.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_in_the_bundle() {
        for path in ["fix.yaml", "a/b.json", "A-1_x.yml"] {
            assert!(is_path(path), "{path}");
        }
        for path in [
            "",
            "fix",
            "fix.toml",
            "/fix.yaml",
            "../fix.yaml",
            "a/../fix.yaml",
            "./fix.yaml",
            "a//fix.yaml",
            ".fix.yaml",
            "a\\fix.yaml",
            "fix.yaml/",
            "fix\u{a0}.yaml",
            "fix .yaml",
        ] {
            assert!(!is_path(path), "{path}");
        }
    }

    #[test]
    fn a_name_is_plain() {
        assert!(BundleName::new("shop-2").is_some());
        for name in ["", "Shop", "2shop", "a b", "a/b"] {
            assert_eq!(BundleName::new(name), None, "{name}");
        }
    }
}
