//! A pending call.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use tokio::task::AbortHandle;

use super::{CallError, ToolResult};

/// A tool call under way; dropping it cancels the call at its server.
#[derive(Debug)]
pub struct Call<T = ToolResult> {
    pub(super) answered: Receiver<Result<T, CallError>>,
    pub(super) task: Option<AbortHandle>,
}

impl<T> Call<T> {
    /// Waits until the call has ended.
    ///
    /// # Errors
    /// There is no result of the tool; the error gives the reason.
    pub fn wait(self) -> Result<T, CallError> {
        self.answered.recv().unwrap_or(Err(CallError::Cancelled))
    }

    /// Waits for the call for up to `time`; returns `None` if it has not ended.
    ///
    /// A result is returned only once.
    pub fn wait_for(&self, time: Duration) -> Option<Result<T, CallError>> {
        match self.answered.recv_timeout(time) {
            Ok(ended) => Some(ended),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(CallError::Cancelled)),
        }
    }

    /// Cancels the call at its server.
    pub fn cancel(self) {
        drop(self);
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}
