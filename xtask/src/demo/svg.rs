//! Writes the session as an animated SVG that loads nothing and runs no script.

use super::{COLUMNS, Line, ROWS, screen::rows};

/// Width of a character, in tenths of a pixel.
const CHARACTER: usize = 84;
/// Height of a row in pixels.
const ROW: usize = 19;
/// Space around the text in pixels.
const MARGIN: usize = 16;
/// Time in milliseconds for which the end is shown before the animation restarts.
const END_MS: u64 = 6_000;

const STYLE: &str = "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;\
white-space:pre;fill:#d7dce2}.bold{font-weight:700;fill:#fff}.dim{fill:#8b949e}.red{fill:#ff7b72}\
.green{fill:#7ee787}.yellow{fill:#e3b341}";

/// The number of rows shown from a given time on.
struct Step {
    at_ms: u64,
    rows: usize,
}

pub(super) fn write(lines: &[Line]) -> String {
    let mut text = String::new();
    let mut steps = vec![Step { at_ms: 0, rows: 0 }];
    let mut row = 0;
    for line in lines {
        for pieces in rows(&line.text, COLUMNS) {
            let y = row * ROW + 14;
            row += 1;
            if pieces.is_empty() {
                continue;
            }
            text.push_str(&format!("<text y=\"{y}\" xml:space=\"preserve\">"));
            for piece in pieces {
                let shown = escaped(&piece.text);
                match piece.style {
                    "" => text.push_str(&shown),
                    style => text.push_str(&format!("<tspan class=\"{style}\">{shown}</tspan>")),
                }
            }
            text.push_str("</text>\n");
        }
        steps.push(Step {
            at_ms: line.at_ms,
            rows: row,
        });
    }
    let end_ms = steps.last().map_or(0, |step| step.at_ms) + END_MS;
    let width = COLUMNS * CHARACTER / 10 + 2 * MARGIN;
    let (inner, height) = (ROWS * ROW, ROWS * ROW + 2 * MARGIN);
    let times = list(&steps, |step| share(step.at_ms, end_ms));
    let heights = list(&steps, |step| (step.rows * ROW).to_string());
    let offsets = list(&steps, |step| {
        format!("0 -{}", step.rows.saturating_sub(ROWS) * ROW)
    });
    let timing = format!(
        "calcMode=\"discrete\" dur=\"{}.{:03}s\" repeatCount=\"indefinite\" keyTimes=\"{times}\"",
        end_ms / 1000,
        end_ms % 1000
    );
    let (whole, last) = (row * ROW, row.saturating_sub(ROWS) * ROW);
    // Without animation, the end of the session is shown.
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"title\">\n\
<title id=\"title\">interlock demo: an agent is denied an edit while it plans, and finishes only after the tests were seen to pass and a person agreed</title>\n\
<style>{STYLE}</style>\n\
<defs><clipPath id=\"window\"><rect width=\"{width}\" height=\"{inner}\"/></clipPath>\n\
<clipPath id=\"printed\"><rect width=\"{width}\" height=\"{whole}\"><animate attributeName=\"height\" {timing} values=\"{heights}\"/></rect></clipPath></defs>\n\
<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0d1117\"/>\n\
<g transform=\"translate({MARGIN} {MARGIN})\"><g clip-path=\"url(#window)\"><g transform=\"translate(0 -{last})\">\n\
<animateTransform attributeName=\"transform\" type=\"translate\" {timing} values=\"{offsets}\"/>\n\
<g clip-path=\"url(#printed)\">\n{text}</g></g></g></g>\n</svg>\n"
    )
}

fn list(steps: &[Step], of: impl Fn(&Step) -> String) -> String {
    steps.iter().map(of).collect::<Vec<_>>().join(";")
}

/// Writes a fraction of the total time as a decimal number.
fn share(at_ms: u64, end_ms: u64) -> String {
    let millionths = at_ms * 1_000_000 / end_ms.max(1);
    format!("0.{millionths:06}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
