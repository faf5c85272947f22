//! The command line that makes a client run a line through `interlock exec`.

use std::path::Path;

/// Words between the program and the ticket.
const CARRIES: &str = " exec --ticket ";

/// Suffix for a line that must read no input.
const SILENT: &str = " </dev/null";

/// Makes a rewritten line read no input.
#[must_use]
pub(crate) fn silenced(carried: &str) -> String {
    format!("{carried}{SILENT}")
}

/// Writes the line that runs `line` through `program` with a ticket.
///
/// bash, zsh and sh all parse it back to exactly `line`, which a person sees in full. Returns `None` if the program's path is not
/// valid text.
#[must_use]
pub(crate) fn carried(program: &Path, ticket: &str, line: &str) -> Option<String> {
    let program = word(program.to_str()?);
    Some(format!("{program}{CARRIES}{ticket} -- {}", quoted(line)))
}

/// Returns whether `carried` has written a line.
#[must_use]
pub(crate) fn is_carried(program: Option<&Path>, line: &str) -> bool {
    program
        .and_then(Path::to_str)
        .and_then(|program| line.strip_prefix(&word(program)))
        .is_some_and(|rest| rest.starts_with(CARRIES))
}

/// Returns the original of a line that `carried` has written.
#[must_use]
pub(crate) fn original(program: Option<&Path>, line: &str) -> Option<String> {
    if !is_carried(program, line) {
        return None;
    }
    let (_, rest) = line.split_once(CARRIES)?;
    let (_, quoted) = rest.split_once(" -- ")?;
    let quoted = quoted.strip_suffix(SILENT).unwrap_or(quoted);
    let inner = quoted.strip_prefix('\'')?.strip_suffix('\'')?;
    Some(inner.replace(r"'\''", "'"))
}

/// Quotes `text` as one word of a shell, if necessary.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Quotes `text` as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_reads_back_the_exact_line() {
        let lines = [
            "ls",
            "echo it's",
            "'",
            "''",
            "a''b '\\'' \"$x\" `id` $(id) !! \\\n two\tlines\n",
            "-n",
            "\u{e9}\u{1f600}",
        ];
        let shells = ["bash", "sh", "dash", "zsh"]
            .into_iter()
            .filter(|shell| Path::new("/bin").join(shell).exists());
        for shell in shells {
            for line in lines {
                let program = Path::new("/usr/bin/printf");
                let said = format!("/usr/bin/printf %s {}", quoted(line));
                let output = std::process::Command::new(shell)
                    .args(["-c", &said])
                    .output()
                    .unwrap_or_else(|error| unreachable!("{shell}: {error}"));
                assert_eq!(output.stdout, line.as_bytes(), "{shell}: {said}");
                let carried = carried(program, "00ff", line).unwrap_or_default();
                assert!(is_carried(Some(program), &carried), "{carried}");
                assert!(!is_carried(Some(program), line), "{line}");
                assert_eq!(original(Some(program), &carried).as_deref(), Some(line));
                assert_eq!(original(Some(program), line), None);
                let silent = silenced(&carried);
                assert!(is_carried(Some(program), &silent), "{silent}");
                assert_eq!(original(Some(program), &silent).as_deref(), Some(line));
            }
        }
    }

    #[test]
    fn a_program_with_a_blank_in_its_path_is_one_word() {
        let program = Path::new("/opt/my tools/interlock");
        let line = carried(program, "00ff", "ls").unwrap_or_default();
        assert_eq!(line, "'/opt/my tools/interlock' exec --ticket 00ff -- 'ls'");
        assert!(is_carried(Some(program), &line));
    }
}
