//! Parses programs of `awk`; a program that this small parser does not understand is opaque.

use interlock_core::facts::NetworkDirection;

use super::pattern;
use crate::options;
use crate::tables::own::AWK;
use crate::value::Arg;
use crate::walk::Walker;
use crate::words::words;

/// What a program touches.
#[derive(Debug, Default, PartialEq, Eq)]
struct Program {
    writes: Vec<Option<String>>,
    reads: Vec<String>,
    names: Vec<String>,
    dumps: bool,
    /// Whether it may read the environment of another process.
    others: bool,
    network: bool,
}

impl Walker<'_> {
    pub(super) fn awk(&mut self, index: usize, args: &[Arg]) {
        let sorted = options::sort(args, &AWK);
        self.check_sorted(index, &sorted);
        self.apply(index, "awk", &sorted);
        let Some((program, files)) = sorted.operands.split_first() else {
            return;
        };
        let directory = self.directory();
        match program.shape().map(read_program) {
            None => self.facts.opaque(index, "its program is not known"),
            Some(Ok(found))
                if program.literal().is_none() && found.writes.len() + found.reads.len() > 0 =>
            {
                self.facts
                    .opaque(index, "the files of its program are not known");
            }
            Some(Err(reason)) => self.facts.opaque(index, reason),
            Some(Ok(program)) => {
                for path in &program.writes {
                    let path = path
                        .as_deref()
                        .map_or_else(|| Arg::unknown("awk"), Arg::text);
                    self.facts.write(&path, directory.as_deref(), "awk");
                }
                for path in &program.reads {
                    self.facts
                        .read(&Arg::text(path), directory.as_deref(), "awk", false);
                }
                for name in &program.names {
                    self.facts.used(name);
                }
                self.facts.facts.env.dump |= program.dumps;
                self.facts.facts.env.other_process |= program.others;
                if program.network {
                    self.facts
                        .network(NetworkDirection::Send, None, "awk", Some(index));
                }
            }
        }
        for file in files {
            self.facts.read(file, directory.as_deref(), "awk", false);
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A name or keyword.
    Name(String),
    Text(String),
    Number,
    Regex,
    /// A line feed that ends a statement.
    End,
    Sign(&'static str),
}

/// Operators, the longest first.
const SIGNS: &[&str] = &[
    "**=", ">>", "||", "&&", "|&", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "==", "<=",
    ">=", "!=", "**", "!~", "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^",
    "!", ">", "<", "|", "?", ":", "~", "$", "=",
];

const KEYWORDS: &[&str] = words!(
    "print printf return in if else while do for delete exit next nextfile break continue function
     func switch case default BEGIN END BEGINFILE ENDFILE"
);

fn read_program(text: &str) -> Result<Program, &'static str> {
    let tokens = tokens(text)?;
    let mut program = Program::default();
    let mut depth = 0_usize;
    let mut printing: Option<usize> = None;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign("(" | "[") => depth += 1,
            Token::Sign(")" | "]") => depth = depth.saturating_sub(1),
            Token::End | Token::Sign(";" | "{" | "}") => printing = None,
            Token::Sign("|")
                if printing == Some(depth)
                    && only_sorts(tokens.get(at + 1), tokens.get(at + 2)) => {}
            Token::Sign("|" | "|&") => return Err("its program has a pipe to another program"),
            Token::Sign(sign @ (">" | ">>")) if printing == Some(depth) || *sign == ">>" => {
                program
                    .writes
                    .push(target(tokens.get(at + 1), tokens.get(at + 2)));
            }
            Token::Sign("<") => {
                if let Some(Token::Text(path)) = tokens.get(at + 1) {
                    program.reads.push(path.clone());
                }
            }
            Token::Name(name) => match name.as_str() {
                "print" | "printf" => printing = Some(depth),
                "system" => return Err("its program calls `system`"),
                "SYMTAB" | "FUNCTAB" => return Err("its program looks names up"),
                "ENVIRON" => match (tokens.get(at + 1), tokens.get(at + 2), tokens.get(at + 3)) {
                    (Some(Token::Sign("[")), Some(Token::Text(name)), Some(Token::Sign("]"))) => {
                        program.names.push(name.clone())
                    }
                    _ => program.dumps = true,
                },
                _ => {}
            },
            Token::Text(text) => {
                program.network |= text.contains("/inet");
                program.others |= text.contains("/proc") || text.contains("environ");
            }
            _ => {}
        }
    }
    Ok(program)
}

/// Returns whether the command after `|` is `sort` or `uniq`, with options that write no file and without operands.
fn only_sorts(first: Option<&Token>, after: Option<&Token>) -> bool {
    let Some(line) = target(first, after) else {
        return false;
    };
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    let Some(program @ ("sort" | "uniq")) = words.next() else {
        return false;
    };
    let letters = if program == "sort" {
        "bdfgiMhnRrVsuckt0123456789,.:"
    } else {
        "cdu"
    };
    words.all(|word| {
        let option = word.strip_prefix('-');
        option.is_some_and(|option| option.chars().all(|letter| letters.contains(letter)))
    })
}

/// Returns the file after `>` if it is a single literal text.
fn target(first: Option<&Token>, after: Option<&Token>) -> Option<String> {
    match (first, after) {
        (Some(Token::Text(path)), None | Some(Token::End | Token::Sign(";" | "}")))
            if !path.contains('\\') =>
        {
            Some(path.clone())
        }
        _ => None,
    }
}

/// Splits a program into tokens, distinguishing a pattern from a division.
fn tokens(text: &str) -> Result<Vec<Token>, &'static str> {
    const UNKNOWN: &str = "its program is not read";
    let mut found: Vec<Token> = Vec::new();
    // For each open bracket: whether it belongs to `if`, `while`, `for` or `switch`.
    let mut open: Vec<bool> = Vec::new();
    let mut after_header = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (token, width) = match c {
            ' ' | '\t' => (None, 1),
            '\\' if rest.starts_with("\\\n") => (None, 2),
            '\n' => (Some(Token::End), 1),
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            '"' => {
                let width = quoted(rest).ok_or(UNKNOWN)?;
                let inner = rest.get(1..width - 1).unwrap_or_default();
                (Some(Token::Text(inner.to_owned())), width)
            }
            '/' if !after_operand(found.last(), after_header)? => {
                (Some(Token::Regex), regex(rest).ok_or(UNKNOWN)?)
            }
            c if c.is_ascii_digit() || c == '.' => {
                (Some(Token::Number), number(rest).ok_or(UNKNOWN)?)
            }
            c if c == '_' || c.is_ascii_alphabetic() => {
                let width = rest
                    .find(|c: char| !(c == '_' || c.is_ascii_alphanumeric()))
                    .unwrap_or(rest.len());
                (
                    Some(Token::Name(
                        rest.get(..width).unwrap_or_default().to_owned(),
                    )),
                    width,
                )
            }
            _ => {
                let sign = SIGNS
                    .iter()
                    .find(|sign| rest.starts_with(**sign))
                    .ok_or(UNKNOWN)?;
                (Some(Token::Sign(sign)), sign.len())
            }
        };
        rest = rest.get(width..).unwrap_or_default();
        let Some(token) = token else { continue };
        after_header = false;
        match &token {
            Token::Sign("(") => {
                open.push(matches!(found.last(), Some(Token::Name(name)) if matches!(name.as_str(), "if" | "while" | "for" | "switch")));
            }
            Token::Sign(")") => after_header = open.pop().unwrap_or(false),
            // A statement continues in the next line after most operators.
            Token::End if goes_on(found.last()) => continue,
            _ => {}
        }
        found.push(token);
    }
    Ok(found)
}

fn goes_on(last: Option<&Token>) -> bool {
    matches!(last, Some(Token::Sign(sign)) if !matches!(*sign, ")" | "]" | "{" | "}" | ";" | "++" | "--"))
}

/// Returns whether a slash here means division; an error where implementations differ.
fn after_operand(last: Option<&Token>, after_header: bool) -> Result<bool, &'static str> {
    match last {
        Some(Token::Name(name)) if matches!(name.as_str(), "length" | "getline") => {
            Err("its program is not read after `length`")
        }
        Some(Token::Name(name)) => Ok(!KEYWORDS.contains(&name.as_str())),
        Some(Token::Number | Token::Text(_) | Token::Regex) => Ok(true),
        Some(Token::Sign("$")) => Err("its program is not read after `$`"),
        Some(Token::Sign("]" | "++" | "--")) => Ok(true),
        Some(Token::Sign(")")) => Ok(!after_header),
        _ => Ok(false),
    }
}

/// Returns the width of a pattern with its slashes.
fn regex(text: &str) -> Option<usize> {
    Some(pattern::width(text.get(1..)?, '/', pattern::Kind::Awk)? + 2)
}

/// Returns the width of a number, which a name may follow.
fn number(text: &str) -> Option<usize> {
    if text.starts_with("0x") || text.starts_with("0X") {
        // Some implementations read another number here.
        return None;
    }
    let width = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let rest = text.get(width..)?;
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else {
        return Some(width);
    };
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let signed = exponent.len() - digits.len();
    Some(if count == 0 {
        width
    } else {
        width + 1 + signed + count
    })
}

/// Returns the width of a text in double quotes; `None` if it does not end in its line.
fn quoted(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}
