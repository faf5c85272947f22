//! Limits the concurrency of costly work, whoever requests it.

use std::{sync::Arc, time::Duration};

use axum::http::StatusCode;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::reply::Problem;

/// A limited number of concurrent pieces of work.
pub(crate) struct Turns {
    free: Arc<Semaphore>,
    /// Time for which a request waits for its turn.
    wait: Duration,
    busy: &'static str,
}

impl Turns {
    /// Returns `count` turns; a request that waits longer than `wait` fails with the message `busy`.
    pub(crate) fn new(count: usize, wait: Duration, busy: &'static str) -> Self {
        Self {
            free: Arc::new(Semaphore::new(count)),
            wait,
            busy,
        }
    }

    /// Takes a turn.
    ///
    /// The permit must move to where the work is done: if the page disconnects, its request ends, but not the work on a
    /// thread.
    pub(crate) async fn take(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let turn = timeout(self.wait, Arc::clone(&self.free).acquire_owned()).await;
        let turn = turn.ok().and_then(Result::ok);
        turn.ok_or_else(|| Problem::new(StatusCode::TOO_MANY_REQUESTS, "busy", self.busy))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_finds_no_turn_is_told_so() {
        let turns = Turns::new(2, Duration::ZERO, "wait");
        let (first, _second) = (turns.take().await.unwrap(), turns.take().await.unwrap());
        let problem = turns.take().await.unwrap_err();
        assert_eq!(
            (problem.status.as_u16(), problem.code.as_str()),
            (429, "busy")
        );
        drop(first);
        assert!(turns.take().await.is_ok());
    }
}
