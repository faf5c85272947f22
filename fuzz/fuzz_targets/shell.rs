//! Any text, read in every dialect: answered, and within the bounds that are promised.

#![cfg_attr(fuzzing, no_main)]

use interlock_shell::{Dialect, ShellContext, read, split_entry};
use libfuzzer_sys::fuzz_target;

const DIALECTS: [Dialect; 5] = [
    Dialect::Bash,
    Dialect::Posix,
    Dialect::Zsh,
    Dialect::Unknown,
    Dialect::Foreign,
];

fuzz_target!(|line: &str| {
    for dialect in DIALECTS {
        let facts = read(
            line,
            &ShellContext {
                dialect,
                directory: "/p".to_owned(),
                project_root: "/p".to_owned(),
                home: Some("/home/me".to_owned()),
                temporary: Some("/tmp/me".to_owned()),
                user: Some("me".to_owned()),
                transparent: Vec::new(),
                variables: vec!["TERM".to_owned()],
            },
        );
        assert!(facts.commands.len() <= 2_000, "more commands than are read");
        let reason = facts.unreadable.unwrap_or_default();
        assert!(
            reason.chars().count() <= 300,
            "a reason longer than a message"
        );
        let proves = facts.commands.iter().any(|command| command.proves_success);
        assert!(
            reason.is_empty() || !proves,
            "an unreadable line proves something"
        );
    }
    let _ = split_entry(line);
});
