//! Patterns of paths: `*` matches within a segment, `**` at any depth; `?`, `[...]` and `{a,b}` work as usual.

use std::{cell::RefCell, collections::BTreeMap, str::Chars};

use globset::{GlobBuilder, GlobSet};

thread_local! {
    /// Compiled patterns, since compiling one takes a thousand times as long as matching it; `None`: it is invalid.
    static COMPILED: RefCell<BTreeMap<String, Option<GlobSet>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Maximum number of compiled patterns that are kept.
const COMPILED_MAX: usize = 64;
/// Maximum length in bytes of a pattern that is kept: what a longer one compiles to may be large.
const COMPILED_BYTES_MAX: usize = 256;

/// Returns whether `path`, relative to the project root, matches `pattern`.
///
/// An invalid pattern matches nothing; loading a workflow rejects it.
#[must_use]
pub fn path_matches(pattern: &str, path: &str) -> bool {
    if pattern.len() > COMPILED_BYTES_MAX {
        return compile(pattern).is_ok_and(|set| set.is_match(path));
    }
    COMPILED.with_borrow_mut(|compiled| {
        if let Some(known) = compiled.get(pattern) {
            return known.as_ref().is_some_and(|set| set.is_match(path));
        }
        if compiled.len() >= COMPILED_MAX {
            compiled.clear();
        }
        let set = compile(pattern).ok();
        let matches = set.as_ref().is_some_and(|set| set.is_match(path));
        compiled.insert(pattern.to_owned(), set);
        matches
    })
}

/// Compiles `pattern`, or says why it is invalid.
///
/// # Errors
/// The pattern is not valid.
pub fn compile(pattern: &str) -> Result<GlobSet, String> {
    let pattern = without_slashes_in_sets(pattern.strip_prefix("./").unwrap_or(pattern))?;
    compile_plain(&pattern, true)
}

/// Returns the regular expression that `pattern` is matched with.
///
/// # Errors
/// The pattern is not valid.
pub fn as_expression(pattern: &str) -> Result<String, String> {
    compile(pattern)?;
    let pattern = without_slashes_in_sets(pattern.strip_prefix("./").unwrap_or(pattern))?;
    let glob = builder(&pattern, true).build();
    glob.map(|glob| glob.regex().to_owned())
        .map_err(|error| error.kind().to_string())
}

fn builder(pattern: &str, lenient: bool) -> GlobBuilder<'_> {
    let mut builder = GlobBuilder::new(pattern);
    builder
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(lenient);
    builder
}

/// Compiles `pattern` unchanged; `lenient` permits empty alternatives between braces.
///
/// # Errors
/// The pattern is not valid, or it exceeds the limits on length or nesting.
pub fn compile_plain(pattern: &str, lenient: bool) -> Result<GlobSet, String> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!("it is longer than {PATTERN_BYTES_MAX} bytes"));
    }
    if braces_deep(pattern) > BRACES_DEEP_MAX {
        return Err(format!("its braces are more than {BRACES_DEEP_MAX} deep"));
    }
    let glob = builder(pattern, lenient).build();
    // A set says what is wrong with a pattern that cannot be compiled; a single one would panic.
    let set = glob.and_then(|glob| GlobSet::builder().add(glob).build());
    set.map_err(|error| error.kind().to_string())
}

/// Maximum length of a pattern in bytes.
const PATTERN_BYTES_MAX: usize = 4_096;
/// Maximum nesting of braces.
const BRACES_DEEP_MAX: usize = 10;

fn braces_deep(pattern: &str) -> usize {
    let mut deepest = 0;
    let mut depth: usize = 0;
    for letter in pattern.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Excludes `/` from every character set, because a set must not match across segments.
fn without_slashes_in_sets(pattern: &str) -> Result<String, String> {
    let mut written = String::with_capacity(pattern.len() + 1);
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        written.push(letter);
        match letter {
            '\\' => written.extend(letters.next()),
            '[' => written.push_str(&set(&mut letters)?),
            _ => {}
        }
    }
    Ok(written)
}

/// Reads a set such as `[a-z]` or `[!x]`, from after its `[` up to its `]`.
fn set(letters: &mut Chars<'_>) -> Result<String, String> {
    let negated = letters.as_str().starts_with(['!', '^']);
    if negated {
        letters.next();
    }
    // A `]` that comes first stands for itself.
    let mut inside: String = letters.next().into_iter().collect();
    loop {
        match letters.next() {
            Some(']') => break,
            Some(letter) => inside.push(letter),
            None => return Err("a set that begins with `[` is never closed".to_owned()),
        }
    }
    let all: Vec<char> = inside.chars().collect();
    let spans = |ends: &[char]| matches!(ends, [low, '-', high] if *low <= '/' && '/' <= *high);
    if all.contains(&'/') || all.windows(3).any(spans) || inside.contains("--") {
        return Err("a set such as `[...]` cannot hold `/` or `--`".to_owned());
    }
    if negated {
        // A `-` that comes last stands for itself and has to stay there.
        let last = if inside.len() > 1 && inside.ends_with('-') {
            inside.pop()
        } else {
            None
        };
        inside.insert(0, '!');
        inside.push('/');
        inside.extend(last);
    }
    inside.push(']');
    Ok(inside)
}

#[cfg(test)]
mod tests {
    use super::{compile, path_matches};

    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        assert!(compile(pattern).is_ok(), "{pattern}");
        for path in matching {
            assert!(path_matches(pattern, path), "{pattern} should match {path}");
        }
        for path in others {
            assert!(
                !path_matches(pattern, path),
                "{pattern} should not match {path}"
            );
        }
    }

    #[test]
    fn a_star_stays_in_its_segment_and_two_do_not() {
        check("*.sql", &["a.sql", ".sql"], &["db/a.sql", "a.sqlx"]);
        check("db/*/x", &["db/a/x"], &["db/x", "db/a/b/x"]);
        check(
            "site/pb/**/*.js",
            &["site/pb/a.js", "site/pb/a/b/c.js"],
            &["site/a.js", "site/pb/a.ts"],
        );
        check("**/a", &["a", "x/a", "x/y/a"], &["x/a/b"]);
        check("db/**", &["db/a", "db/a/b"], &["db", "dbx/a"]);
        check("**", &["a", "a/b"], &[]);
        check("./src/*", &["src/a"], &["src/a/b"]);
    }

    #[test]
    fn sets_negate_with_either_sign_and_no_set_matches_a_slash() {
        check("a[!x]c", &["abc"], &["axc", "a/c", "ac"]);
        check("a[^x]c", &["abc"], &["axc", "a/c"]);
        check("[a-c]?", &["bz"], &["dz", "b", "b/"]);
        check("a[!x-z-]c", &["abc", "a.c"], &["ayc", "a-c", "a/c"]);
        check("a[!-x]c", &["abc"], &["a-c", "axc", "a/c"]);
        check("a[]]b", &["a]b"], &[]);
        check("a[!]]b", &["axb"], &["a]b", "a/b"]);
        check("a\\[!x]c", &["a[!x]c"], &["abc", "a\\bc"]);
    }

    #[test]
    fn braces_nest() {
        check("{a,b{c,d}}.x", &["a.x", "bc.x", "bd.x"], &["b.x", "c.x"]);
        check(
            "db/{up,down}/**/*.{sql,ddl}",
            &["db/up/1.sql", "db/down/a/b.ddl"],
            &["db/left/1.sql"],
        );
        check("{,x/}a", &["a", "x/a"], &["y/a"]);
    }

    #[test]
    fn patterns_that_were_compiled_before_match_the_same() {
        for round in 0..2 {
            for number in 0..300 {
                let pattern = format!("db/{number}/*.sql");
                assert!(
                    path_matches(&pattern, &format!("db/{number}/a.sql")),
                    "{round}"
                );
                assert!(!path_matches(&pattern, &format!("db/{number}0/a.sql")));
                assert!(!path_matches("a{b", "ab"));
                let long = format!("{}{number}", "x".repeat(300));
                assert!(path_matches(&long, &long));
            }
        }
    }

    #[test]
    fn what_is_not_closed_is_invalid() {
        for pattern in [
            "a{b", "a}b", "[a", "a[b-", "[z-a]", "a\\", "a[/]b", "[!/]", "[.-0]", "[+--]", "[!",
            "[!]",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
            assert!(!path_matches(pattern, pattern), "{pattern}");
        }
    }
}
