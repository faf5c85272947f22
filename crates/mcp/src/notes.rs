//! What a person may want to read beside the protocol: lines on standard error.
//!
//! Whoever does not read them slows nothing but the server that writes them.

use interlock_core::visible::visible;
use tokio::{io::AsyncWriteExt as _, sync::mpsc};

/// Lines that wait to be written.
const WAITING_MAX: usize = 256;
/// Characters of a line that are kept.
const LINE_CHARS_MAX: usize = 4_000;

/// Where lines for a person go.
#[derive(Debug, Clone)]
pub struct Notes {
    lines: mpsc::Sender<String>,
}

impl Notes {
    /// Makes one that writes to standard error; needs a runtime of `tokio`.
    #[must_use]
    pub fn to_stderr() -> Self {
        let (notes, mut lines) = Self::to_channel();
        tokio::spawn(async move {
            let mut stderr = tokio::io::stderr();
            while let Some(mut line) = lines.recv().await {
                line.push('\n');
                // Nobody reads it: nobody needs it.
                if stderr.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        notes
    }

    /// Makes one whose lines are given to the caller.
    #[must_use]
    pub fn to_channel() -> (Self, mpsc::Receiver<String>) {
        let (lines, read) = mpsc::channel(WAITING_MAX);
        (Self { lines }, read)
    }

    /// Tells a line of ours; it is lost where too many wait.
    pub fn tell(&self, line: &str) {
        self.lines.try_send(shown(line)).ok();
    }

    /// Passes on a line of a server, in its time.
    pub async fn pass(&self, line: &str) {
        self.lines.send(shown(line)).await.ok();
    }
}

/// Shows so much of a line as is kept.
fn shown(line: &str) -> String {
    let kept = line.chars().take(LINE_CHARS_MAX).collect::<String>();
    visible(&kept)
}
