//! The content hash of a machine.

use super::Machine;
use crate::names::Digest;

impl Machine {
    /// Returns the SHA-256 of the machine without its hash, as lower-case hex.
    #[must_use]
    pub fn content_hash(&self) -> String {
        let mut bare = self.clone();
        bare.hash = String::new();
        // A machine is made of text, numbers and ordered maps: writing it cannot fail.
        let bytes = serde_json::to_vec(&bare).unwrap_or_default();
        Digest::of(bytes).to_string()
    }

    /// Sets the hash to the content hash.
    #[must_use]
    pub fn seal(mut self) -> Self {
        self.hash = self.content_hash();
        self
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]
    use super::*;

    fn machine(meta: &str) -> Machine {
        let text = format!(
            r#"{{"id":"m","initial":"a","states":{{}},"limits":{},"meta":{meta}}}"#,
            limits()
        );
        serde_json::from_str(&text).unwrap()
    }

    fn limits() -> String {
        serde_json::to_string(&super::super::Limits::default()).unwrap()
    }

    #[test]
    fn a_seal_holds_for_exactly_one_content() {
        let sealed = machine(r#"{"n":1}"#).seal();
        assert_eq!(sealed.hash.len(), 64);
        assert_eq!(sealed.content_hash(), sealed.hash);
        assert_ne!(machine(r#"{"n":2}"#).seal().hash, sealed.hash);
        assert_ne!(machine(r#"{"n":1.0}"#).seal().hash, sealed.hash);
    }

    #[test]
    fn a_sealed_machine_keeps_its_hash_through_json() {
        let sealed = machine(r#"{"big":12345678901234567890123,"order":{"z":1,"a":2}}"#).seal();
        let again: Machine = serde_json::from_slice(&serde_json::to_vec(&sealed).unwrap()).unwrap();
        assert_eq!(again.content_hash(), sealed.hash);
    }
}
