//! Checks an exported file: every line, the chain, and the signature at its end. Needs no database.

use std::{
    collections::BTreeMap,
    io::{BufRead, Read as _},
};

use interlock_attest::PublicKey;
use interlock_store::ChainHash;
use serde::Deserialize;

use super::{
    entry::EventRead,
    error::{AuditRefusal, AuditWrong},
    line::{
        Head, Header, Line, Signed, VERSION, beginning, digest_of, link, signature, signed_bytes,
    },
    vote::VoteCast,
};

/// Maximum number of bytes of one line.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Number of characters of foreign text in a message.
const SHOWN_MAX: usize = 120;

/// What a file must be.
#[derive(Debug, Clone, Copy)]
pub struct AuditExpected<'a> {
    /// The keys that may have signed.
    pub keys: &'a [PublicKey],
    /// The number of the first entry.
    pub from: u64,
    /// The only run whose entries are shown.
    pub run: Option<&'a str>,
    /// The number of entries that are known to exist.
    pub at_least: u64,
}

/// A file that is what was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditVerified {
    /// The tenant.
    pub tenant: String,
    /// The number of the first entry of the file.
    pub from: u64,
    /// The number of signed entries.
    pub entries: u64,
    /// The number of entries whose content is shown.
    pub shown: u64,
    /// The hash of the last entry.
    pub hash: String,
    /// When it was signed, in milliseconds since 1970.
    pub at_ms: u64,
    /// The id of the key that signed.
    pub key: String,
}

/// Checks an exported file.
///
/// # Errors
/// Names the first line that is wrong, and what is wrong with it.
pub fn verify_audit(
    from: &mut dyn BufRead,
    expected: &AuditExpected<'_>,
) -> Result<AuditVerified, AuditWrong> {
    let mut lines = Lines { from, number: 0 };
    let checked = check(&mut lines, expected);
    checked.map_err(|refusal| AuditWrong {
        line: lines.number,
        refusal,
    })
}

/// The lines of a file.
struct Lines<'a> {
    from: &'a mut dyn BufRead,
    /// The number of lines that were read.
    number: u64,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<String>, AuditRefusal> {
        let mut line = Vec::new();
        let mut limited = (&mut *self.from).take(LINE_BYTES_MAX);
        limited
            .read_until(b'\n', &mut line)
            .map_err(|error| AuditRefusal::Unreadable(error.to_string()))?;
        if line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        if line.pop() != Some(b'\n') {
            // The header, and this half of a line, are no entries.
            return Err(AuditRefusal::CutOff(self.number.saturating_sub(2)));
        }
        let text = String::from_utf8(line);
        let text = text.map_err(|_| AuditRefusal::Malformed("it is not text".to_owned()))?;
        Ok(Some(text))
    }

    /// Returns whether one of the lines that follow is the entry with number `seq`.
    fn has_later(&mut self, seq: u64) -> bool {
        // The line that is wrong stays the one that was read last.
        let number = self.number;
        let mut found = false;
        while let (false, Ok(Some(text))) = (found, self.next()) {
            found = parsed::<Line>(&text).is_ok_and(|line| line.seq == seq);
        }
        self.number = number;
        found
    }
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, AuditRefusal> {
    serde_json::from_str(text).map_err(|error| {
        AuditRefusal::Malformed(error.to_string().chars().take(SHOWN_MAX).collect())
    })
}

fn hash(text: &str) -> Result<ChainHash, AuditRefusal> {
    ChainHash::from_hex(text)
        .ok_or_else(|| AuditRefusal::Malformed("it has a hash that is none".to_owned()))
}

fn check(
    lines: &mut Lines<'_>,
    expected: &AuditExpected<'_>,
) -> Result<AuditVerified, AuditRefusal> {
    let first = lines.next()?.ok_or(AuditRefusal::CutOff(0))?;
    let header: Header = parsed(&first)?;
    let mut file = File::begin(header, expected)?;
    while let Some(text) = lines.next()? {
        match parsed::<Signed>(&text) {
            Ok(signed) => {
                let verified = file.end(&signed, expected)?;
                return match lines.next() {
                    Ok(None) => Ok(verified),
                    _ => Err(AuditRefusal::AfterHead),
                };
            }
            Err(_) => file.entry(&parsed(&text)?, lines)?,
        }
    }
    Err(AuditRefusal::CutOff(file.next - file.header.from))
}

/// What was read of a file.
struct File {
    header: Header,
    next: u64,
    prev: ChainHash,
    shown: u64,
    /// The number of the next event and the hash before it, of each run.
    runs: BTreeMap<String, (u64, ChainHash)>,
}

impl File {
    fn begin(header: Header, expected: &AuditExpected<'_>) -> Result<Self, AuditRefusal> {
        if header.audit != VERSION {
            return Err(AuditRefusal::Version(header.audit));
        }
        if header.from != expected.from {
            return Err(AuditRefusal::OtherBeginning {
                found: header.from,
                wanted: expected.from,
            });
        }
        if header.run.as_deref() != expected.run {
            return Err(AuditRefusal::OtherRun {
                found: header.run,
                wanted: expected.run.map(str::to_owned),
            });
        }
        // Of the first entry, it is known what comes before it.
        let prev = match header.from {
            0 => beginning(&header.tenant),
            _ => hash(&header.prev)?,
        };
        Ok(Self {
            next: header.from,
            prev,
            header,
            shown: 0,
            runs: BTreeMap::new(),
        })
    }

    fn entry(&mut self, line: &Line, lines: &mut Lines<'_>) -> Result<(), AuditRefusal> {
        let wanted = self.next;
        if line.seq < wanted {
            return Err(AuditRefusal::Doubled(line.seq));
        }
        if line.seq > wanted {
            return Err(match lines.has_later(wanted) {
                true => AuditRefusal::Moved(wanted),
                false => AuditRefusal::Missing(wanted),
            });
        }
        let is_shown = self.header.run.as_ref().is_none_or(|run| *run == line.run);
        let digest = match (&line.entry, &line.digest) {
            (Some(entry), None) => digest_of(entry.get().as_bytes()),
            (None, Some(digest)) if !is_shown => hash(digest)?,
            (None, Some(_)) => return Err(AuditRefusal::Hidden(line.seq)),
            _ => {
                let what = "it has neither an entry nor a digest, or both";
                return Err(AuditRefusal::Malformed(what.to_owned()));
            }
        };
        let next = link(self.prev, line.seq, &line.run, digest);
        if next.to_string() != line.hash {
            return Err(AuditRefusal::Changed(line.seq));
        }
        if let Some(entry) = &line.entry {
            self.content(entry.get(), line)?;
            self.shown += 1;
        }
        self.prev = next;
        self.next += 1;
        Ok(())
    }

    /// Checks what an entry says of the chain of its run, and the digest of a vote.
    fn content(&mut self, entry: &str, line: &Line) -> Result<(), AuditRefusal> {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
            #[serde(default)]
            digest: Option<String>,
        }
        let Kind { kind, digest } = parsed(entry)?;
        match (kind.as_str(), digest) {
            ("run_made", Some(digest)) => {
                self.runs.insert(line.run.clone(), (0, hash(&digest)?));
                Ok(())
            }
            ("event", _) => self.event(&parsed(entry)?, line),
            ("vote", _) => {
                let vote: VoteCast = parsed(entry)?;
                match vote.run == line.run && vote.fits(&self.header.tenant) {
                    true => Ok(()),
                    false => Err(AuditRefusal::Vote(line.seq)),
                }
            }
            _ => Ok(()),
        }
    }

    fn event(&mut self, event: &EventRead, line: &Line) -> Result<(), AuditRefusal> {
        let wrong = || AuditRefusal::Event {
            run: line.run.clone(),
            seq: event.seq,
        };
        let (prev, hash) = event.hashes().ok_or_else(wrong)?;
        let known = self.runs.get(&line.run);
        // In a file that begins later, the first event of a run is taken as it is.
        let follows = known.is_none_or(|(seq, before)| *seq == event.seq && *before == prev);
        if !follows || event.run != line.run {
            return Err(wrong());
        }
        self.runs.insert(line.run.clone(), (event.seq + 1, hash));
        Ok(())
    }

    fn end(
        &self,
        signed: &Signed,
        expected: &AuditExpected<'_>,
    ) -> Result<AuditVerified, AuditRefusal> {
        let (Some(key), Some(text)) = (&signed.key, &signed.signature) else {
            return Err(AuditRefusal::Unsigned);
        };
        let trusted = expected.keys.iter().find(|trusted| trusted.id() == *key);
        let trusted =
            trusted.ok_or_else(|| AuditRefusal::OtherKey(key.chars().take(SHOWN_MAX).collect()))?;
        let bytes = signed_bytes(signed.head.get().as_bytes());
        let fits = signature(text).is_some_and(|signature| trusted.has_signed(&bytes, &signature));
        if !fits {
            return Err(AuditRefusal::Forged);
        }
        let head: Head = parsed(signed.head.get())?;
        let is_of_these = head.tenant == self.header.tenant
            && head.entries == self.next
            && head.hash == self.prev.to_string();
        if !is_of_these {
            return Err(AuditRefusal::OtherHead {
                entries: head.entries,
                tenant: head.tenant,
            });
        }
        if head.entries < expected.at_least {
            return Err(AuditRefusal::Shorter {
                found: head.entries,
                wanted: expected.at_least,
            });
        }
        Ok(AuditVerified {
            tenant: head.tenant,
            from: self.header.from,
            entries: head.entries,
            shown: self.shown,
            hash: head.hash,
            at_ms: head.at_ms,
            key: key.clone(),
        })
    }
}
