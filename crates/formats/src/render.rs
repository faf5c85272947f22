//! Diagnostics as text for people, each with its line.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use interlock_core::visible::{push_visible, steers, visible, visible_lines};
use interlock_validate::Severity;

use crate::diagnostic::Diagnostic;

/// Maximum number of diagnostics that are shown.
const SHOWN_MAX: usize = 100;

/// Formats `diagnostics` for a person: message, position, line, and advice.
///
/// If there are very many, only the first are shown, errors before others, with the number of the rest.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let (errors, others): (Vec<usize>, Vec<usize>) = (0..diagnostics.len()).partition(|at| {
        let diagnostic = diagnostics.get(*at);
        diagnostic.is_some_and(|diagnostic| diagnostic.severity == Severity::Error)
    });
    let mut shown: Vec<usize> = errors.into_iter().chain(others).take(SHOWN_MAX).collect();
    shown.sort_unstable();
    let shown = shown.iter().filter_map(|at| diagnostics.get(*at));
    let mut text: String = shown.map(|diagnostic| one(&renderer, diagnostic)).collect();
    match diagnostics.len().saturating_sub(SHOWN_MAX) {
        0 => {}
        1 => text.push_str("1 more remark is not shown: `--json` lists all\n\n"),
        more => text.push_str(&format!(
            "{more} more remarks are not shown: `--json` lists all\n\n"
        )),
    }
    text
}

fn one(renderer: &Renderer, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let (excerpt, marked) = shown(&diagnostic.excerpt, &diagnostic.marked);
    let (file, message) = (
        visible(&diagnostic.file),
        visible_lines(&diagnostic.message),
    );
    // The path contains the line, but if the line is cut, its columns are not those of the file.
    let excerpt = Snippet::source(excerpt.as_str())
        .line_start(diagnostic.line)
        .annotation(AnnotationKind::Primary.span(marked));
    let title = level.primary_title(message.as_str()).id(diagnostic.code);
    let mut group = if diagnostic.is_cut {
        let origin = Origin::path(file.as_str());
        let origin = origin.line(diagnostic.line).char_column(diagnostic.column);
        title
            .element(Element::from(origin))
            .element(Element::from(excerpt))
    } else {
        title.element(Element::from(excerpt.path(file.as_str())))
    };
    let help = diagnostic.help.as_deref().map(visible_lines);
    if let Some(help) = &help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let mut text = renderer.render(&[group]);
    text.push_str("\n\n");
    text
}

/// Shows a line of a file, and returns the shown position of the marked bytes.
fn shown(line: &str, marked: &Range<usize>) -> (String, Range<usize>) {
    let mut shown = String::with_capacity(line.len());
    let mut at = [marked.start, marked.end];
    for (index, letter) in line.char_indices() {
        if letter == '\t' || !steers(letter) {
            shown.push(letter);
            continue;
        }
        let before = shown.len() + letter.len_utf8();
        push_visible(&mut shown, letter);
        let longer = shown.len().saturating_sub(before);
        for (at, was) in at.iter_mut().zip([marked.start, marked.end]) {
            if was > index {
                *at += longer;
            }
        }
    }
    let [start, end] = at;
    (shown, start..end)
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn the_mark_stays_where_it_was_when_a_line_is_shown() {
        let (line, marked) = shown("a\u{202e}b\u{1b}c", &(4..6));
        assert_eq!(line, "a\\u{202e}b\\x1bc");
        assert_eq!(line.get(marked), Some("b\\x1b"));
    }
}
