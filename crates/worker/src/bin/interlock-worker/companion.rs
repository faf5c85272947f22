//! A second process that ends the programs of a worker's runs if the worker is killed.
//!
//! The two share a pipe, which closes when the worker ends, whatever ends it. The programs are found by a variable that they
//! inherit from the worker.

use std::{
    env, io,
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use interlock_process::end_leftovers;
use interlock_worker::Stopper;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

/// Variable with a word that no other worker has, in the environment of the worker and all of its programs.
pub(crate) const VARIABLE: &str = "INTERLOCK_WORKER";

/// The open end of the pipe: the companion acts once it is closed.
#[derive(Debug)]
pub(crate) struct Companion {
    _pipe: io::PipeWriter,
    has_ended: Arc<AtomicBool>,
}

impl Companion {
    /// Returns whether it has ended although the pipe is open: somebody has killed it.
    pub(crate) fn was_killed(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }
}

/// Starts the companion of this process. If it is killed, the worker is stopped.
///
/// # Errors
/// It cannot be started, or this process has no word.
pub(crate) fn begin(stopper: Stopper) -> io::Result<Companion> {
    let word = env::var(VARIABLE).map_err(io::Error::other)?;
    let (reader, pipe) = io::pipe()?;
    let mut process = Command::new(env::current_exe()?)
        .args(["--companion-of", &word])
        .env_remove(VARIABLE)
        .stdin(Stdio::from(reader))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C at the worker's terminal does not reach it.
        .process_group(0)
        .spawn()?;
    let has_ended = Arc::<AtomicBool>::default();
    let ended = Arc::clone(&has_ended);
    let waiting = thread::Builder::new().name("companion".to_owned());
    waiting.spawn(move || {
        let _ = process.wait();
        ended.store(true, Ordering::SeqCst);
        stopper.stop();
    })?;
    Ok(Companion {
        _pipe: pipe,
        has_ended,
    })
}

/// Waits until the worker with this word has ended, and ends what it has left.
///
/// # Errors
/// The pipe cannot be read.
pub(crate) fn watch(word: &str) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Whoever ends all processes of a service ends the worker, too; this one is the last.
        flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    let values = [word.to_owned()];
    // What was just started may have missed the first time.
    for _ in 0..2 {
        end_leftovers(VARIABLE, &values);
    }
    Ok(())
}
