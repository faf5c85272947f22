//! The progress of a durable run, as a person sees it.
//!
//! On a terminal, this is a tree of what is running, below the lines of what has ended; otherwise, one line for each beginning
//! and each end. Nothing here fails a run: a screen that is gone is no longer written to.
//!
//! [`rows`] determines what is shown, [`area`] how it is drawn and erased, and [`clean`] which parts of a program's output reach
//! a terminal; [`live`] and [`plain`] are the two screens.

mod area;
mod clean;
mod live;
mod plain;
mod rows;
mod words;

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};

use interlock_process::Terminal;
use interlock_runner::Screen;

use crate::output::Output;
use live::Live;
use plain::Plain;

/// Shows a run until it is closed.
pub(crate) struct Progress {
    screen: Arc<dyn Screen>,
    live: Option<Arc<Live>>,
}

impl Progress {
    /// Chooses how to show a run: as a tree if standard error is a terminal, otherwise as lines.
    pub(crate) fn new(output: Output) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let terminal = device(&io::stderr()).and_then(Terminal::of);
        match terminal.filter(|_| !dumb) {
            Some(terminal) => {
                let live = Arc::new(Live::new(terminal, output));
                Self {
                    screen: Arc::clone(&live) as _,
                    live: Some(live),
                }
            }
            None => Self {
                screen: Arc::new(Plain::new(output)),
                live: None,
            },
        }
    }

    /// Returns the screen for programs.
    pub(crate) fn screen(&self) -> Arc<dyn Screen> {
        Arc::clone(&self.screen)
    }

    /// Erases the tree; later output stays.
    pub(crate) fn close(&self) {
        if let Some(live) = &self.live {
            live.close();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress")
            .field("live", &self.live.is_some())
            .finish_non_exhaustive()
    }
}

fn device(stream: &impl AsFd) -> Option<OwnedFd> {
    stream.as_fd().try_clone_to_owned().ok()
}
