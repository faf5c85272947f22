//! Rules for names.

use crate::{diagnostic::Report, source::Span};

/// The target that returns from an interrupt.
pub(super) const RETURN: &str = "$return";

/// Reports a name that cannot be used in paths or messages.
pub(crate) fn check(what: &str, name: &str, span: Span, report: &mut Report) {
    let reason = if name.is_empty() {
        "is empty"
    } else if name.contains('/') {
        "contains a `/`, which separates the names of a path"
    } else if name == RETURN {
        "is the word for the way back from an interrupt"
    } else if name.chars().any(char::is_control) {
        "contains a line break or another control character"
    } else {
        return;
    };
    report
        .error(
            span,
            "invalid_name",
            format!("the name `{}` of {what} {reason}", name.escape_debug()),
        )
        .help("choose another name");
}
