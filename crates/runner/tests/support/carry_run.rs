//! Drives the run `RUN` in the state directory `HOME` and reports its end.

use std::{error::Error, io::Write as _, path::Path, process::ExitCode, sync::Arc};

use interlock_core::names::RunId;
use interlock_process::{Stream, Terminal};
use interlock_project::Environment;
use interlock_runner::{Builder, Screen};
use interlock_store::{EventLog as _, Home};

/// Shows everything on this process's own streams.
struct Plain;

impl Screen for Plain {
    fn show(&self, _: &str, stream: Stream, bytes: &[u8]) {
        let _ = match stream {
            Stream::Out => std::io::stdout().write_all(bytes),
            Stream::Err => std::io::stderr().write_all(bytes),
        };
        let _ = std::io::stdout().flush();
    }

    fn ask(&self, _: &str, text: &str) {
        let _ = std::io::stdout().write_all(text.as_bytes());
        let _ = std::io::stdout().flush();
    }

    fn warn(&self, path: &str, text: &str) {
        let _ = writeln!(std::io::stderr(), "{path}: {text}");
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [home, run] = words.as_slice() else {
        return ExitCode::from(2);
    };
    let said = carry(Path::new(home), run);
    let _ = match &said {
        Ok(halt) => writeln!(std::io::stdout(), "{halt}"),
        Err(error) => writeln!(std::io::stderr(), "{error}"),
    };
    ExitCode::from(u8::from(said.is_err()))
}

fn carry(home: &Path, run: &str) -> Result<String, Box<dyn Error>> {
    let log = Home::at(home).open_run(&RunId::new(run))?;
    let machine = log.machine()?;
    let run = log.load()?;
    let places = run.places().ok_or("the run is not durable")?;
    let environment = Environment::at(Home::at(home));
    let builder = Builder::new(environment, Path::new(&places.project))
        .screen(Arc::new(Plain))
        .terminal(Terminal::of_stdin().map(Arc::new));
    let mut host = builder.take(log, &machine)?;
    Ok(format!("{:?}", host.drive(&machine)?))
}
