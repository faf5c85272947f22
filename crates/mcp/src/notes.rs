//! Notes for a person besides the protocol: lines on standard error.
//!
//! A slow reader slows down only the server that writes them.

use interlock_core::visible::visible;
use tokio::{io::AsyncWriteExt as _, sync::mpsc};

/// Maximum number of lines that wait to be written.
const WAITING_MAX: usize = 256;
/// Maximum number of characters of a line.
const LINE_CHARS_MAX: usize = 4_000;

/// Destination of lines for a person.
#[derive(Debug, Clone)]
pub struct Notes {
    lines: mpsc::Sender<String>,
}

impl Notes {
    /// Creates one that writes to standard error; needs a `tokio` runtime.
    #[must_use]
    pub fn to_stderr() -> Self {
        let (notes, mut lines) = Self::to_channel();
        tokio::spawn(async move {
            let mut stderr = tokio::io::stderr();
            while let Some(mut line) = lines.recv().await {
                line.push('\n');
                // If standard error is closed, nobody needs it.
                if stderr.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        notes
    }

    /// Creates one whose lines are given to the caller.
    #[must_use]
    pub fn to_channel() -> (Self, mpsc::Receiver<String>) {
        let (lines, read) = mpsc::channel(WAITING_MAX);
        (Self { lines }, read)
    }

    /// Adds a line of Interlock; it is dropped if too many wait.
    pub fn tell(&self, line: &str) {
        self.lines.try_send(shown(line)).ok();
    }

    /// Passes on a line of a server, waiting if necessary.
    pub async fn pass(&self, line: &str) {
        self.lines.send(shown(line)).await.ok();
    }
}

/// Returns the part of a line that is shown.
fn shown(line: &str) -> String {
    let kept = line.chars().take(LINE_CHARS_MAX).collect::<String>();
    visible(&kept)
}
