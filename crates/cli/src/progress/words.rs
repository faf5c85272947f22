//! Texts about states that begin or end, for both screens.

use std::time::Duration;

use interlock_runner::{Order, Outcome};

use interlock_core::{machine::EffectKind, visible::one_line};

/// How something ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Done,
    Failed,
    Cancelled,
}

/// Code of a cancelled effect.
const CANCELLED: i64 = 130;

pub(super) fn end_of(outcome: &Outcome) -> End {
    match outcome {
        Outcome::Done { .. } => End::Done,
        Outcome::Interrupted => End::Cancelled,
        Outcome::Failed(failed) if failed.code == CANCELLED => End::Cancelled,
        Outcome::Failed(_) => End::Failed,
    }
}

/// Describes how a state ended, without its name.
pub(super) fn ended(order: &Order, outcome: &Outcome) -> String {
    let what = match outcome {
        Outcome::Done { .. } => "done".to_owned(),
        Outcome::Interrupted => "interrupted".to_owned(),
        Outcome::Failed(failed) if failed.code == CANCELLED => "cancelled".to_owned(),
        Outcome::Failed(failed) => match failed.reason {
            Some(name) => format!("failed with code {} ({name})", failed.code),
            None => format!("failed with code {}", failed.code),
        },
    };
    if order.attempt > 1 {
        format!("{what} in try {}", order.attempt)
    } else {
        what
    }
}

/// Returns whether the end of a state was already reported: that of a model stage, with its outcome.
pub(super) const fn says_its_end(order: &Order, outcome: &Outcome) -> bool {
    order.stage.is_some() && matches!(outcome, Outcome::Done { .. })
}

/// Describes why a state failed, if its code does not.
pub(super) fn reason(outcome: &Outcome) -> Option<String> {
    let Outcome::Failed(failed) = outcome else {
        return None;
    };
    let says_its_code = failed
        .message
        .ends_with(&format!("ended with code {}", failed.code));
    let cancelled = failed.code == CANCELLED;
    (!says_its_code && !cancelled && !failed.message.is_empty()).then(|| one_line(&failed.message))
}

/// Formats a duration.
pub(super) fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{}.{}s", seconds, time.subsec_millis() / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns whether an effect that asks or shows something itself has the terminal meanwhile.
pub(super) fn owns_terminal(order: &Order) -> bool {
    order.kind == EffectKind::Ask || order.kind.is_program("claude-code")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::elapsed;

    #[test]
    fn times_are_short() {
        let rows = [
            (0, "0.0s"),
            (1_290, "1.2s"),
            (9_999, "9.9s"),
            (10_000, "10s"),
            (61_000, "1m 01s"),
            (3_599_000, "59m 59s"),
            (7_260_000, "2h 01m"),
        ];
        for (ms, wanted) in rows {
            assert_eq!(elapsed(Duration::from_millis(ms)), wanted);
        }
    }
}
