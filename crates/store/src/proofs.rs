//! Records of when the properties of a workflow file were last checked, and with which result.
//!
//! They tell how old a proof is. No decision depends on them.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    chain::ChainHash,
    error::StoreError,
    files::Versioned,
    home::Home,
    records::{Expiring, Key, Record},
};

/// Lifetime of a record in milliseconds: one year.
const AGE_MAX_MS: u64 = 365 * 24 * 3_600_000;
/// Number of records above which old ones are removed.
const KEPT_MAX: usize = 512;
/// Maximum number of properties named in one record; the first ones are named.
const NAMED_MAX: usize = 1_000;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProofRecord {
    /// Hash of everything that the proof was about.
    subject: String,
    verdicts: Vec<(String, String)>,
    at_ms: u64,
}

impl Versioned for ProofRecord {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 1024 * 1024;
}

impl Record for ProofRecord {
    const PLACE: &'static str = "proofs";
}

impl Expiring for ProofRecord {
    const AGE_MAX_MS: u64 = AGE_MAX_MS;
    const KEPT_MAX: usize = KEPT_MAX;

    fn at_ms(&self) -> u64 {
        self.at_ms
    }
}

/// The last proof of a workflow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastProof {
    /// Time of the proof, in milliseconds since 1970.
    pub at_ms: u64,
    /// Name and verdict of each property.
    pub verdicts: Vec<(String, String)>,
    /// Whether the workflow or its properties have changed since.
    pub is_changed: bool,
}

impl Home {
    /// Records the result of a proof of the workflow file at `path`, in place of the previous one.
    ///
    /// `subject` is everything that the proof was about: the machine and the texts of its properties.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn remember_proof(
        &self,
        path: &Path,
        subject: &[&str],
        verdicts: &[(String, String)],
        at_ms: u64,
    ) -> Result<(), StoreError> {
        let proofs = self.records::<ProofRecord>();
        let verdicts = verdicts.iter().take(NAMED_MAX).cloned().collect();
        let subject = hash_of(subject);
        proofs.make_room(at_ms)?;
        proofs.put(
            &key_of(path),
            &ProofRecord {
                subject,
                verdicts,
                at_ms,
            },
        )
    }

    /// Returns the last proof of the workflow file at `path`, compared with `subject`.
    ///
    /// `None`: there was none on this machine, or it is more than a year old.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn last_proof(
        &self,
        path: &Path,
        subject: &[&str],
        now_ms: u64,
    ) -> Result<Option<LastProof>, StoreError> {
        let record = self.records::<ProofRecord>().get(&key_of(path))?;
        let record = record.filter(|record| record.counts(now_ms));
        Ok(record.map(|record| LastProof {
            is_changed: record.subject != hash_of(subject),
            at_ms: record.at_ms,
            verdicts: record.verdicts,
        }))
    }
}

fn key_of(path: &Path) -> Key {
    Key::of(&[path.as_os_str().as_encoded_bytes()])
}

fn hash_of(subject: &[&str]) -> String {
    let parts: Vec<&[u8]> = subject.iter().map(|part| part.as_bytes()).collect();
    ChainHash::of_parts(&parts).to_string()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn the_last_proof_of_a_file_is_known_with_what_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("state"));
        let (file, other) = (Path::new("/p/flow.yaml"), Path::new("/p/other.yaml"));
        assert_eq!(home.last_proof(file, &["m", "t"], 5).unwrap(), None);
        assert!(
            !folder.path().join("state").exists(),
            "looking makes nothing"
        );
        let verdicts = [("no writes".to_owned(), "holds".to_owned())];
        home.remember_proof(file, &["m", "old"], &[], 5).unwrap();
        home.remember_proof(file, &["m", "t"], &verdicts, 9)
            .unwrap();
        let proof = |subject: &[&str], now| home.last_proof(file, subject, now).unwrap();
        let known = proof(&["m", "t"], 20).unwrap();
        assert_eq!(
            known,
            LastProof {
                at_ms: 9,
                verdicts: verdicts.to_vec(),
                is_changed: false
            }
        );
        for changed in [&["m", "t2"][..], &["m2", "t"], &["mt"], &["m"]] {
            assert!(proof(changed, 20).unwrap().is_changed, "{changed:?}");
        }
        assert_eq!(home.last_proof(other, &["m", "t"], 20).unwrap(), None);
        assert_eq!(proof(&["m", "t"], 10 + AGE_MAX_MS), None);
    }
}
