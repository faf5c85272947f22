//! The output of a program: stored completely in a file, with its ends in memory.
//!
//! Memory is bounded however much is printed: it contains both ends of each stream, and the text itself only if the run reads it.

use std::path::{Path, PathBuf};

use interlock_process::HeadTail;
use sha2::{Digest as _, Sha256};

use crate::{
    order::{Capture, Failed, Order, Outcome},
    run_context::RunContext,
    screen::Shown,
};

mod file;
mod place;

use file::OutputFile;
pub(crate) use place::place;

/// Maximum size in bytes of an output that may become text of the run.
pub(crate) const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Number of bytes of an output that are kept in memory: half from its beginning, half from its end.
const PREVIEW_BYTES: usize = 512 * 1024;
/// Maximum number of bytes of an output that are stored with the run.
pub(crate) const KEPT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Files with the output of one attempt of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFiles {
    /// Standard output.
    pub stdout: PathBuf,
    /// Standard error.
    pub stderr: PathBuf,
}

impl KeptFiles {
    /// Returns the files of one attempt of the effect `id` below the directory of its run.
    ///
    /// A file exists only if something was printed.
    #[must_use]
    pub fn of(run_directory: &Path, id: &str, attempt: u32) -> Self {
        let digest = Sha256::digest(id.as_bytes());
        let name: String = digest
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let directory = run_directory.join("output");
        Self {
            stdout: directory.join(format!("{name}-{attempt}.out")),
            stderr: directory.join(format!("{name}-{attempt}.err")),
        }
    }
}

/// What is needed of an output besides its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Collect {
    /// Nothing.
    Ends,
    /// The text.
    Text,
    /// Every byte, in the kept file.
    File,
}

impl Collect {
    pub(crate) const fn of(capture: Option<&Capture>, read_whole: bool) -> Self {
        match capture {
            Some(Capture::File(_)) => Self::File,
            Some(Capture::Text) => Self::Text,
            None if read_whole => Self::Text,
            None => Self::Ends,
        }
    }
}

/// Why an output cannot be used as required.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutputError {
    /// It is too long to become text of the run.
    #[error("the output is over 16 MiB, too much for the run; capture it with `file()`")]
    TooLarge,
    /// It is not text, because of a NUL byte.
    #[error("the output has a NUL byte at byte {0}; capture it with `file()`")]
    Nul(usize),
    /// It is not valid UTF-8.
    #[error("the output is not UTF-8 at byte {0}; capture it with `file()`")]
    NotText(usize),
    /// It could not be stored.
    #[error("cannot keep the output in `{path}`: {why}")]
    NotKept {
        /// Path of the file.
        path: String,
        /// Error of the system.
        why: String,
    },
}

/// One output stream of one program.
#[derive(Debug)]
pub(crate) struct Output {
    preview: HeadTail,
    kept: OutputFile,
    /// The text so far; `None` once it is too long.
    text: Option<Vec<u8>>,
    shown: Option<Shown>,
}

impl Output {
    pub(crate) fn new(file: PathBuf, wanted: Collect, shown: Option<Shown>) -> Self {
        let most = if wanted == Collect::File {
            u64::MAX
        } else {
            KEPT_BYTES_MAX
        };
        Self {
            preview: HeadTail::new(PREVIEW_BYTES),
            kept: OutputFile::new(file, most),
            text: (wanted == Collect::Text).then(Vec::new),
            shown,
        }
    }

    /// Adds bytes that have arrived.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.preview.take(bytes);
        self.kept.take(bytes);
        if let Some(text) = &mut self.text
            && text.len() <= TEXT_BYTES_MAX
        {
            text.extend_from_slice(bytes);
        }
        if let Some(shown) = &mut self.shown {
            shown.take(bytes);
        }
    }

    /// Shows the rest.
    pub(crate) fn finish(&mut self) {
        if let Some(shown) = &mut self.shown {
            shown.finish();
        }
    }

    /// Returns the beginning and the end as text.
    pub(crate) fn preview(&self) -> String {
        self.preview
            .text(|bytes| format!("[{bytes} bytes are left out here]"))
    }

    /// Returns the whole output as text.
    pub(crate) fn text(&mut self) -> Result<String, OutputError> {
        let bytes = self.text.take().unwrap_or_default();
        if bytes.len() > TEXT_BYTES_MAX {
            return Err(OutputError::TooLarge);
        }
        if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
            return Err(OutputError::Nul(at));
        }
        String::from_utf8(bytes)
            .map_err(|error| OutputError::NotText(error.utf8_error().valid_up_to()))
    }

    /// Returns why the stored file is incomplete.
    pub(crate) fn trouble(&self) -> Option<OutputError> {
        self.kept.trouble()
    }

    /// Writes every byte to `target`, completely or not at all.
    pub(crate) fn put(&mut self, target: &Path) -> Result<(), OutputError> {
        if let Some(trouble) = self.trouble() {
            return Err(trouble);
        }
        place(self.kept.written(), target)?;
        self.kept.cut(KEPT_BYTES_MAX);
        Ok(())
    }
}

/// Stores a text as the output of an order.
pub(crate) fn written(order: &Order, text: &str, context: &RunContext) -> Outcome {
    if let Some(Capture::File(target)) = &order.capture {
        let files = KeptFiles::of(&context.beside, &order.id, order.attempt);
        let mut output = Output::new(files.stdout, Collect::File, None);
        output.take(text.as_bytes());
        if let Err(error) = output.put(target) {
            return Failed::new(1, error.to_string()).into();
        }
    }
    Outcome::Done {
        stdout: text.to_owned(),
        stderr: String::new(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::fs;

    use super::{Collect, KEPT_BYTES_MAX, KeptFiles, Output, OutputError, TEXT_BYTES_MAX};

    #[test]
    fn text_is_taken_exactly_or_not_at_all() {
        let room = tempfile::tempdir().unwrap();
        let text = |bytes: &[u8]| {
            let mut output = Output::new(room.path().join("o"), Collect::Text, None);
            output.take(bytes);
            output.text()
        };
        assert_eq!(text(b" a\r\nb \n"), Ok(" a\r\nb \n".to_owned()));
        assert_eq!(text(b""), Ok(String::new()));
        assert_eq!(text(b"ab\0c"), Err(OutputError::Nul(2)));
        assert_eq!(text(b"ab\xff"), Err(OutputError::NotText(2)));
        let long = vec![b'x'; TEXT_BYTES_MAX + 1];
        assert_eq!(text(&long), Err(OutputError::TooLarge));
        assert!(text(long.get(1..).unwrap()).is_ok());
    }

    #[test]
    fn what_is_kept_is_bounded_unless_a_file_wants_all() {
        let room = tempfile::tempdir().unwrap();
        let most = usize::try_from(KEPT_BYTES_MAX).unwrap();
        for (wanted, name) in [(Collect::Ends, "ends"), (Collect::File, "file")] {
            let path = room.path().join(name);
            let mut output = Output::new(path.clone(), wanted, None);
            output.take(&vec![b'a'; most]);
            output.take(b"tail");
            assert_eq!(output.trouble(), None);
            if wanted == Collect::File {
                let target = room.path().join("sub/target");
                output.put(&target).unwrap();
                let found = fs::read(&target).unwrap();
                assert_eq!(found.len(), most + 4);
                assert!(found.ends_with(b"atail"));
            }
            assert_eq!(fs::metadata(&path).unwrap().len(), KEPT_BYTES_MAX);
        }
    }

    #[test]
    fn each_try_has_files_of_its_own() {
        let of = |id, attempt| KeptFiles::of("/run".as_ref(), id, attempt);
        assert_eq!(of("r/a/1", 1), of("r/a/1", 1));
        assert_ne!(of("r/a/1", 1), of("r/a/1", 2));
        assert_ne!(of("r/a/1", 1), of("r/b/1", 1));
    }
}
