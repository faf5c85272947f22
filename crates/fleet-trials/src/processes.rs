//! Processes of a trial: killed when dropped, stopped and continued by signals, and how much of the processor they use.

use std::{
    fs,
    process::{Child, Command},
    time::Duration,
};

/// A process; killed when dropped.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn new(child: Child) -> Self {
        Self(child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills it at once.
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Returns whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)))
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([signal, &self.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the ids of the processes that a process has started.
pub(crate) fn children(of: u32) -> Vec<u32> {
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| field(*id, 1).and_then(|word| word.parse().ok()) == Some(of))
        .collect()
}

/// Returns the time that processes have used a processor for.
pub(crate) fn used(ids: &[u32]) -> Duration {
    // Of user and system, in hundredths of a second, as Linux reports them.
    let of = |id: &u32| -> u64 {
        let number = |at| field(*id, at).and_then(|word| word.parse::<u64>().ok());
        number(11).unwrap_or(0) + number(12).unwrap_or(0)
    };
    Duration::from_millis(ids.iter().map(of).sum::<u64>() * 10)
}

/// Returns a field of a process, counted from its state.
fn field(id: u32, at: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name before the closing parenthesis may contain anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(at).map(str::to_owned)
}
