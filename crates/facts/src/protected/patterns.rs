//! Shell patterns compared with names: what one may match before the line runs.

/// Longest pattern, in characters, that is compared; a longer one may match any name.
const PATTERN_MAX: usize = 4096;
/// A part of a path that is not known before the line runs.
pub(super) const UNKNOWN: &str = "\u{e000}";

/// Returns whether the parts of a path may be the names of a protected file, one of which is hidden.
///
/// One part has to be known: a line may well write to a path that it does not name.
pub(super) fn may_be_names(parts: &[&str], names: &[&str], line: &str) -> bool {
    let is_unknown = |part: &str| part.contains(['$', '`']);
    let mut pairs = parts.iter().zip(names);
    let known = parts.iter().take(names.len());
    pairs.all(|(part, name)| {
        fits(part, name) || is_unknown(part) && name.starts_with('.') && line.contains(*name)
    }) && known.clone().any(|part| !is_unknown(part))
        && known
            .clone()
            .any(|part| part.starts_with('.') || is_unknown(part))
}

/// Returns whether the parts of a path may be the names of another, as far as both go.
///
/// An unknown part may be any name, even a hidden one, if a name after it is written out.
pub(super) fn may_be(parts: &[&str], names: &[&str]) -> bool {
    let fits_all = |unknown: &dyn Fn(&str) -> bool| {
        let mut pairs = parts.iter().zip(names);
        pairs.all(|(part, name)| match *part {
            UNKNOWN => unknown(name),
            part => fits(part, name),
        })
    };
    let is_written = |part: &&str| part.contains(char::is_alphanumeric);
    let mut behind = parts
        .iter()
        .take(names.len())
        .skip_while(|part| **part != UNKNOWN);
    fits_all(&|name| fits("*", name)) || behind.any(is_written) && fits_all(&|_| true)
}

/// Returns whether a shell pattern matches a name; a pattern for a hidden name must have its dot.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let name = name.trim_end_matches('*');
    matches(
        &pattern.chars().collect::<Vec<_>>(),
        &name.chars().collect::<Vec<_>>(),
    )
}

/// Matches like a shell; a bracket expression may match any one character, and end at any bracket that closes it.
///
/// The time is proportional to the lengths of both.
fn matches(pattern: &[char], name: &[char]) -> bool {
    if !pattern.iter().any(|c| matches!(c, '*' | '?' | '[')) {
        return pattern.len() == name.len()
            && pattern
                .iter()
                .zip(name)
                .all(|(one, other)| is_same(*one, *other));
    }
    if pattern.len() > PATTERN_MAX {
        return true;
    }
    let none = vec![false; name.len() + 1];
    // Which beginnings of the name the pattern may match up to here, by their length.
    let mut here = none.clone();
    if let Some(first) = here.first_mut() {
        *first = true;
    }
    // Which of them it may match inside a bracket expression: up to here, and after its first character.
    let (mut inside, mut opened) = (none.clone(), none.clone());
    for c in pattern {
        let mut next = none.clone();
        let mut still_inside = std::mem::replace(&mut opened, none.clone());
        for (done, is_here) in here.iter().copied().enumerate() {
            let letter = name.get(done);
            if inside.get(done) == Some(&true) {
                set(&mut still_inside, done);
                if *c == ']' {
                    set(&mut next, done + 1);
                }
            }
            if !is_here {
                continue;
            }
            match c {
                '*' => (done..=name.len()).for_each(|end| set(&mut next, end)),
                '[' if letter.is_some() => set(&mut opened, done),
                '?' => set(&mut next, done + 1),
                c if letter.is_some_and(|letter| is_same(*c, *letter)) => set(&mut next, done + 1),
                _ => {}
            }
        }
        (here, inside) = (next, still_inside);
    }
    here.last() == Some(&true)
}

fn set(reached: &mut [bool], at: usize) {
    if let Some(reached) = reached.get_mut(at) {
        *reached = true;
    }
}

fn is_same(one: char, other: char) -> bool {
    one.to_lowercase().eq(other.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_every_name_that_a_shell_may_find_by_it() {
        for (pattern, name, found) in [
            ("*", "settings.json", true),
            ("*", ".mcp.json", false),
            (".*", ".mcp.json", true),
            ("*.json", "settings.json", true),
            ("*.json", "settings.jsonl", false),
            ("settings.????", "settings.json", true),
            ("settings.???", "settings.json", false),
            ("SETTINGS.*", "settings.json", true),
            // What a bracket expression matches is not looked at, apart from where it ends.
            ("[a-f]ettings.json", "settings.json", true),
            ("[!]s]ettings.json", "settings.json", true),
            ("[]s]ettings.json", "settings.json", true),
            ("[s]ettings", "settings.json", false),
            ("setting[s].json", "settings.json", true),
            ("setting[s]x.json", "settings.json", false),
            ("setting[", "settings", false),
            ("[s]", "", false),
        ] {
            assert_eq!(fits(pattern, name), found, "{pattern} {name}");
        }
    }
}
