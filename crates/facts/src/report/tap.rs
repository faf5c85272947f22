//! The Test Anything Protocol, versions 12 to 14, with subtests by indentation.

use interlock_core::substance::ReportProblem;

use super::{DEPTH_MAX, ReportFailure, TestOutcome, Tests, joined};

/// Number of blanks that indent one level of subtests.
const INDENT: usize = 4;

/// Tests of one level, in the order in which they ended.
#[derive(Debug, Default)]
struct Level {
    /// Name and outcome; the names of enclosing tests are part of a name.
    ended: Vec<(String, TestOutcome)>,
    /// Number of results so far.
    count: u64,
    /// Expected number of results.
    plan: Option<u64>,
}

/// Parses a report into `tests`.
pub(super) fn read(text: &str, tests: &mut Tests) -> Result<(), ReportFailure> {
    // A last line without a line break may be incomplete.
    if !text.ends_with('\n') {
        return Err(ReportProblem::Incomplete.into());
    }
    let mut levels: Vec<Level> = vec![Level::default()];
    // Indentation of the diagnostics that are being skipped.
    let mut diagnostics: Option<usize> = None;
    // Results whose subtests follow in braces, as vitest writes them.
    let mut blocks: Vec<(usize, String, TestOutcome)> = Vec::new();
    let mut total = 0_usize;
    for (number, line) in (1..).zip(text.lines()) {
        let fail = |code| ReportFailure {
            code,
            line: Some(number),
        };
        let content = line.trim_start_matches(' ');
        let blanks = line.len() - content.len();
        let content = content.trim_end();
        if let Some(before) = diagnostics {
            if content == "..." && blanks == before {
                diagnostics = None;
            }
            continue;
        }
        if content == "---" {
            diagnostics = Some(blanks);
            continue;
        }
        if let Some(reason) = content.strip_prefix("Bail out!") {
            tests
                .fail(&joined(["the run", reason.trim()]))
                .map_err(fail)?;
            continue;
        }
        let depth = blanks / INDENT;
        if content == "}" && blocks.last().is_some_and(|(at, ..)| *at == depth) {
            if let Some((_, name, outcome)) = blocks.pop() {
                let below = ended_below(&mut levels, depth).map_err(fail)?;
                if let Some(level) = levels.get_mut(depth) {
                    level.ended.extend(within(&name, outcome, below));
                }
            }
            continue;
        }
        let Some(found) = read_line(content) else {
            continue;
        };
        if depth > DEPTH_MAX {
            return Err(fail(ReportProblem::Malformed));
        }
        // Deeper tests belong to the result of their parent; a level in between may be empty.
        while levels.len() <= depth {
            levels.push(Level::default());
        }
        match found {
            Found::Plan(count) => {
                if let Some(level) = levels.get_mut(depth) {
                    level.plan = Some(count);
                }
            }
            Found::Result { outcome, name } => {
                total = total.saturating_add(1);
                if total > super::TESTS_MAX {
                    return Err(fail(ReportProblem::TooManyTests));
                }
                if let Some(name) = name.strip_suffix('{') {
                    blocks.push((depth, name.trim_end().to_owned(), outcome));
                    if let Some(level) = levels.get_mut(depth) {
                        level.count += 1;
                    }
                    continue;
                }
                let below = ended_below(&mut levels, depth).map_err(fail)?;
                if let Some(level) = levels.get_mut(depth) {
                    level.count += 1;
                    level.ended.extend(within(&name, outcome, below));
                }
            }
        }
    }
    if !blocks.is_empty() {
        return Err(ReportProblem::Incomplete.into());
    }
    finish(levels, tests)
}

/// Adds everything that was parsed, if the report is complete.
fn finish(mut levels: Vec<Level>, tests: &mut Tests) -> Result<(), ReportFailure> {
    // Subtests without their parent's result are from a run that was interrupted.
    let deeper = ended_below(&mut levels, 0)?;
    let Some(root) = levels.pop().filter(|_| deeper.is_empty()) else {
        return Err(ReportProblem::Incomplete.into());
    };
    if root.plan != Some(root.count) {
        return Err(ReportProblem::Incomplete.into());
    }
    for (name, outcome) in root.ended {
        tests.add(&name, outcome)?;
    }
    Ok(())
}

/// Takes what ended below `depth`; each level must be complete.
fn ended_below(
    levels: &mut Vec<Level>,
    depth: usize,
) -> Result<Vec<(String, TestOutcome)>, ReportProblem> {
    let mut found = Vec::new();
    for level in levels.split_off(depth + 1) {
        if level.plan.is_some_and(|plan| plan != level.count) {
            return Err(ReportProblem::Incomplete);
        }
        found.extend(level.ended);
    }
    Ok(found)
}

/// Returns the tests that a result represents: those below it, or itself.
fn within(
    name: &str,
    outcome: TestOutcome,
    below: Vec<(String, TestOutcome)>,
) -> Vec<(String, TestOutcome)> {
    if below.is_empty() {
        return vec![(name.to_owned(), outcome)];
    }
    let fails = below
        .iter()
        .any(|(_, outcome)| *outcome == TestOutcome::Failed);
    let mut found: Vec<(String, TestOutcome)> = below
        .into_iter()
        .map(|(inner, of_inner)| (joined([name, &inner]), of_inner))
        .collect();
    if outcome != TestOutcome::Passed && !(fails && outcome == TestOutcome::Failed) {
        found.push((format!("{name} (as a whole)"), outcome));
    }
    found
}

enum Found {
    Plan(u64),
    Result { outcome: TestOutcome, name: String },
}

fn read_line(content: &str) -> Option<Found> {
    if let Some(rest) = content.strip_prefix("1..") {
        let count = rest.split([' ', '#']).next()?;
        return count.parse().ok().map(Found::Plan);
    }
    let (failed, rest) = match content.strip_prefix("not ok") {
        Some(rest) => (true, rest),
        None => (false, content.strip_prefix("ok")?),
    };
    // `okay` is not a result.
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim_start();
    let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, directive) = directive(rest);
    // The duration is not part of its name.
    let (name, block) = match name.rsplit_once(" # time=") {
        Some((name, behind)) => (name, if behind.ends_with('{') { " {" } else { "" }),
        None => (name, ""),
    };
    let outcome = match directive {
        Some(_) => TestOutcome::Skipped,
        None if failed => TestOutcome::Failed,
        None => TestOutcome::Passed,
    };
    Some(Found::Result {
        outcome,
        name: format!("{}{block}", name.trim()),
    })
}

/// Splits a description from `# SKIP` or `# TODO`; an escaped `#` belongs to it.
fn directive(text: &str) -> (&str, Option<&str>) {
    for (at, _) in text.match_indices('#') {
        let (before, behind) = text.split_at(at);
        let word = behind.trim_start_matches('#').trim_start();
        let is_word = |name: &str| {
            word.get(..name.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        let escaped = before.ends_with('\\');
        if !escaped && (is_word("skip") || is_word("todo")) {
            return (before, Some(word));
        }
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::directive;

    #[test]
    fn an_escaped_mark_belongs_to_the_name() {
        for (text, wanted) in [
            ("prints # SKIP no disk", ("prints ", Some("SKIP no disk"))),
            ("prints # todo", ("prints ", Some("todo"))),
            (r"prints \# skip", (r"prints \# skip", None)),
            (
                r"prints \# skip # Skip now",
                (r"prints \# skip ", Some("Skip now")),
            ),
            ("issue #7", ("issue #7", None)),
            ("issue #7 ## skip", ("issue #7 ", Some("skip"))),
        ] {
            assert_eq!(directive(text), wanted, "{text}");
        }
    }
}
