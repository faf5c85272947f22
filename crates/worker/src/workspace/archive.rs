//! The format: the part of GNU tar that is needed, written in one way only, and read as strictly.

/// The size of a block.
const BLOCK: usize = 512;
/// The length of a name in a header.
const NAME_MAX: usize = 100;
/// The longest path or target of a link.
pub(super) const PATH_MAX: usize = 4096;
/// The name that GNU tar gives to the entries of long names.
const LONG: &[u8] = b"././@LongLink";
const MAGIC: &[u8; 8] = b"ustar  \0";

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    Directory,
    File { is_program: bool, bytes: &'a [u8] },
    Link { target: &'a [u8] },
}

/// Why a tar cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("is cut off")]
    Short,
    #[error("has a header with a wrong checksum")]
    Checksum,
    #[error("has a header that no worker writes")]
    Header,
    #[error("has an entry that is no file, folder or symbolic link")]
    Kind,
    #[error("has an entry with a mode that no worker writes")]
    Mode,
    #[error("goes on after its end")]
    Trailing,
}

/// Writes a tar whose size is limited.
#[derive(Debug)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    limit: usize,
}

/// The tar would be too large.
#[derive(Debug)]
pub(super) struct TooLarge;

impl Writer {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
        }
    }

    /// Returns how many bytes of content still fit.
    pub(super) fn left(&self) -> usize {
        self.limit.saturating_sub(self.bytes.len())
    }

    pub(super) fn push(&mut self, path: &[u8], entry: &Entry<'_>) -> Result<(), TooLarge> {
        let (kind, mode, target, bytes): (u8, u32, &[u8], &[u8]) = match *entry {
            Entry::Directory => (b'5', 0o755, b"", b""),
            Entry::File { is_program, bytes } => {
                (b'0', if is_program { 0o755 } else { 0o644 }, b"", bytes)
            }
            Entry::Link { target } => (b'2', 0o777, target, b""),
        };
        for (kind, long) in [(b'L', path), (b'K', target)] {
            if long.len() > NAME_MAX {
                let mut ended = long.to_vec();
                ended.push(0);
                self.record(LONG, (kind, 0o644), b"", &ended)?;
            }
        }
        self.record(path, (kind, mode), target, bytes)
    }

    fn record(
        &mut self,
        path: &[u8],
        (kind, mode): (u8, u32),
        target: &[u8],
        bytes: &[u8],
    ) -> Result<(), TooLarge> {
        let padded = bytes.len().div_ceil(BLOCK) * BLOCK;
        if self.left() < 3 * BLOCK + padded {
            return Err(TooLarge);
        }
        self.bytes
            .extend_from_slice(&header(path, (kind, mode), target, bytes.len()));
        self.bytes.extend_from_slice(bytes);
        self.bytes
            .resize(self.bytes.len() + padded - bytes.len(), 0);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 2 * BLOCK, 0);
        self.bytes
    }
}

/// Returns the header of an entry; a name that is too long for it is cut.
fn header(path: &[u8], (kind, mode): (u8, u32), target: &[u8], size: usize) -> Vec<u8> {
    let mut header = Vec::with_capacity(BLOCK);
    let field = |header: &mut Vec<u8>, value: &[u8], width: usize| {
        let end = header.len() + width;
        header.extend(value.iter().take(width));
        header.resize(end, 0);
    };
    let octal = |number: usize, digits: usize| format!("{number:0digits$o}\0").into_bytes();
    field(&mut header, path, NAME_MAX);
    field(&mut header, format!("{mode:07o}\0").as_bytes(), 8);
    field(&mut header, &octal(0, 7), 8);
    field(&mut header, &octal(0, 7), 8);
    field(&mut header, &octal(size, 11), 12);
    field(&mut header, &octal(0, 11), 12);
    field(&mut header, b"        ", 8);
    header.push(kind);
    field(&mut header, target, NAME_MAX);
    field(&mut header, MAGIC, 8);
    header.resize(BLOCK, 0);
    let sum: usize = header.iter().map(|byte| usize::from(*byte)).sum();
    let written = format!("{sum:06o}\0 ");
    for (to, from) in header.iter_mut().skip(148).zip(written.bytes()) {
        *to = from;
    }
    header
}

/// Reads a tar, entry by entry.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the next entry with its path; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(Vec<u8>, Entry<'a>)>, Malformed> {
        let (mut long_path, mut long_target) = (None, None);
        loop {
            let header = self.take(BLOCK)?;
            if header.iter().all(|byte| *byte == 0) {
                let is_end = long_path.is_none() && long_target.is_none();
                return match self.rest {
                    rest if is_end && rest == [0; BLOCK] => {
                        self.rest = &[];
                        Ok(None)
                    }
                    _ => Err(Malformed::Trailing),
                };
            }
            let found = Header::read(header)?;
            let padded = found.size.div_ceil(BLOCK).saturating_mul(BLOCK);
            let content = self.take(padded)?;
            let (bytes, padding) = content.split_at(found.size);
            if padding.iter().any(|byte| *byte != 0) {
                return Err(Malformed::Header);
            }
            match found.kind {
                b'L' => long(&mut long_path, &found, bytes)?,
                b'K' => long(&mut long_target, &found, bytes)?,
                _ => {
                    let path = full(long_path, found.path)?;
                    let target = full(long_target, found.target)?;
                    return found
                        .entry(target, bytes)
                        .map(|entry| Some((path.to_vec(), entry)));
                }
            }
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// Keeps the content of an entry that has a long name.
fn long<'a>(
    kept: &mut Option<&'a [u8]>,
    header: &Header<'_>,
    bytes: &'a [u8],
) -> Result<(), Malformed> {
    let name = bytes.strip_suffix(&[0]).ok_or(Malformed::Header)?;
    let is_right = header.path == LONG
        && header.mode == 0o644
        && (NAME_MAX + 1..=PATH_MAX).contains(&name.len())
        && kept.is_none();
    if is_right {
        *kept = Some(name);
        Ok(())
    } else {
        Err(Malformed::Header)
    }
}

/// Returns a long name if there is one, whose beginning the header must have.
fn full<'a>(long: Option<&'a [u8]>, short: &'a [u8]) -> Result<&'a [u8], Malformed> {
    match long {
        None => Ok(short),
        Some(long) if long.get(..NAME_MAX) == Some(short) => Ok(long),
        Some(_) => Err(Malformed::Header),
    }
}

struct Header<'a> {
    path: &'a [u8],
    mode: u32,
    size: usize,
    kind: u8,
    target: &'a [u8],
}

impl<'a> Header<'a> {
    fn read(block: &'a [u8]) -> Result<Self, Malformed> {
        let field = |from: usize, width: usize| block.get(from..from + width).unwrap_or_default();
        let number = |from: usize, width: usize| {
            let digits = field(from, width).strip_suffix(&[0])?;
            let digits = std::str::from_utf8(digits).ok()?;
            let is_octal = digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
            usize::from_str_radix(digits, 8).ok().filter(|_| is_octal)
        };
        let text = |from: usize| {
            let field = field(from, NAME_MAX);
            let end = field.iter().position(|byte| *byte == 0);
            field.get(..end.unwrap_or(NAME_MAX)).unwrap_or_default()
        };
        let found = Self {
            path: text(0),
            mode: number(100, 8)
                .and_then(|mode| u32::try_from(mode).ok())
                .ok_or(Malformed::Header)?,
            size: number(124, 12).ok_or(Malformed::Header)?,
            kind: field(156, 1).first().copied().unwrap_or_default(),
            target: text(157),
        };
        let mode = (found.kind, found.mode);
        let again = header(found.path, mode, found.target, found.size);
        if again == block {
            return Ok(found);
        }
        // Everything else in the header follows from what was read.
        let sum = |block: &[u8]| -> usize {
            let bytes = block.iter().enumerate();
            let counted = bytes.map(|(at, byte)| match at {
                148..156 => usize::from(b' '),
                _ => usize::from(*byte),
            });
            counted.sum()
        };
        let written = field(148, 8);
        let is_summed = written == format!("{:06o}\0 ", sum(block)).as_bytes();
        Err(if is_summed {
            Malformed::Header
        } else {
            Malformed::Checksum
        })
    }

    fn entry<'b>(&self, target: &'b [u8], bytes: &'b [u8]) -> Result<Entry<'b>, Malformed> {
        let is_empty = bytes.is_empty();
        match (self.kind, self.mode) {
            (b'0', mode) if target.is_empty() => match mode {
                0o644 | 0o755 => Ok(Entry::File {
                    is_program: mode == 0o755,
                    bytes,
                }),
                _ => Err(Malformed::Mode),
            },
            (b'5', mode) if target.is_empty() && is_empty => match mode {
                0o755 => Ok(Entry::Directory),
                _ => Err(Malformed::Mode),
            },
            (b'2', mode) if !target.is_empty() && is_empty => match mode {
                0o777 => Ok(Entry::Link { target }),
                _ => Err(Malformed::Mode),
            },
            (b'0' | b'2' | b'5', _) => Err(Malformed::Header),
            _ => Err(Malformed::Kind),
        }
    }
}
