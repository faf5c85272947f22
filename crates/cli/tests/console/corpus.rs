//! Texts that would have an effect if they were interpreted.

/// One per line, with Rust's escapes for invisible characters.
const CORPUS: &str = include_str!("injections.txt");

/// Returns the texts of the corpus.
pub(crate) fn corpus() -> Vec<String> {
    let lines = CORPUS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "));
    lines.map(unescaped).collect()
}

/// Replaces escapes such as `\u{202e}` and ` `.
fn unescaped(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\\u{") {
        let (code, after) = after.split_once('}').unwrap();
        text.push_str(before);
        text.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        rest = after;
    }
    text.push_str(rest);
    text.replace("\\n", "\n")
}
