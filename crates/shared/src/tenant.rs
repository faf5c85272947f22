//! Tenants: the owners of the runs of a shared log.

use std::fmt;

/// The longest name of a tenant.
const CHARS_MAX: usize = 63;

/// The name of a tenant: lowercase letters, digits, `-` and `_`, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tenant(String);

/// An error for a text that is not the name of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` cannot name a tenant: use at most 63 small letters, digits, `-` and `_`, a letter first"
)]
pub struct BadTenant {
    /// The text.
    pub text: String,
}

impl Tenant {
    /// Parses a name.
    ///
    /// # Errors
    /// It is not the name of a tenant.
    pub fn new(text: &str) -> Result<Self, BadTenant> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        let begins = text.starts_with(|c: char| c.is_ascii_lowercase());
        if begins && text.len() <= CHARS_MAX && text.chars().all(is_plain) {
            Ok(Self(text.to_owned()))
        } else {
            let text = text.to_owned();
            Err(BadTenant { text })
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_is_a_plain_name() {
        for name in ["a", "acme", "team-2_x"] {
            assert!(Tenant::new(name).is_ok(), "{name}");
        }
        let long = "a".repeat(CHARS_MAX + 1);
        for name in [
            "",
            "Acme",
            "2a",
            "-a",
            "a b",
            "a' OR 1",
            "a\\ -c x=1",
            "é",
            &long,
        ] {
            assert!(Tenant::new(name).is_err(), "{name}");
        }
    }
}
