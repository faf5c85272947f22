//! Exports what happened, part by part, each entry compared with the chain.

use std::sync::Arc;

use interlock_attest::SecretKey;
use interlock_core::names::RunId;
use interlock_store::{ChainHash, record};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    entry::Subject,
    error::AuditError,
    kinds::contents,
    line::{Head, Header, Line, Signed, VERSION, beginning, digest_of, hex, link},
};
use crate::{
    database::{Database, Value},
    error::SharedError,
    rows::Found,
};

/// Maximum number of entries of one part.
const PART: u64 = 128;

/// Maximum number of heads that are listed.
const HEADS_MAX: u64 = 20;

/// A signed head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditHead {
    /// The number of entries.
    pub entries: u64,
    /// The hash of the last one.
    pub hash: String,
    /// When it was signed, in milliseconds since 1970.
    pub at_ms: u64,
    /// The id of the key.
    pub key: String,
}

/// Where an export begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditFrom {
    /// At the entry with this number.
    Entry(u64),
    /// At the first entry that is not older, in milliseconds since 1970.
    Time(u64),
}

/// An export of what happened in a tenant.
#[derive(Debug)]
pub struct AuditExport {
    database: Database,
    run: Option<String>,
    /// The number of the next entry.
    next: u64,
    /// The hash of the entry before it.
    prev: ChainHash,
    head: Stored,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begins,
    Entries,
    Ended,
}

/// A signed head, as it is stored.
#[derive(Debug)]
struct Stored {
    entries: u64,
    key: String,
    head: String,
    signature: Vec<u8>,
}

/// An entry of the table.
struct Numbered {
    seq: u64,
    subject: Subject,
    digest: ChainHash,
    hash: ChainHash,
}

/// An entry and its content as it is now; `None` if there is none, or if only the digest is wanted.
type WithContent = (Numbered, Option<Vec<u8>>);

impl Database {
    /// Begins an export; with a key, everything that has happened is signed first.
    ///
    /// Without a key, the entries up to the last signed head are exported.
    ///
    /// # Errors
    /// Nothing is signed yet, there is no such run or entry, or the database cannot be used.
    pub fn audit(
        &self,
        from: AuditFrom,
        run: Option<&RunId>,
        key: Option<&Arc<SecretKey>>,
    ) -> Result<AuditExport, AuditError> {
        if let Some(run) = run {
            let is_one = record::check_run_id(run).is_ok() && self.head(run)?.is_some();
            if !is_one {
                return Err(self.no_run(run).into());
            }
        }
        let head = match key {
            Some(key) => {
                let entries = self.sign_audit(key)?;
                self.signed_head(Some((entries, key.public().id())))?
            }
            None => self.signed_head(None)?,
        };
        let next = match from {
            AuditFrom::Entry(seq) => seq,
            AuditFrom::Time(at_ms) => self.first_since(at_ms)?.unwrap_or(head.entries),
        };
        if next > head.entries {
            let entries = head.entries;
            return Err(AuditError::NoEntry { seq: next, entries });
        }
        Ok(AuditExport {
            prev: self.hash_before(next)?,
            database: self.clone(),
            run: run.map(|run| run.as_str().to_owned()),
            next,
            head,
            stage: Stage::Begins,
        })
    }

    /// Returns the newest signed heads, the newest first.
    ///
    /// # Errors
    /// The database cannot be read, or a head is none.
    pub fn audit_heads(&self) -> Result<Vec<AuditHead>, SharedError> {
        let rows = self.select(
            "SELECT entries, key, head FROM interlock.audit_heads \
             WHERE tenant = $1 ORDER BY entries DESC, key LIMIT $2",
            vec![self.tenant().as_str().into(), HEADS_MAX.into()],
        )?;
        let head = |row| {
            let found = Found::new(self, row);
            let head: Vec<u8> = found.get(2)?;
            let head: Head =
                serde_json::from_slice(&head).map_err(|_| found.wrong("a head that is none"))?;
            Ok(AuditHead {
                entries: found.number(0)?,
                hash: head.hash,
                at_ms: head.at_ms,
                key: found.get(1)?,
            })
        };
        rows.into_iter().map(head).collect()
    }

    /// Returns the head with this number of entries and this key; without them, the last one.
    fn signed_head(&self, of: Option<(u64, String)>) -> Result<Stored, AuditError> {
        let tenant: Value = self.tenant().as_str().into();
        let found = match of {
            Some((entries, key)) => self.select(
                "SELECT entries, key, head, signature FROM interlock.audit_heads \
                 WHERE tenant = $1 AND entries = $2 AND key = $3",
                vec![tenant, entries.into(), key.as_str().into()],
            ),
            None => self.select(
                "SELECT entries, key, head, signature FROM interlock.audit_heads \
                 WHERE tenant = $1 ORDER BY entries DESC, key LIMIT 1",
                vec![tenant],
            ),
        }?;
        let row = found.into_iter().next().ok_or(AuditError::NotSigned)?;
        let found = Found::new(self, row);
        let head =
            String::from_utf8(found.get(2)?).map_err(|_| found.wrong("a head that is no text"))?;
        Ok(Stored {
            entries: found.number(0)?,
            key: found.get(1)?,
            head,
            signature: found.get(3)?,
        })
    }

    fn first_since(&self, at_ms: u64) -> Result<Option<u64>, SharedError> {
        let found = self.select(
            "SELECT seq FROM interlock.audit WHERE tenant = $1 AND at_ms >= $2 ORDER BY seq LIMIT 1",
            vec![self.tenant().as_str().into(), at_ms.into()],
        )?;
        let first = found.into_iter().next();
        first.map(|row| Found::new(self, row).number(0)).transpose()
    }

    /// Returns the hash of the entry before the one with number `seq`.
    fn hash_before(&self, seq: u64) -> Result<ChainHash, AuditError> {
        let tenant = self.tenant().as_str();
        let Some(before) = seq.checked_sub(1) else {
            return Ok(beginning(tenant));
        };
        let found = self.select(
            "SELECT hash FROM interlock.audit WHERE tenant = $1 AND seq = $2",
            vec![tenant.into(), before.into()],
        )?;
        let row = found.into_iter().next();
        let row = row.ok_or(AuditError::Changed { seq: before })?;
        Ok(Found::new(self, row).hash(0)?)
    }

    /// Reads entries with their contents, from number `from` on and before number `to`.
    fn numbered(
        &self,
        (from, to): (u64, u64),
        run: Option<String>,
    ) -> Result<Vec<WithContent>, SharedError> {
        let of = self.clone();
        self.read(move |leased| async move {
            let tenant = of.tenant().as_str();
            let statement = "SELECT seq, kind, run, n, id, at_ms, digest, hash FROM interlock.audit \
                 WHERE tenant = $1 AND seq >= $2 AND seq < $3 ORDER BY seq";
            let values = [tenant.into(), from.into(), to.into()];
            let rows = leased.query(statement, &values);
            let entry = |row| {
                let found = Found::new(&of, row);
                Ok(Numbered {
                    seq: found.number(0)?,
                    subject: Subject {
                        kind: found.get(1)?,
                        run: found.get(2)?,
                        n: found.get(3)?,
                        id: found.get(4)?,
                        at_ms: found.get(5)?,
                    },
                    digest: found.hash(6)?,
                    hash: found.hash(7)?,
                })
            };
            let entries = rows.await?.into_iter().map(entry);
            let entries: Vec<Numbered> = entries.collect::<Result<_, SharedError>>()?;
            // Of other runs, only the digest is wanted.
            let is_shown =
                |entry: &&Numbered| run.as_ref().is_none_or(|run| *run == entry.subject.run);
            let shown: Vec<Subject> = entries
                .iter()
                .filter(is_shown)
                .map(|entry| entry.subject.clone())
                .collect();
            let mut contents = contents(&leased, tenant, &shown).await?.into_iter();
            let with = |entry: Numbered| {
                let shown = is_shown(&&entry);
                let content = if shown {
                    contents.next().flatten()
                } else {
                    None
                };
                (entry, content)
            };
            Ok(entries.into_iter().map(with).collect())
        })
    }
}

impl AuditExport {
    /// Returns the number of entries that the signed head covers.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.head.entries
    }

    /// Returns the id of the key that signed the head.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.head.key
    }

    /// Returns the next lines; `None` after the signed head.
    ///
    /// # Errors
    /// An entry is no longer what was signed, or the database cannot be read.
    pub fn part(&mut self) -> Result<Option<Vec<u8>>, AuditError> {
        match self.stage {
            Stage::Ended => Ok(None),
            Stage::Begins => {
                self.stage = Stage::Entries;
                line(&Header {
                    audit: VERSION,
                    tenant: self.database.tenant().as_str().to_owned(),
                    from: self.next,
                    prev: self.prev.to_string(),
                    run: self.run.clone(),
                })
                .map(Some)
            }
            Stage::Entries if self.next < self.head.entries => self.lines().map(Some),
            Stage::Entries => {
                self.stage = Stage::Ended;
                self.signed().map(Some)
            }
        }
    }

    fn lines(&mut self) -> Result<Vec<u8>, AuditError> {
        let to = self.head.entries.min(self.next.saturating_add(PART));
        let found = self.database.numbered((self.next, to), self.run.clone())?;
        let mut lines = Vec::new();
        for (entry, content) in found {
            lines.extend(self.line_of(&entry, content)?);
        }
        if self.next < to {
            return Err(AuditError::Changed { seq: self.next });
        }
        Ok(lines)
    }

    /// Writes the line of an entry that is what was signed.
    fn line_of(
        &mut self,
        entry: &Numbered,
        content: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, AuditError> {
        let seq = self.next;
        let changed = || AuditError::Changed { seq };
        let run = &entry.subject.run;
        let is_shown = self.run.as_ref().is_none_or(|of| of == run);
        let fits = entry.seq == seq && link(self.prev, seq, run, entry.digest) == entry.hash;
        let content = content.filter(|content| digest_of(content) == entry.digest);
        if !fits || is_shown != content.is_some() {
            return Err(changed());
        }
        let shown = content.map(|content| {
            let text = String::from_utf8(content).map_err(|_| changed())?;
            RawValue::from_string(text).map_err(|_| changed())
        });
        self.prev = entry.hash;
        self.next += 1;
        line(&Line {
            seq,
            run: run.clone(),
            hash: entry.hash.to_string(),
            digest: (!is_shown).then(|| entry.digest.to_string()),
            entry: shown.transpose()?,
        })
    }

    /// Writes the signed head, which must be of exactly these entries.
    fn signed(&self) -> Result<Vec<u8>, AuditError> {
        let changed = || AuditError::OtherHead {
            entries: self.head.entries,
        };
        let head: Head = serde_json::from_str(&self.head.head).map_err(|_| changed())?;
        if head.hash != self.prev.to_string() || head.entries != self.next {
            return Err(changed());
        }
        line(&Signed {
            head: RawValue::from_string(self.head.head.clone()).map_err(|_| changed())?,
            key: Some(self.head.key.clone()),
            signature: Some(hex(&self.head.signature)),
        })
    }
}

fn line(value: &impl Serialize) -> Result<Vec<u8>, AuditError> {
    let mut line = serde_json::to_vec(value).map_err(AuditError::Unwritable)?;
    line.push(b'\n');
    Ok(line)
}
