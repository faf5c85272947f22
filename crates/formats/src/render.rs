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
    // The path comes with the line, but where the line is cut its columns are not those of the file.
    let excerpt = Snippet::source(diagnostic.excerpt.as_str())
        .line_start(diagnostic.line)
        .annotation(AnnotationKind::Primary.span(diagnostic.marked.clone()));
    let title = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code);
    let mut group = if diagnostic.is_cut {
        let origin = Origin::path(diagnostic.file.as_str());
        let origin = origin.line(diagnostic.line).char_column(diagnostic.column);
        title
            .element(Element::from(origin))
            .element(Element::from(excerpt))
    } else {
        title.element(Element::from(excerpt.path(diagnostic.file.as_str())))
    };
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let mut text = renderer.render(&[group]);
    text.push_str("\n\n");
    text
}
