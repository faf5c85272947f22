//! Cancels a run from another thread.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
};

use super::Message;

/// A handle to cancel a run from another thread.
#[derive(Clone)]
pub struct Canceller {
    outbox: Sender<Message>,
    asked: Arc<Mutex<bool>>,
    /// Whether what still runs is killed at once.
    hurry: Arc<AtomicBool>,
}

impl Canceller {
    pub(super) fn new(outbox: Sender<Message>, hurry: Arc<AtomicBool>) -> Self {
        Self {
            outbox,
            asked: Arc::default(),
            hurry,
        }
    }

    /// Requests cancellation; a second request kills what still runs at once.
    pub fn cancel(&self, by: &str) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if *asked {
            self.hurry.store(true, Ordering::Release);
        }
        *asked = true;
        // Once the run is no longer driven, nobody receives this.
        let _ = self.outbox.send(Message::Cancel { by: by.to_owned() });
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").finish_non_exhaustive()
    }
}
