//! `hook`: answers a client's hook, with one JSON document on standard output, or exit code 2.

use std::{
    ffi::OsString,
    io::{self, Read as _, Write as _},
    os::{
        fd::AsFd as _,
        unix::fs::{FileTypeExt as _, MetadataExt as _},
    },
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};

use interlock_clients::{HookAnswer, hook};

/// Maximum size of the input in bytes; a longer one is refused.
const INPUT_MAX: u64 = 64 * 1_048_576;

/// Runs the hook with the arguments after `hook`.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    // A full disk must be an error that denies, not a signal that kills.
    let full = signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        Arc::new(AtomicBool::new(false)),
    );
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let (client, words) = words.split_first().unwrap_or((&"", &[]));
    let answer = match full {
        Ok(_) => hook::answer(client, words, read, |answer| {
            std::process::exit(i32::from(print(&answer)))
        }),
        Err(error) => HookAnswer::stops(&format!("signals cannot be handled: {error}")),
    };
    let exit = print(&answer);
    crate::telemetry::nudge();
    ExitCode::from(exit)
}

/// Prints the answer and returns the exit code.
fn print(answer: &HookAnswer) -> u8 {
    if answer.exit == 0 && answer.decides && is_unheard() {
        let said = format!("interlock: nobody reads the answer `{}`", answer.stdout);
        let _ = io::stderr().write_all(said.as_bytes());
        return 2;
    }
    let written = io::stdout()
        .write_all(answer.stdout.as_bytes())
        .and_then(|()| io::stdout().flush())
        .and_then(|()| io::stderr().write_all(answer.stderr.as_bytes()));
    // A client that did not get the answer must not treat that as an approval.
    if written.is_ok() { answer.exit } else { 2 }
}

/// Returns whether standard output is discarded, which includes a closed one.
fn is_unheard() -> bool {
    let device = |data: std::fs::Metadata| data.file_type().is_char_device().then(|| data.rdev());
    let out = io::stdout().as_fd().try_clone_to_owned();
    let out = out.and_then(|out| std::fs::File::from(out).metadata());
    let null = std::fs::metadata("/dev/null").ok().and_then(device);
    out.is_ok_and(|out| null.is_some() && device(out) == null)
}

fn read() -> io::Result<Vec<u8>> {
    let mut input = Vec::new();
    io::stdin()
        .lock()
        .take(INPUT_MAX + 1)
        .read_to_end(&mut input)?;
    if u64::try_from(input.len()).is_ok_and(|length| length <= INPUT_MAX) {
        return Ok(input);
    }
    Err(io::Error::other(format!(
        "it is longer than {INPUT_MAX} bytes"
    )))
}
