//! A program that listens and prints its address, running until the value is dropped.

use std::{
    io::{self, BufRead, BufReader, Read},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::processes;

/// Time limit for any wait, after which the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server process; it and its child processes are killed on drop.
#[derive(Debug)]
pub struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    /// Starts a program and waits for the first word with `http://` in its output.
    ///
    /// # Errors
    /// It cannot be started, ends, or does not print its address.
    pub fn start(mut command: Command) -> io::Result<Listening> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = processes::in_own_group(&mut command).spawn()?;
        let (sender, urls) = mpsc::channel();
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|stream| Box::new(stream) as _),
            child.stderr.take().map(|stream| Box::new(stream) as _),
        ];
        for stream in streams.into_iter().flatten() {
            let sender = sender.clone();
            // Read to the end, so that the program never blocks on its output.
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    drop(sender.send(line));
                }
            });
        }
        drop(sender);
        let mut said = Vec::new();
        while let Ok(line) = urls.recv_timeout(PATIENCE) {
            if let Some(url) = line
                .split_whitespace()
                .find(|word| word.starts_with("http://"))
            {
                return Ok(Listening {
                    child,
                    url: url.trim_end_matches(['.', ',']).to_owned(),
                });
            }
            said.push(line);
        }
        processes::kill_group(child.id());
        drop(child.wait());
        Err(io::Error::other(format!(
            "the program does not say where it listens: {said:?}"
        )))
    }

    /// Starts a program that does not print its address, and waits until `url` accepts connections.
    ///
    /// # Errors
    /// It cannot be started, or nothing listens there within the time limit.
    pub fn start_at(mut command: Command, url: &str) -> io::Result<Listening> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = processes::in_own_group(&mut command).spawn()?;
        let mut listening = Listening {
            child,
            url: url.to_owned(),
        };
        let address = url.trim_start_matches("http://").split('/').next();
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(address.unwrap_or_default()).is_err() {
            if !listening.is_running() || Instant::now() > until {
                return Err(io::Error::other(format!("nothing listens at {url}")));
            }
            thread::yield_now();
        }
        Ok(listening)
    }

    /// Returns the URL as printed.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether it is still running.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        processes::kill_group(self.child.id());
        drop(self.child.wait());
    }
}
