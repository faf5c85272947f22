//! Programs that treat an argument as code, as tables.

/// How a program receives its code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    /// Options whose next argument is the code.
    pub(super) code: &'static [&'static str],
    /// Options whose next argument is something else.
    pub(super) takes: &'static [&'static str],
    /// Options whose next argument is a file with the code.
    pub(super) file: &'static [&'static str],
    /// Whether the first operand is the code.
    pub(super) first: bool,
    /// Whether it reads the code from standard input if none is given.
    pub(super) input: bool,
}

const SHELL: Program = Program {
    code: &["-c"],
    takes: &["-o", "-O", "+o", "+O", "--rcfile", "--init-file"],
    file: &[],
    first: false,
    input: true,
};

const SCRIPT: Program = Program {
    code: &[
        "-c", "-e", "-E", "-p", "-r", "--eval", "--print", "-pe", "-ne",
    ],
    takes: &["-m", "-M", "-I", "-W", "-X"],
    file: &[],
    first: false,
    input: true,
};

const FILTER: Program = Program {
    code: &["-e", "--expression", "--source"],
    takes: &["-v", "-F", "--assign", "--field-separator", "-l", "-E"],
    file: &["-f", "--file"],
    first: true,
    input: false,
};

const JSON: Program = Program {
    code: &[],
    takes: &["--indent", "--tab"],
    file: &["-f", "--from-file"],
    first: true,
    input: false,
};

const DATABASE: Program = Program {
    code: &["-c", "-e", "--command", "--execute", "-cmd"],
    takes: &["-h", "-p", "-P", "-U", "-u", "-d", "-D"],
    file: &[],
    first: false,
    input: true,
};

const OPERAND: Program = Program {
    code: &["-c", "--command"],
    takes: &["-s", "-w", "-E", "-u", "-g"],
    file: &[],
    first: false,
    input: false,
};

const PROGRAMS: &[(&str, Program)] = &[
    ("sh", SHELL),
    ("bash", SHELL),
    ("dash", SHELL),
    ("zsh", SHELL),
    ("ksh", SHELL),
    ("mksh", SHELL),
    ("ash", SHELL),
    ("fish", SHELL),
    ("pwsh", SHELL),
    ("python", SCRIPT),
    ("python2", SCRIPT),
    ("python3", SCRIPT),
    ("perl", SCRIPT),
    ("ruby", SCRIPT),
    ("node", SCRIPT),
    ("nodejs", SCRIPT),
    ("deno", SCRIPT),
    ("bun", SCRIPT),
    ("php", SCRIPT),
    ("lua", SCRIPT),
    ("tclsh", SCRIPT),
    ("expect", SCRIPT),
    ("Rscript", SCRIPT),
    ("osascript", SCRIPT),
    ("bc", SCRIPT),
    ("dc", SCRIPT),
    ("awk", FILTER),
    ("gawk", FILTER),
    ("mawk", FILTER),
    ("nawk", FILTER),
    ("sed", FILTER),
    ("gsed", FILTER),
    ("jq", JSON),
    ("gojq", JSON),
    ("yq", JSON),
    ("psql", DATABASE),
    ("mysql", DATABASE),
    ("mariadb", DATABASE),
    ("su", OPERAND),
    ("runuser", OPERAND),
    ("flock", OPERAND),
    ("script", OPERAND),
];

/// Programs all of whose arguments may be code.
pub(super) const WHOLE: &[&str] = &[
    "eval", "source", ".", "ssh", "watch", "trap", "alias", "bind", "complete", "compgen",
    "sqlite3", "at", "batch", "entr",
];

/// Programs that run the program named by a later argument.
pub(super) const WRAPPERS: &[&str] = &[
    "command", "builtin", "exec", "nohup", "time", "sudo", "doas", "env", "nice", "ionice",
    "timeout", "xargs", "stdbuf", "setsid", "chroot", "unshare", "parallel", "busybox", "docker",
    "podman", "kubectl", "find", "strace", "ltrace", "coproc", "then", "do", "else",
];

/// Builtins that take names of variables, whose indices are evaluated.
pub(super) const NAMERS: &[&str] = &[
    "read",
    "unset",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "wait",
];

/// Builtins that take names of variables with values.
pub(super) const DECLARERS: &[&str] = &["export", "declare", "typeset", "local", "readonly"];

/// Variables whose value the shell evaluates.
pub(super) const EVALUATED: &[&str] = &[
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "BASH_ENV",
    "ENV",
];

/// Finds a program by the last part of its path.
pub(super) fn program(word: &str) -> Option<&'static Program> {
    let name = word.rsplit('/').next().unwrap_or(word);
    let versioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    PROGRAMS
        .iter()
        .find(|(known, _)| *known == name)
        .or_else(|| PROGRAMS.iter().find(|(known, _)| *known == versioned))
        .map(|(_, program)| program)
}
