//! Values in bash commands.

use interlock_expr::text::Expr;
use interlock_shell::{Position, Spot};

use super::{Check, variables::Known};
use crate::{
    flowstate::{
        reader::{Flow, each_action},
        syntax::{Action, Doing, ToolArgument, Written},
        tools,
    },
    source::Span,
};

const REMEDIES: &str = "use `{{ quote(name) }}`, pass it in `env`, or set `shell-safe: true`";

impl Check<'_> {
    /// Checks every command that bash runs.
    pub(super) fn shell(&mut self, at: usize, flow: &Flow, known: &Known) {
        let mut commands: Vec<(&Written, bool)> = Vec::new();
        each_action(&flow.states, &mut |action| {
            commands.extend(command(action, flow));
        });
        for (written, safe) in commands {
            if written.holes.is_empty() {
                continue;
            }
            let spots = written.spots();
            if safe {
                self.safe(written, spots);
            } else if let Some(spots) = spots {
                for ((expr, span), spot) in written.holes().zip(spots) {
                    self.plain(at, known, expr, span, spot);
                }
            }
        }
    }

    fn safe(&mut self, written: &Written, spots: Option<Vec<Spot>>) {
        let Some(spots) = spots else {
            self.report
                .error(
                    written.span,
                    "unsafe_place",
                    "the command cannot be followed, so no value can be put into it safely",
                )
                .help("close every quote and bracket, or pass the values in `env`");
            return;
        };
        for ((_, span), spot) in written.holes().zip(spots) {
            if let Some(fault) = spot.fault.filter(|_| spot.position != Position::Comment) {
                self.report
                    .error(
                        span,
                        "unsafe_place",
                        format!("a value cannot be put safely {fault}"),
                    )
                    .help("pass it in `env: {NAME: \"{{ name }}\"}` and use `\"$NAME\"` where the shell expands it");
            }
        }
    }

    /// Warns of a value that may be parsed as code.
    fn plain(&mut self, at: usize, known: &Known, expr: &Expr, span: Span, spot: Spot) {
        let harmless = matches!(expr, Expr::Same(..) | Expr::Differs(..))
            || matches!(expr, Expr::Key(key) if key == "index");
        if harmless || spot.position == Position::Comment {
            return;
        }
        let outside = matches!(spot.position, Position::Word | Position::Arithmetic);
        let message = if matches!(expr, Expr::Quote(_)) {
            if outside {
                return;
            }
            "`quote()` brings quotes of its own, and stands within others"
        } else if outside {
            "a value outside quotes may become part of the command"
        } else if known.is_foreign(at, expr) {
            "a value from a model, a person, an issue or a list may end the quotes and become part of the command"
        } else {
            return;
        };
        self.report
            .warning(span, "shell_substitution", message)
            .help(if matches!(expr, Expr::Quote(_)) {
                "remove the quotes around it"
            } else {
                REMEDIES
            });
    }
}

/// Returns the command of an action, and whether its values are passed as variables.
fn command<'s>(action: &'s Action, flow: &Flow) -> Option<(&'s Written, bool)> {
    let Doing::Work(given) = &action.doing else {
        return None;
    };
    match (
        tools::given(given, "command"),
        tools::given(given, "condition"),
    ) {
        (Some(ToolArgument::Text(written)), _) => Some((written, is_safe(given, flow))),
        (_, Some(ToolArgument::Condition(condition))) => {
            Some((&condition.command, flow.shell_safe))
        }
        _ => None,
    }
}

/// Returns whether a command's values are passed as variables.
pub(in crate::flowstate) fn is_safe(given: &[(&'static str, ToolArgument)], flow: &Flow) -> bool {
    match tools::given(given, "shell-safe") {
        Some(ToolArgument::Flag(flag)) => *flag,
        _ => flow.shell_safe,
    }
}
