//! A deadline and a net below everything.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
    time::Duration,
};

use super::answer::{HookAnswer, Trouble};

/// Bytes of stack: the deepest input that is read needs far less.
const STACK: usize = 16 * 1024 * 1024;

/// Carries `work` out; a panic or a missed deadline is a refusal.
pub(super) fn within(
    deadline: Duration,
    work: impl FnOnce() -> HookAnswer + Send + 'static,
) -> HookAnswer {
    let (done, answers) = mpsc::channel();
    let spawned = thread::Builder::new().stack_size(STACK).spawn(move || {
        let answer = catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|_| HookAnswer::refused(&Trouble::Broken));
        // Nobody listens any more when the deadline was missed.
        let _ = done.send(answer);
    });
    if spawned.is_err() {
        return HookAnswer::refused(&Trouble::Broken);
    }
    answers.recv_timeout(deadline).unwrap_or_else(|error| {
        HookAnswer::refused(&match error {
            mpsc::RecvTimeoutError::Timeout => Trouble::Late(deadline.as_millis()),
            mpsc::RecvTimeoutError::Disconnected => Trouble::Broken,
        })
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "what is tested is a panic")]

    use super::*;

    #[test]
    fn a_panic_is_a_refusal() {
        let answer = within(Duration::from_secs(60), || panic!("a bug"));
        assert_eq!((answer.exit, answer.stdout.as_str()), (2, ""));
        assert!(answer.stderr.is_some_and(|said| said.contains("broke")));
    }

    #[test]
    fn a_missed_deadline_is_a_refusal() {
        let (release, held) = mpsc::channel::<()>();
        let answer = within(Duration::from_millis(1), move || {
            let _ = held.recv();
            HookAnswer::said(&serde_json::json!({}))
        });
        drop(release);
        assert_eq!(answer.exit, 2);
        assert!(
            answer
                .stderr
                .is_some_and(|said| said.contains("within 1 ms"))
        );
    }

    #[test]
    fn an_answer_in_time_is_passed_on() {
        let answer = within(Duration::from_secs(60), || {
            HookAnswer::said(&serde_json::json!({}))
        });
        assert_eq!((answer.exit, answer.stdout.as_str()), (0, "{}"));
    }
}
