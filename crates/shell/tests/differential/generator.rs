//! Lines generated from a grammar, and deliberately damaged lines of the case files.

/// A pseudo-random number generator with a seed.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    pub(crate) fn one_in(&mut self, chance: usize) -> bool {
        self.below(chance) == 0
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

const PROGRAMS: &[&str] = &[
    "ls", "cat", "touch", "rm", "grep", "sed", "wc", "cargo", "npm", "head", "foo", "sort", "git",
];
const BUILTINS: &[&str] = &[
    "echo", ":", "true", "false", "test", "printf", "pwd", "type", "cd", "export", "declare",
    "set --", "shift", "read", "unset", "local", "eval", "command", "builtin", "exec", "trap",
    "wait", "let", "[", "return", "break", "exit", "mapfile", "shopt -s", "set -o", "getopts",
];
const NAMES: &[&str] = &[
    "x", "y", "z", "n", "HOME", "PWD", "IFS", "REPLY", "_", "OPTARG",
];
const PLAIN: &[&str] = &[
    "a",
    "b",
    "-l",
    "a b",
    "sub",
    "x",
    "1",
    "2",
    "-v",
    "",
    "*",
    "a*",
    "x=1",
    "y=b",
    "pipefail",
    "nullglob",
    "--",
    "-",
    "{}",
    "a,b",
    "x y",
    "touch w",
    "ls; touch w",
    "$x",
    "n",
    "]",
    "EXIT",
    "-e",
    "-n",
    "=",
];

/// Generates one line.
pub(crate) fn line(rng: &mut Rng) -> String {
    if rng.one_in(3) {
        return crate::differential::names::line(rng);
    }
    Made { rng, depth: 0 }.list()
}

struct Made<'r> {
    rng: &'r mut Rng,
    depth: usize,
}

impl Made<'_> {
    fn list(&mut self) -> String {
        self.depth += 1;
        let count = 1 + self.rng.below(if self.depth > 2 { 2 } else { 4 });
        let mut text = String::new();
        for at in 0..count {
            if at > 0 {
                text.push_str(
                    self.rng
                        .pick(&["; ", " && ", " || ", "\n", " | ", " & ", "; ", "; ", " |& "]),
                );
            }
            text.push_str(&self.command());
        }
        self.depth -= 1;
        text
    }

    fn command(&mut self) -> String {
        if self.depth > 3 || !self.rng.one_in(4) {
            return self.simple();
        }
        let body = self.list();
        match self.rng.below(13) {
            0 => format!("{{ {body}; }}"),
            1 => format!("( {body} )"),
            2 => format!(
                "if {}; then {body}; else {}; fi",
                self.simple(),
                self.simple()
            ),
            3 => format!("while {}; do {body}; break; done", self.simple()),
            4 => format!(
                "for {} in {} {}; do {body}; done",
                self.name(),
                self.word(),
                self.word()
            ),
            5 => format!(
                "case {} in {}) {body};; *) {};; esac",
                self.word(),
                self.word(),
                self.simple()
            ),
            6 => format!("f() {{ {body}; }}; f {}", self.word()),
            7 => format!("! {}", self.simple()),
            8 => format!("time {}", self.simple()),
            9 => format!(
                "[[ {} == {} ]] && {}",
                self.word(),
                self.word(),
                self.simple()
            ),
            10 => format!("{{ {body}; }} {}", self.redirect()),
            11 => format!("for ((i=0;i<2;i++)); do {body}; done"),
            _ => format!("until {}; do {body}; break; done", self.simple()),
        }
    }

    fn simple(&mut self) -> String {
        let mut words = Vec::new();
        while self.rng.one_in(4) {
            words.push(self.assignment());
        }
        if !words.is_empty() && self.rng.one_in(2) {
            return words.join(" ");
        }
        words.push(match self.rng.below(12) {
            0..=4 => self.rng.pick(PROGRAMS).to_owned(),
            5..=8 => self.rng.pick(BUILTINS).to_owned(),
            9 => format!(
                "{} {}",
                self.rng.pick(&[
                    "command",
                    "exec",
                    "env",
                    "nice",
                    "time -p",
                    "eval",
                    "builtin",
                    "timeout 5"
                ]),
                self.rng.pick(PROGRAMS)
            ),
            10 => self.word(),
            _ => self.quoted_name(),
        });
        for _ in 0..self.rng.below(4) {
            words.push(self.word());
        }
        if self.rng.one_in(6) {
            words.push(self.redirect());
        }
        words.join(" ")
    }

    fn quoted_name(&mut self) -> String {
        let name = self.rng.pick(PROGRAMS);
        match self.rng.below(4) {
            0 => format!("\\{name}"),
            1 => format!("\"{name}\""),
            2 => format!("$'{name}'"),
            _ => format!("'{}'{}", &name[..1], &name[1..]),
        }
    }

    fn name(&mut self) -> String {
        self.rng.pick(&NAMES[..5]).to_owned()
    }

    fn assignment(&mut self) -> String {
        let name = if self.rng.one_in(12) {
            self.rng.pick(NAMES).to_owned()
        } else {
            self.rng.pick(&["x", "y", "z"]).to_owned()
        };
        match self.rng.below(8) {
            0 => format!("{name}+={}", self.word()),
            1 => format!("{name}=({} {})", self.word(), self.word()),
            _ => format!("{name}={}", self.word()),
        }
    }

    fn word(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.rng.below(8) / 6 {
            text.push_str(&self.piece());
        }
        text
    }

    fn piece(&mut self) -> String {
        let name = self.rng.pick(&[
            "x", "y", "z", "x", "y", "@", "*", "1", "#", "?", "HOME", "_", "n",
        ]);
        match self.rng.below(22) {
            0..=6 => self
                .rng
                .pick(&["a", "b", "-l", "sub", "x", "1", "src"])
                .to_owned(),
            7 => format!("'{}'", self.rng.pick(PLAIN)),
            8 => format!(
                "\"{}\"",
                self.rng.pick(&[
                    "a", "a b", "$x", "$y b", "${x}", "", "a\\\"b", "$*", "$@", "`ls`"
                ])
            ),
            9 | 10 => format!("${name}"),
            11 => format!("\"${name}\""),
            12 => format!("${{{name}}}"),
            13 => format!(
                "${{x{}{}}}",
                self.rng
                    .pick(&[":-", "-", ":=", "+", ":+", "#", "%", "//", "^^", ":1", "@Q"]),
                self.rng.pick(&["a", "b", "", "$y", "'c d'"])
            ),
            14 if self.depth < 3 => format!("$({})", self.list()),
            15 if self.depth < 3 => format!("\"$({})\"", self.simple().replace('"', "")),
            16 if self.depth < 3 => format!("<({})", self.simple()),
            17 => self
                .rng
                .pick(&[
                    "{a,b}",
                    "{1..3}",
                    "a{b,c}d",
                    "{a,{b,c}}",
                    "{a..c}",
                    "{x}",
                    "{1..6..2}",
                    "{a,$x}",
                    "{,b}",
                ])
                .to_owned(),
            18 => self
                .rng
                .pick(&["$((1+2))", "$((n))", "$((x+1))", "${#x}", "$[1+1]"])
                .to_owned(),
            19 => self
                .rng
                .pick(&[
                    "*",
                    "?",
                    "[ab]",
                    "a*",
                    "~",
                    "~+",
                    "\\$x",
                    "\\ ",
                    "$'a\\tb'",
                    "$'\\x61'",
                    "\"a\"'b'c",
                ])
                .to_owned(),
            20 => format!(
                "`{}`",
                self.rng.pick(&["ls", "echo a", "touch w", "echo $x"])
            ),
            _ => self.rng.pick(&["a", "b", "c"]).to_owned(),
        }
    }

    fn redirect(&mut self) -> String {
        let target = self.rng.pick(&[
            "out",
            "a",
            "$x",
            "\"$x\"",
            "sub/o",
            "/dev/null",
            "{a,b}",
            "out*",
            "&2",
            "$y.txt",
        ]);
        match self.rng.below(9) {
            0 => format!("> {target}"),
            1 => format!(">> {target}"),
            2 => format!("2> {target}"),
            3 => format!("&> {target}"),
            4 => format!("< {target}"),
            5 => format!("<<< {}", self.word()),
            6 => "2>&1".to_owned(),
            7 => format!(">| {target}"),
            _ => format!("3<> {target}"),
        }
    }
}

/// Damages a line with a fragment of shell, or joins it to another line.
pub(crate) fn damaged(rng: &mut Rng, lines: &[String], pieces: &[&str]) -> String {
    let line = &lines[rng.below(lines.len())];
    if rng.one_in(3) {
        let other = &lines[rng.below(lines.len())];
        return format!("{line}{}{other}", rng.pick(pieces));
    }
    let mut chars: Vec<char> = line.chars().collect();
    let at = rng.below(chars.len() + 1);
    let end = (at + rng.below(4)).min(chars.len());
    let piece = rng.pick(pieces);
    chars.splice(at..end, piece.chars());
    chars.into_iter().collect()
}
