//! Diagnostics as text for people, each with the line it is about.

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use interlock_core::validate::Severity;

use crate::diagnostic::Diagnostic;

/// Writes `diagnostics` for a person: message, place, line, and what to do.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    diagnostics
        .iter()
        .map(|diagnostic| one(&renderer, diagnostic))
        .collect()
}

fn one(renderer: &Renderer, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let origin = Origin::path(diagnostic.file.as_str())
        .line(diagnostic.line)
        .char_column(diagnostic.column);
    let excerpt = Snippet::source(diagnostic.excerpt.as_str())
        .line_start(diagnostic.line)
        .annotation(AnnotationKind::Primary.span(diagnostic.marked.clone()));
    let mut group = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code)
        .element(Element::from(origin))
        .element(Element::from(excerpt));
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let mut text = renderer.render(&[group]);
    text.push_str("\n\n");
    text
}
