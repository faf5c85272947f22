//! `lsp`: runs the language server on standard input and output.

use std::{
    io::{self, BufReader, Write},
    path::Path,
    sync::mpsc::{self, Receiver, SyncSender},
    thread,
};

use anyhow::Context as _;
use interlock_formats::{Diagnostic, Source, check};
use interlock_lsp::{Checked, FramingError, Job, Server, read_message, write_message};
use serde_json::Value;

use crate::{
    app::App,
    failure::{Done, Exit, Failure},
};

/// Maximum number of messages that are read ahead.
const WAITING_MAX: usize = 1_024;

/// An input of the server.
enum Input {
    /// A message of the client.
    Message(Value),
    /// A document that was checked.
    Checked(Checked),
    /// The client's messages have ended, with the reason unless it hung up.
    Ended(Option<FramingError>),
}

pub(crate) fn run(app: &App) -> Done {
    let (sender, inputs) = mpsc::sync_channel(WAITING_MAX);
    let (jobs, waiting) = mpsc::sync_channel(1);
    let checker = Checker { app: app.clone() };
    let checked = sender.clone();
    start("messages", move || read_all(&sender))?;
    start("checks", move || checker.work(&waiting, &checked))?;
    serve(&inputs, &jobs, &mut io::stdout().lock())
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Done {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .context("a thread of the language server cannot be started")?;
    Ok(())
}

/// Reads ahead, so that a request can be cancelled before it is handled.
fn read_all(to: &SyncSender<Input>) {
    let mut input = BufReader::new(io::stdin());
    loop {
        let input = match read_message(&mut input) {
            Ok(Some(message)) => Input::Message(message),
            Ok(None) => Input::Ended(None),
            Err(error) => Input::Ended(Some(error)),
        };
        let is_last = matches!(input, Input::Ended(_));
        if to.send(input).is_err() || is_last {
            return;
        }
    }
}

/// Checks documents while requests are answered.
struct Checker {
    app: App,
}

impl Checker {
    fn work(&self, jobs: &Receiver<Job>, to: &SyncSender<Input>) {
        for job in jobs {
            let checked = job.run(&|source| self.check(source));
            if to.send(Input::Checked(checked)).is_err() {
                return;
            }
        }
    }

    /// Checks a file like `interlock check`; workflows by name are those of the file's project.
    fn check(&self, source: &Source) -> Vec<Diagnostic> {
        let beside = Path::new(&source.name).parent();
        let beside = beside.filter(|folder| folder.is_dir());
        let directory = beside.unwrap_or(&self.app.directory);
        let app = App::at(self.app.output, directory.to_owned());
        check(source, &app.library_to_read())
    }
}

/// Answers until the client sends `exit`, or hangs up.
fn serve(inputs: &Receiver<Input>, jobs: &SyncSender<Job>, out: &mut impl Write) -> Done {
    let mut server = Server::new();
    loop {
        if server.is_idle() {
            if let Some(job) = server.job() {
                jobs.send(job).context("no document is checked any more")?;
            }
            let input = inputs.recv().context("nothing is read any more")?;
            if take(&mut server, input)? {
                return ended(&server);
            }
        }
        while let Ok(input) = inputs.try_recv() {
            if take(&mut server, input)? {
                return ended(&server);
            }
        }
        for message in server.step() {
            match write_message(out, &message) {
                Ok(()) => {}
                // A client that is gone needs no more answers.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return ended(&server),
                Err(error) => return Err(error.into()),
            }
        }
        if server.has_ended() {
            return ended(&server);
        }
    }
}

/// Handles an input; returns `true` if it was the last.
fn take(server: &mut Server, input: Input) -> Result<bool, Failure> {
    match input {
        Input::Message(message) => server.receive(message),
        Input::Checked(checked) => server.finish(checked),
        Input::Ended(None) => return Ok(true),
        Input::Ended(Some(error)) => return Err(error.into()),
    }
    Ok(false)
}

/// Succeeds only if the client has shut the server down first.
fn ended(server: &Server) -> Done {
    match server.is_shut_down() {
        true => Ok(()),
        false => Err(Failure::Said(Exit::Failed)),
    }
}
