//! `watch`: shows every run, live in a terminal.

use crate::{app::App, failure::Done, watch};

pub(crate) fn run(app: &App) -> Done {
    watch::watch(app)
}
