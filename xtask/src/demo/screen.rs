//! Splits lines into rows as a terminal shows them: pieces of one style each, wrapped at its width.

/// Text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    /// The name of the style; empty for the default.
    pub(super) style: &'static str,
}

/// Parses the color codes of a line and wraps it.
pub(super) fn rows(line: &str, columns: usize) -> Vec<Vec<Piece>> {
    let mut rows: Vec<Vec<Piece>> = vec![Vec::new()];
    let (mut style, mut column) = ("", 0);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            let code: String = letters
                .by_ref()
                .skip_while(|letter| *letter == '[')
                .take_while(|letter| *letter != 'm')
                .collect();
            style = named(&code);
            continue;
        }
        if column == columns {
            rows.push(Vec::new());
            column = 0;
        }
        column += 1;
        let Some(row) = rows.last_mut() else {
            continue;
        };
        match row.last_mut().filter(|piece| piece.style == style) {
            Some(piece) => piece.text.push(letter),
            None => row.push(Piece {
                text: letter.to_string(),
                style,
            }),
        }
    }
    rows
}

/// Returns the name of a style that the program uses.
fn named(code: &str) -> &'static str {
    match code {
        "1" => "bold",
        "2" => "dim",
        "31" => "red",
        "32" => "green",
        "33" => "yellow",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, rows};

    #[test]
    fn colours_are_kept_over_the_edge_of_the_terminal() {
        let piece = |text: &str, style| Piece {
            text: text.to_owned(),
            style,
        };
        assert_eq!(
            rows("ab\u{1b}[31mcde\u{1b}[0mf", 4),
            [
                vec![piece("ab", ""), piece("cd", "red")],
                vec![piece("e", "red"), piece("f", "")],
            ]
        );
        assert_eq!(rows("", 4), [Vec::<Piece>::new()]);
    }
}
