//! A pseudo-terminal that stands in for a person's.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    num::NonZeroU16,
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use nix::pty::{Winsize, openpty};
use rustix::termios::tcsetwinsize;

/// Time limit for any wait, after which the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a command whose standard input is a terminal.
///
/// # Errors
/// No pseudo-terminal is available, or the command cannot be started.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let terminal = openpty(None, None)?;
    command.stdin(Stdio::from(terminal.slave)).output()
}

/// Starts a command whose standard input is a terminal, which exists until the returned file is dropped.
///
/// # Errors
/// No pseudo-terminal is available, or the command cannot be started.
pub fn started(command: &mut Command) -> io::Result<(File, Child)> {
    let terminal = openpty(None, None)?;
    let child = command.stdin(Stdio::from(terminal.slave)).spawn()?;
    Ok((File::from(terminal.master), child))
}

/// Runs a command at a terminal on which `typed` has been typed.
///
/// # Errors
/// No pseudo-terminal is available, or the command cannot be started.
pub fn answered(command: &mut Command, typed: &str) -> io::Result<Output> {
    let terminal = openpty(None, None)?;
    // The terminal buffers the line until it is read.
    File::from(terminal.master.try_clone()?).write_all(typed.as_bytes())?;
    command.stdin(Stdio::from(terminal.slave)).output()
}

/// Runs a command whose standard error is a terminal that has been closed.
///
/// # Errors
/// No pseudo-terminal is available, or the command cannot be started.
pub fn lost(command: &mut Command) -> io::Result<Output> {
    let terminal = openpty(None, None)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let child = command.stderr(Stdio::from(terminal.slave)).spawn()?;
    drop(terminal.master);
    child.wait_with_output()
}

/// A terminal with a program in it, read as a person sees it.
pub struct Terminal {
    child: Child,
    master: File,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

/// The program's output so far.
struct Seen {
    screen: vt100::Parser,
    over: bool,
}

impl Terminal {
    /// Starts `command` in a new terminal with this many rows and columns.
    ///
    /// # Errors
    /// No pseudo-terminal is available, or the command cannot be started.
    pub fn start(command: &Command, rows: u16, columns: u16) -> io::Result<Self> {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(Some(&size), None)?;
        // A separate session, so that a resize reaches it as a signal.
        let mut inside = Command::new("setsid");
        inside.args(["--ctty", "--wait"]).arg(command.get_program());
        inside.args(command.get_args()).env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                inside.env(name, value);
            }
        }
        if let Some(directory) = command.get_current_dir() {
            inside.current_dir(directory);
        }
        let child = inside
            .stdin(Stdio::from(pty.slave.try_clone()?))
            .stdout(Stdio::from(pty.slave.try_clone()?))
            .stderr(Stdio::from(pty.slave))
            .spawn()?;
        drop(inside);
        let master = File::from(pty.master);
        let seen = Arc::new((
            Mutex::new(Seen {
                screen: vt100::Parser::new(some(rows), some(columns), 0),
                over: false,
            }),
            Condvar::new(),
        ));
        let mut reader = master.try_clone()?;
        let told = Arc::clone(&seen);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                // Reading fails when nobody has the terminal open any more.
                let count = reader.read(&mut bytes).unwrap_or(0);
                let mut seen = lock(&told.0);
                seen.screen.process(bytes.get(..count).unwrap_or_default());
                seen.over = count == 0;
                told.1.notify_all();
                if seen.over {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            master,
            seen,
        })
    }

    /// Types `text`.
    ///
    /// # Errors
    /// The terminal is closed.
    pub fn press(&mut self, text: &str) -> io::Result<()> {
        self.master.write_all(text.as_bytes())
    }

    /// Resizes the terminal.
    ///
    /// # Errors
    /// The terminal is closed.
    pub fn resize(&self, rows: u16, columns: u16) -> io::Result<()> {
        lock(&self.seen.0)
            .screen
            .screen_mut()
            .set_size(some(rows), some(columns));
        let size = rustix::termios::Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(tcsetwinsize(&self.master, size)?)
    }

    /// Returns the current text of the screen.
    #[must_use]
    pub fn screen(&self) -> String {
        lock(&self.seen.0).screen.screen().contents()
    }

    /// Returns whether the program uses the alternate screen, which it must leave again.
    #[must_use]
    pub fn is_taken_over(&self) -> bool {
        lock(&self.seen.0).screen.screen().alternate_screen()
    }

    /// Returns whether any cell of the screen has a color.
    #[must_use]
    pub fn is_coloured(&self) -> bool {
        let seen = lock(&self.seen.0);
        let screen = seen.screen.screen();
        let (rows, columns) = screen.size();
        (0..rows.get()).any(|row| {
            (0..columns.get()).any(|column| {
                screen
                    .cell(row, column)
                    .is_some_and(|cell| cell.fgcolor() != vt100::Color::Default)
            })
        })
    }

    /// Waits until the screen satisfies `is`.
    ///
    /// # Errors
    /// It does not within the time limit; the error contains the screen.
    pub fn wait_for(&self, what: &str, is: impl Fn(&str) -> bool) -> io::Result<String> {
        let began = Instant::now();
        let mut seen = lock(&self.seen.0);
        loop {
            let screen = seen.screen.screen().contents();
            if is(&screen) {
                return Ok(screen);
            }
            let left = PATIENCE.saturating_sub(began.elapsed());
            if left.is_zero() || seen.over {
                return Err(io::Error::other(format!("no {what} on:\n{screen}")));
            }
            let waited = self.seen.1.wait_timeout(seen, left);
            seen = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for the end of the program.
    ///
    /// # Errors
    /// It does not end in time; the error contains the screen.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        let began = Instant::now();
        let mut seen = lock(&self.seen.0);
        // The terminal ends when the last process that has it open closes it.
        while !seen.over {
            let left = PATIENCE.saturating_sub(began.elapsed());
            if left.is_zero() {
                let screen = seen.screen.screen().contents();
                return Err(io::Error::other(format!("no end on:\n{screen}")));
            }
            let waited = self.seen.1.wait_timeout(seen, left);
            seen = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(seen);
        self.child.wait()
    }
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").finish_non_exhaustive()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns a screen size, with a minimum below which drawing at the edge would be lost.
fn some(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count.max(4)).unwrap_or(NonZeroU16::MIN)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
