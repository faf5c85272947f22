//! Commands whose values are passed as environment variables.

use interlock_expr::text::{Expr, Piece, Text};
use interlock_shell::Position;

use super::{syntax::Written, template::push};

/// A command that only names its values, and the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Safe {
    pub(super) command: Text,
    /// Environment variables by name.
    pub(super) env: Vec<(String, Text)>,
    /// Names of those variables' values in the file, if they have any.
    pub(super) names: Vec<(String, String)>,
}

/// Rewrites a command; returns `None` if some place in it cannot be made safe.
///
/// `taken` are the names that the command's environment already has.
pub(super) fn rewrite(written: &Written, taken: &[&str]) -> Option<Safe> {
    let spots = written.spots()?;
    let mut spots = spots.into_iter();
    let prefix = prefix(written, taken);
    let mut safe = Safe {
        command: Text::default(),
        env: Vec::new(),
        names: Vec::new(),
    };
    for part in &written.template.parts {
        let expr = match &part.piece {
            Piece::Plain(text) => {
                push(&mut safe.command, Piece::Plain(text.clone()));
                continue;
            }
            Piece::Hole(expr) => value(expr),
        };
        let spot = spots.next()?;
        if spot.fault.is_some() && spot.position != Position::Comment {
            return None;
        }
        let name = format!("{prefix}{}", safe.env.len() + 1);
        let put = match spot.position {
            Position::Word => format!("\"${{{name}}}\""),
            Position::Quotes => format!("${{{name}}}"),
            Position::Single => format!("'\"${{{name}}}\"'"),
            Position::Comment => continue,
            Position::Document => return None,
            Position::Arithmetic => {
                let integer = Expr::Integer(Box::new(expr.clone()));
                push(&mut safe.command, Piece::Hole(integer));
                continue;
            }
        };
        push(&mut safe.command, Piece::Plain(put));
        let text = Text {
            pieces: vec![Piece::Hole(expr.clone())],
        };
        let written = match expr {
            Expr::Key(key) => Some(key.clone()),
            Expr::Value(path) => Some(path.join(".")),
            _ => None,
        };
        safe.names
            .extend(written.map(|written| (name.clone(), written)));
        safe.env.push((name, text));
    }
    Some(safe)
}

/// Returns a value without explicit quoting: in a safe command, the variable's own quotes suffice.
fn value(expr: &Expr) -> &Expr {
    match expr {
        Expr::Quote(inner) => value(inner),
        other => other,
    }
}

/// Returns a prefix of names that neither the command nor its environment uses.
fn prefix(written: &Written, taken: &[&str]) -> String {
    let mut prefix = "IL_".to_owned();
    let is_used = |prefix: &str| {
        taken.iter().any(|name| name.starts_with(prefix))
            || written
                .template
                .parts
                .iter()
                .any(|part| matches!(&part.piece, Piece::Plain(text) if text.contains(prefix)))
    };
    while is_used(&prefix) {
        prefix.insert(prefix.len() - 1, 'L');
    }
    prefix
}

#[cfg(test)]
mod tests;
