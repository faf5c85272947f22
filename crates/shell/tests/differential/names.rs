//! Lines in which variables choose the command: set in any way, used in any way.

use crate::differential::generator::Rng;

/// Names that are set and used; the last three have a special meaning in zsh.
const NAMES: &[&str] = &[
    "x", "y", "z", "x", "y", "z", "x", "y", "z", "MATCH", "argv", "path",
];
/// Their values: a program, or the value of another variable.
const VALUES: &[&str] = &[
    "ls",
    "ls",
    "touch",
    "echo",
    "$x",
    "$y",
    "$z",
    "\"$x\"",
    "${y}",
    "$(echo touch)",
];
const DECLARING: &[&str] = &[
    "declare",
    "export",
    "typeset",
    "readonly",
    "local",
    "command declare",
    "builtin export",
    "command export",
    "declare -g",
    "typeset -x",
    "export --",
];
/// Commands after an assignment.
const PREFIXED: &[&str] = &[
    ":",
    "ls",
    "eval :",
    "export y",
    "true",
    "eval 'ls $x'",
    "eval '$x w'",
    "eval \"$y w\"",
    "command eval '$x w'",
    "builtin eval '\"$y\" w'",
    "f",
    "unset z",
    "set -- $x",
];

/// Generates one line.
pub(crate) fn line(rng: &mut Rng) -> String {
    let mut commands = Vec::new();
    if rng.one_in(8) {
        let set = setting(rng);
        let body = rng.pick(&["$x w", "eval '$y w'", ":"]).to_owned();
        commands.push(format!("f() {{ {set}; {body}; }}"));
    }
    for _ in 0..2 + rng.below(3) {
        commands.push(setting(rng));
    }
    commands.push(using(rng));
    let mut text = String::new();
    for (at, command) in commands.iter().enumerate() {
        if at > 0 {
            text.push_str(rng.pick(&["; ", "; ", "; ", "; ", "\n", " && ", " | ", " || "]));
        }
        text.push_str(command);
    }
    text
}

/// Generates a command that sets a name, or looks as if it did.
fn setting(rng: &mut Rng) -> String {
    match rng.below(5) {
        0 | 1 => declared(rng),
        2 => prefixed(rng),
        3 => assignments(rng),
        _ => given(rng),
    }
}

fn assignments(rng: &mut Rng) -> String {
    let mut words = vec![assignment(rng)];
    while rng.one_in(3) {
        words.push(assignment(rng));
    }
    words.join(" ")
}

/// Generates a declaring builtin: its operands are all expanded before the first is assigned.
fn declared(rng: &mut Rng) -> String {
    let mut words = vec![rng.pick(DECLARING).to_owned()];
    for _ in 0..1 + rng.below(3) {
        let set = assignment(rng);
        words.push(match rng.below(8) {
            0 => format!("\"{}\"", set.replace('"', "")),
            1 => rng.pick(&["x", "y", "z"]).to_owned(),
            2 => format!("'{}'", set.replace('\'', "")),
            _ => set,
        });
    }
    words.join(" ")
}

/// Generates assignments before a command, which a builtin sees and a program inherits.
fn prefixed(rng: &mut Rng) -> String {
    format!("{} {}", assignments(rng), rng.pick(PREFIXED))
}

/// Generates any other way in which a name gets a value.
fn given(rng: &mut Rng) -> String {
    let name = rng.pick(NAMES).to_owned();
    let value = rng.pick(VALUES).to_owned();
    match rng.below(27) {
        0 => format!("echo touch | read -r {name}"),
        1 => format!("read {name} <<< {value}"),
        2 => format!("true | {name}={value}"),
        3 => format!(": ${{{name}:={value}}}"),
        4 => format!(": ${{{name}={value}}}"),
        5 => format!(": ${{{name}::={value}}}"),
        6 => format!("printf -v {name} %s {value}"),
        7 => format!("for {name} in ls {value}; do :; done"),
        8 => format!("eval {name}={value}"),
        9 => format!("eval '{name}={value}'"),
        10 => format!("eval \"declare {name}={value}\""),
        11 => format!("set -- {value} w"),
        12 => format!("unset {name}"),
        13 => format!("{name}=({value} w)"),
        14 => format!("{name}[0]={value}"),
        15 => format!("commands[ls]={value}"),
        16 => format!("functions[ls]='{value} w'"),
        17 => format!("aliases[ls]={value}"),
        18 => "[[ touch =~ touch ]]".to_owned(),
        19 => format!("declare -n {name}=y"),
        20 => format!("1={value}"),
        21 => format!("hash ls={value}"),
        22 => format!("({name}={value})"),
        23 => format!("{{ {name}={value}; }} > out"),
        24 => format!("[ a = b ] && {name}={value}"),
        25 => format!("while {name}={value}; do break; done"),
        _ => format!("case {value} in touch) {name}=ls;; *) {name}=touch;; esac"),
    }
}

/// Generates an assignment of a program's name, or of another variable's value.
fn assignment(rng: &mut Rng) -> String {
    let name = rng.pick(NAMES).to_owned();
    let value = rng.pick(VALUES).to_owned();
    let sign = if rng.one_in(10) { "+=" } else { "=" };
    format!("{name}{sign}{value}")
}

/// Generates a command whose name comes from a variable.
fn using(rng: &mut Rng) -> String {
    let name = rng.pick(&["x", "y", "z", "1", "MATCH"]).to_owned();
    let mut used = String::new();
    while rng.one_in(3) {
        used.push_str(&assignment(rng));
        used.push(' ');
    }
    used.push_str(&match rng.below(14) {
        0 => format!("eval '${name} w'"),
        1 => format!("eval \"${name} w\""),
        2 => format!("command eval '${name} w'"),
        3 => format!("builtin eval '\"${name}\" w'"),
        4 => format!("\"${name}\" w"),
        5 => format!("${{!{name}}} w"),
        6 => format!("${{(P){name}}} w"),
        7 => format!("eval \"\\$${name} w\""),
        8 => format!("\"${name}:t\" w"),
        9 => "ls w".to_owned(),
        10 => "f".to_owned(),
        11 => format!("ls > \"${name}\""),
        12 => format!("nice ${name} w"),
        _ => format!("${name} w"),
    });
    used
}
