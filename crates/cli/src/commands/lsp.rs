//! `lsp`: the language server on standard input and output.

use std::{
    io::{self, BufReader},
    path::Path,
    sync::mpsc::{self, RecvError},
    thread,
};

use anyhow::Context as _;
use interlock_formats::{Source, check};
use interlock_lsp::{FramingError, Server, read_message, write_message};
use serde_json::Value;

use crate::{
    app::App,
    failure::{Done, Exit, Failure},
};

/// Messages that are read ahead at most.
const WAITING_MAX: usize = 1_024;

pub(crate) fn run(app: &App) -> Done {
    let directory = app.directory.clone();
    let output = app.output;
    let mut server = Server::new(Box::new(move |source: &Source| {
        // Workflows by name are those of the project that the file lies in.
        let beside = Path::new(&source.name).parent();
        let beside = beside.filter(|folder| folder.is_dir());
        let app = App {
            output,
            directory: beside.map_or_else(|| directory.clone(), Path::to_owned),
        };
        check(source, &app.library_to_read())
    }));
    let (sender, messages) = mpsc::sync_channel(WAITING_MAX);
    // Reads ahead, so that a request can be cancelled before its turn.
    thread::Builder::new()
        .name("messages".to_owned())
        .spawn(move || read_all(&sender))
        .context("the thread that reads messages cannot be started")?;
    serve(&mut server, &messages)
}

fn read_all(to: &mpsc::SyncSender<Result<Value, FramingError>>) {
    let mut input = BufReader::new(io::stdin());
    loop {
        let message = match read_message(&mut input) {
            Ok(Some(message)) => Ok(message),
            Ok(None) => return,
            Err(error) => Err(error),
        };
        let is_last = message.is_err();
        if to.send(message).is_err() || is_last {
            return;
        }
    }
}

/// Answers until the client says `exit`, or hangs up.
fn serve(server: &mut Server, messages: &mpsc::Receiver<Result<Value, FramingError>>) -> Done {
    let mut out = io::stdout().lock();
    let mut is_open = true;
    loop {
        if is_open && server.is_idle() {
            match messages.recv() {
                Ok(message) => server.receive(message?),
                Err(RecvError) => is_open = false,
            }
        }
        while let Ok(message) = messages.try_recv() {
            server.receive(message?);
        }
        for message in server.step() {
            if let Err(error) = write_message(&mut out, &message) {
                // A client that is gone wants no more answers.
                return match error.kind() {
                    io::ErrorKind::BrokenPipe => ended(server),
                    _ => Err(error.into()),
                };
            }
        }
        if server.has_ended() || (!is_open && server.is_idle()) {
            return ended(server);
        }
    }
}

/// Ends in order only where the client has shut the server down first.
fn ended(server: &Server) -> Done {
    match server.is_shut_down() {
        true => Ok(()),
        false => Err(Failure::Said(Exit::Failed)),
    }
}
