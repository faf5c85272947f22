//! The reader returns for every text, and quickly.

use std::time::{Duration, Instant};

use interlock_shell::{Dialect, ShellContext, read};
use proptest::prelude::*;

use crate::support::{cases, setting};

/// Returns every line of the case files, to build others from.
fn lines() -> Vec<String> {
    let files = [
        include_str!("cases/text.txt"),
        include_str!("cases/words.txt"),
        include_str!("cases/constructs.txt"),
        include_str!("cases/redirections.txt"),
        include_str!("cases/shells.txt"),
        include_str!("cases/wrappers.txt"),
        include_str!("cases/sed_and_awk.txt"),
        include_str!("cases/git.txt"),
        include_str!("cases/verdicts.txt"),
    ];
    files
        .iter()
        .flat_map(|file| cases(file))
        .map(|case| case.line)
        .collect()
}

/// Parses a line in every dialect; a panic or an overflow fails the test.
fn read_all(line: &str) {
    for dialect in [Dialect::Bash, Dialect::Posix, Dialect::Unknown] {
        let facts = read(
            line,
            &ShellContext {
                dialect,
                ..setting()
            },
        );
        assert!(facts.commands.len() <= 2_000);
    }
}

/// Fragments of shell, invalid on their own.
const PIECES: &[&str] = &[
    "$(",
    "`",
    "${",
    "$((",
    "))",
    ")",
    "}",
    "(",
    "{",
    "[[",
    "]]",
    "((",
    "\"",
    "'",
    "$'",
    "\\",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "<<E\n",
    "E\n",
    "<<<",
    "<(",
    ">(",
    ">",
    "2>&1",
    "if ",
    "then ",
    "fi",
    "for i in ",
    "do ",
    "done",
    "case a in ",
    "esac",
    ";;",
    "a=",
    "a[",
    "]",
    "=(",
    "$a",
    "${a:-",
    "${a@P}",
    "#",
    "~",
    "*",
    "{a,b}",
    "{1..9}",
    "-o",
    "--",
    "=",
    "~99999999999999999999/",
    "99999999999>",
    "{1..99999999999999999999}",
    "eval ",
    "bash -c ",
    "xargs ",
    "find . -exec ",
    "sed ",
    "awk ",
    "git ",
    "env -S ",
    "function f ",
    "coproc ",
    "time ",
    "! ",
    "select i in a; do ",
    "é",
    "\u{202E}",
    "\u{0}",
    "\r",
    " ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        read_all(&text);
    }

    #[test]
    fn pieces_of_shell_are_answered(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        read_all(&pieces.concat());
    }

    #[test]
    fn damaged_lines_are_answered(line in prop::sample::select(lines()), at in any::<prop::sample::Index>(),
        cut in 0_usize..6, piece in prop::sample::select(PIECES)) {
        let mut chars: Vec<char> = line.chars().collect();
        let at = at.index(chars.len() + 1);
        chars.splice(at..(at + cut).min(chars.len()), piece.chars());
        read_all(&chars.into_iter().collect::<String>());
    }

    #[test]
    fn joined_lines_are_answered(a in prop::sample::select(lines()), b in prop::sample::select(lines()), by in prop::sample::select(PIECES)) {
        read_all(&format!("{a}{by}{b}"));
    }
}

#[test]
fn the_longest_lines_are_answered_in_time() {
    let repeat = |piece: &str| piece.repeat(64 * 1024 / piece.len());
    let mut worst = (Duration::ZERO, String::new());
    let closed = |open: &str, close: &str, depth: usize| {
        format!("{}ls{}", open.repeat(depth), close.repeat(depth))
    };
    let mut texts: Vec<String> = PIECES.iter().map(|piece| repeat(piece)).collect();
    texts.extend(PIECES.iter().map(|piece| repeat(&format!("a {piece}"))));
    texts.extend([
        repeat("ls;"),
        repeat("x=a;"),
        repeat("a "),
        repeat("$x "),
        repeat("ls\n"),
        repeat("a|"),
        "a".repeat(64 * 1024),
    ]);
    for depth in [20, 50, 90, 99, 100, 101, 5_000] {
        for (open, close) in [
            ("$(", ")"),
            ("\"$(", ")\""),
            ("`", "`"),
            ("(", ")"),
            ("{ ", ";}"),
            ("${x:-", "}"),
            ("\"${x:-", "}\""),
            ("$((", "))"),
            ("((", "))"),
            ("if ", ";then ls;fi"),
            ("for i in a b; do ", ";done"),
            ("f() { ", ";}"),
            ("<(", ")"),
            ("ls <(", ")"),
            ("! ", ""),
            ("time ", ""),
            ("eval ", ""),
            ("env ", ""),
            ("timeout 1 ", ""),
            ("find . -exec ", " ;"),
            ("x=$(", ")"),
            ("x[", "]"),
            ("case a in a) ", ";;esac"),
            ("while ", ";do ls;done"),
            ("[[ ( ", " ) ]]"),
            ("\"", "\""),
            ("coproc ", ""),
            ("{", "}"),
            ("{a,", "}"),
            ("trap 'ls' 0; ", ""),
            ("ls && ", ""),
            ("ls | ", ""),
        ] {
            texts.push(closed(open, close, depth));
        }
    }
    for text in &texts {
        let began = Instant::now();
        let _ = read(text, &setting());
        let took = began.elapsed();
        if took > worst.0 {
            worst = (took, text.chars().take(60).collect());
        }
    }
    // The limit for a release build is fifty milliseconds; this one is not optimized.
    assert!(
        worst.0 < Duration::from_secs(2),
        "{:?} for `{}`",
        worst.0,
        worst.1
    );
}

/// Returns lines that grow when they run, or when they are analyzed.
fn growing() -> Vec<String> {
    let values: Vec<String> = (0..100).map(|n| format!("v{n}")).collect();
    let values = values.join(" ");
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    vec![
        format!("a=xxxxxxxx;{}touch $a", "a=$a$a;".repeat(40)),
        format!("a=xxxxxxxx;{}touch $a", "a+=$a;".repeat(40)),
        format!(
            "set -- a b c;{}touch \"$@\"",
            "set -- \"$@\" \"$@\";".repeat(30)
        ),
        format!("a=ls;{}eval \"$a\"", "a=\"$a;$a\";".repeat(16)),
        format!("ls {}", "{1..999} ".repeat(3_900)),
        format!("ls {}", "{1..9}".repeat(10)),
        format!("for i in {values}; do for j in {values}; do echo {{1..900}}; done; done"),
        nested("while ((1)); do ", "((2))", "; done", 90),
        nested("for ((;;)); do ", "ls", "; done", 90),
        nested("for i in a b c d e f g h; do ", "x=$x$i", "; done", 8),
        format!("ls x{}", "a[".repeat(20_000)),
        format!("ls {}", "`` ".repeat(20_000)),
        format!("ls {}", "xargs ".repeat(1_000)),
        "xargs ".repeat(3_900),
        "find . -exec ".repeat(1_000),
        format!("a={};ls {}", "x".repeat(30_000), "$a ".repeat(3_000)),
        format!("ls \"{}\"", "a[".repeat(30_000)),
    ]
}

#[test]
fn lines_that_grow_are_not_followed_to_their_end() {
    for line in growing() {
        let began = Instant::now();
        let facts = read(&line, &setting());
        let held = facts
            .commands
            .iter()
            .flat_map(|command| &command.words)
            .map(|word| word.literal().map_or(0, str::len))
            .sum::<usize>();
        let shown: String = line.chars().take(60).collect();
        assert!(
            held < 4 * 1024 * 1024,
            "{held} bytes of words for `{shown}`"
        );
        assert!(began.elapsed() < Duration::from_secs(2), "`{shown}`");
        let reason = facts.unreadable.unwrap_or_default();
        assert!(
            reason.chars().count() < 300,
            "{} for `{shown}`",
            reason.len()
        );
    }
}

#[test]
fn limits_are_limits() {
    let reason = |line: &str| read(line, &setting()).unreadable;
    assert!(reason(&"a".repeat(64 * 1024 + 1)).is_some());
    assert_eq!(reason(&"ls;".repeat(1_000)), None);
    assert!(reason(&"ls;".repeat(1_001)).is_some());
    assert_eq!(reason(&format!("ls{}", " a".repeat(3_999))), None);
    assert!(reason(&format!("ls{}", " a".repeat(4_000))).is_some());
    assert_eq!(
        reason(&format!("cat <<'E'\n{}E\n", "a b c d\n".repeat(5_000))),
        None
    );
    assert_eq!(
        reason(&format!("{}ls{}", "{ ".repeat(98), ";}".repeat(98))),
        None
    );
    assert!(reason(&format!("{}ls{}", "( ".repeat(101), ")".repeat(101))).is_some());
}
