//! Recently verified credentials, so that not every request accesses the disk.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use interlock_core::names::RunId;

/// How long a verified credential counts as valid.
const BELIEVED_TIME: Duration = Duration::from_secs(2);

/// Runs of credentials, by the hash of each.
#[derive(Debug, Default)]
pub(super) struct Believed {
    known: BTreeMap<[u8; 32], (RunId, Instant)>,
}

impl Believed {
    /// Returns the run of a credential that was verified shortly before `now`.
    pub(super) fn run(&self, key: &[u8; 32], now: Instant) -> Option<RunId> {
        let (run, since) = self.known.get(key)?;
        is_young(*since, now).then(|| run.clone())
    }

    /// Records that a credential is valid.
    pub(super) fn keep(&mut self, key: [u8; 32], run: RunId, now: Instant) {
        self.known.retain(|_, (_, since)| is_young(*since, now));
        self.known.insert(key, (run, now));
    }

    /// Removes a credential that is not valid.
    pub(super) fn forget(&mut self, key: &[u8; 32]) {
        self.known.remove(key);
    }
}

fn is_young(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) < BELIEVED_TIME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_believed_for_a_moment_and_no_longer() {
        let mut believed = Believed::default();
        let (key, other) = ([1; 32], [2; 32]);
        let start = Instant::now();
        let run = RunId::new("r");
        believed.keep(key, run.clone(), start);
        let just_before = start + BELIEVED_TIME.saturating_sub(Duration::from_millis(1));
        assert_eq!(believed.run(&key, just_before), Some(run.clone()));
        assert_eq!(believed.run(&other, start), None);
        // A lookup does not extend its validity.
        assert_eq!(believed.run(&key, start + BELIEVED_TIME), None);
        believed.keep(key, run, start);
        believed.forget(&key);
        assert_eq!(believed.run(&key, start), None);
    }

    #[test]
    fn what_is_old_takes_no_room() {
        let mut believed = Believed::default();
        let start = Instant::now();
        believed.keep([1; 32], RunId::new("r"), start);
        believed.keep([2; 32], RunId::new("r"), start + BELIEVED_TIME);
        assert_eq!(believed.known.len(), 1);
    }
}
