//! A server as a process: its pipes carry the messages, and its end closes the connection.

use std::{
    collections::BTreeMap, ffi::OsString, io, path::PathBuf, process::Stdio, time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStderr, ChildStdin, Command},
    sync::mpsc,
    time::timeout,
};

use super::{ConnectOptions, Connection, Dial, Dialing, Fate};
use crate::{
    channel::Channel,
    lines::{LineRead, answered_number, read_line, write_line},
    message::{Envelope, INTERNAL_ERROR, Id, Outcome, read_server},
};

/// Environment variables that a server never gets: with them, it could act as the person.
const WITHHELD: [&str; 1] = ["INTERLOCK_TOKEN"];
/// How long a server may take to end after its input is closed.
const END_TIME: Duration = Duration::from_millis(700);
/// How long a server may take to end after the signal.
const TERM_TIME: Duration = Duration::from_secs(1);
/// How long output is read after the process is gone: its children may hold the pipe.
const DRAIN_TIME: Duration = Duration::from_millis(250);
/// Number of bytes read at once: every session has such a buffer for each of its servers.
const READ_BYTES: usize = 16 * 1024;
/// Maximum length of a line of a server's standard error, in bytes.
const STDERR_BYTES_MAX: usize = 65_536;

/// How a server is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// Program to start.
    pub command: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables added to this process's environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Working directory; `None` for that of this process.
    pub cwd: Option<PathBuf>,
}

impl Dial for Process {
    fn dial<'a>(&'a self, options: &'a ConnectOptions) -> Dialing<'a> {
        Box::pin(async move {
            connect(self, options)
                .map_err(|error| format!("`{}` cannot be started: {error}", self.command.display()))
        })
    }
}

/// Starts the server and connects to it.
///
/// # Errors
/// It cannot be started.
pub fn connect(process: &Process, options: &ConnectOptions) -> io::Result<Connection> {
    let mut command = Command::new(&process.command);
    command
        .args(&process.args)
        .envs(&process.env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    for name in WITHHELD {
        command.env_remove(name);
    }
    if let Some(cwd) = &process.cwd {
        command.current_dir(cwd);
    }
    #[cfg(unix)]
    command.process_group(0);
    let child = command.spawn()?;
    let (near, far) = Channel::pair();
    let fate = Fate::default();
    tokio::spawn(carry(child, far, options.clone(), fate.clone()));
    Ok(Connection { link: near, fate })
}

/// Carries messages until either side is gone, then ends the process.
async fn carry(mut child: Child, link: Channel, options: ConnectOptions, fate: Fate) {
    let Channel {
        outgoing,
        mut incoming,
    } = link;
    let group = child.id();
    let stdin = child.stdin.take();
    if let Some(stderr) = child.stderr.take() {
        tokio::spawn(pass_stderr(stderr, options.clone()));
    }
    {
        let stdout = child.stdout.take();
        let reading = async {
            if let Some(stdout) = stdout {
                read_all(stdout, &outgoing, &options).await;
            }
        };
        let writing = write_all(stdin, &mut incoming);
        tokio::pin!(reading, writing);
        tokio::select! {
            () = &mut reading => {}
            () = &mut writing => {}
            status = child.wait() => {
                fate.say(ended(status));
                timeout(DRAIN_TIME, reading).await.ok();
            }
        }
    }
    let status = end(&mut child, group).await;
    fate.say(ended(status));
    // Only now does the other end learn of it, so that the reason is already set.
    drop(outgoing);
    drop(options.running);
}

fn ended(status: io::Result<std::process::ExitStatus>) -> String {
    status.map_or_else(
        |error| format!("ended, nobody knows how: {error}"),
        |status| format!("ended ({status})"),
    )
}

async fn read_all(
    stdout: impl AsyncRead + Unpin,
    session: &mpsc::Sender<Envelope>,
    options: &ConnectOptions,
) {
    let mut reader = BufReader::with_capacity(READ_BYTES, stdout);
    let mut line = Vec::new();
    loop {
        let read = read_line(&mut reader, &mut line, options.bytes_max).await;
        let envelopes = match read {
            Ok(LineRead::End) | Err(_) => return,
            Ok(LineRead::Whole) if line.trim_ascii().is_empty() => continue,
            Ok(LineRead::Whole) => match read_printed(&line) {
                Some(envelopes) => envelopes,
                None => no_message(&line, options),
            },
            Ok(LineRead::TooLong) => too_long(&line, options),
        };
        for envelope in envelopes {
            if session.send(envelope).await.is_err() {
                return;
            }
        }
    }
}

/// Parses a line of a server; bytes that are not text become U+FFFD, so that its answer is not lost.
fn read_printed(line: &[u8]) -> Option<Vec<Envelope>> {
    read_server(line)
        .ok()
        .or_else(|| read_server(String::from_utf8_lossy(line).as_bytes()).ok())
}

/// Answers a request in place of a message that is too long.
fn too_long(ends: &[u8], options: &ConnectOptions) -> Vec<Envelope> {
    let what = format!(
        "a message of {} is longer than {} bytes",
        options.label, options.bytes_max
    );
    options.notes.tell(&format!("interlock: {what}"));
    failed(ends, &what)
}

/// Answers a request in place of a line that cannot be parsed, if it was meant as an answer.
fn no_message(line: &[u8], options: &ConnectOptions) -> Vec<Envelope> {
    let text = String::from_utf8_lossy(line);
    let start: String = text.chars().take(200).collect();
    options.notes.tell(&format!(
        "interlock: {} printed a line that is not a message: {start}",
        options.label
    ));
    let answers = ["\"result\"", "\"error\""];
    if !answers.iter().any(|key| text.contains(key)) {
        return Vec::new();
    }
    failed(
        line,
        &format!("{} answered with what is not JSON", options.label),
    )
}

/// Fails the request that a malformed text answers; empty if it names no request.
fn failed(text: &[u8], what: &str) -> Vec<Envelope> {
    let id = answered_number(text).map(Id::from);
    let answer = |id| Envelope::response(id, Outcome::error(INTERNAL_ERROR, what));
    id.map(answer).into_iter().collect()
}

/// Writes until the session is gone.
async fn write_all(stdin: Option<ChildStdin>, session: &mut mpsc::Receiver<Envelope>) {
    let mut stdin = stdin;
    let mut buffer = Vec::new();
    while let Some(envelope) = session.recv().await {
        let Some(open) = &mut stdin else {
            continue;
        };
        let mut written = write_line(open, &mut buffer, &envelope).await;
        if session.is_empty() {
            written = written.and(open.flush().await);
        }
        // It no longer reads, but may still write something.
        if written.is_err() {
            stdin = None;
        }
    }
}

async fn pass_stderr(stderr: ChildStderr, options: ConnectOptions) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(read) = read_line(&mut reader, &mut line, STDERR_BYTES_MAX).await {
        if read == LineRead::End {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        options
            .notes
            .pass(&format!("[{}] {text}", options.label))
            .await;
    }
}

/// Ends a process whose standard input is closed, and everything it started.
async fn end(child: &mut Child, group: Option<u32>) -> io::Result<std::process::ExitStatus> {
    if let Ok(status) = timeout(END_TIME, child.wait()).await {
        signal(group, Signal::Kill);
        return status;
    }
    signal(group, Signal::Terminate);
    if let Ok(status) = timeout(TERM_TIME, child.wait()).await {
        signal(group, Signal::Kill);
        return status;
    }
    signal(group, Signal::Kill);
    child.kill().await?;
    child.wait().await
}

enum Signal {
    Terminate,
    Kill,
}

#[cfg(unix)]
fn signal(group: Option<u32>, signal: Signal) {
    use rustix::process::{self, Pid};
    let group = group.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let signal = match signal {
        Signal::Terminate => process::Signal::TERM,
        Signal::Kill => process::Signal::KILL,
    };
    if let Some(group) = group {
        // None is left, which is the goal.
        process::kill_process_group(group, signal).ok();
    }
}

#[cfg(not(unix))]
fn signal(_group: Option<u32>, _signal: Signal) {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{notes::Notes, transport::Running};

    /// A server that prints one answer: the token of its environment.
    #[cfg(unix)]
    const TOKEN_TELLER: &str =
        r#"printf '{"jsonrpc":"2.0","id":1,"result":{"text":"%s"}}\n' "${INTERLOCK_TOKEN-none}""#;

    #[cfg(unix)]
    #[tokio::test(flavor = "current_thread")]
    async fn a_server_never_gets_the_persons_token() {
        let server = Process {
            command: "sh".into(),
            args: ["-c", TOKEN_TELLER].map(OsString::from).into(),
            env: [("INTERLOCK_TOKEN".into(), "secret".into())].into(),
            cwd: None,
        };
        let options = ConnectOptions {
            label: "server".to_owned(),
            bytes_max: 1_000,
            notes: Notes::to_channel().0,
            running: Running::new().0,
        };
        let connected = connect(&server, &options);
        let answer = match connected {
            Ok(mut connection) => format!("{:?}", connection.link.incoming.recv().await),
            Err(error) => error.to_string(),
        };
        assert!(answer.contains("none"), "{answer}");
        assert!(!answer.contains("secret"), "{answer}");
    }

    #[test]
    fn an_answer_with_bytes_that_are_no_text_is_an_answer() {
        let line = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"text\":\"a\xff\xfeb\"}}";
        let read = format!("{:?}", read_printed(line));
        assert!(read.contains("a\u{fffd}\u{fffd}b"), "{read}");
        assert!(read_printed(b"starting \xff").is_none());
    }

    #[test]
    fn an_answer_that_is_no_json_fails_its_request() {
        let deep = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}",
            "[".repeat(100_000)
        );
        let rows = [
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"n\":NaN}}",
            "{\"result\":{\"n\":NaN},\"id\":7}",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"text\":\"a\0b\"}}",
            deep.as_str(),
        ];
        for row in rows {
            assert!(read_printed(row.as_bytes()).is_none(), "{row:.60}");
            let answer = format!("{:?}", failed(row.as_bytes(), "no JSON"));
            assert!(
                answer.contains('7') && answer.contains("no JSON"),
                "{answer}"
            );
        }
        assert!(failed(b"{\"method\":\"x\"", "no JSON").is_empty());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_answer_that_is_too_long_fails_its_request_and_is_told() {
        let (notes, mut told) = Notes::to_channel();
        let options = ConnectOptions {
            label: "server".to_owned(),
            bytes_max: 100_000,
            notes,
            running: Running::new().0,
        };
        let (session, mut heard) = mpsc::channel(8);
        let long = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"a\":\"{}\"}}}}\n",
            "x".repeat(300_000)
        );
        let next = "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\n";
        let printed = format!("{long}\n{next}");
        read_all(printed.as_bytes(), &session, &options).await;
        drop(session);
        let first = format!("{:?}", heard.recv().await);
        assert!(
            first.contains('7') && first.contains("longer than 100000 bytes"),
            "{first}"
        );
        let second = format!("{:?}", heard.recv().await);
        assert!(
            second.contains('8') && !second.contains("longer"),
            "{second}"
        );
        assert!(heard.recv().await.is_none());
        let note = format!("{:?}", told.recv().await);
        assert!(
            note.contains("a message of server is longer than 100000 bytes"),
            "{note}"
        );
    }
}
