//! The server of every scripted model: answers requests on 127.0.0.1 by a function.

use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::http::{self, End, HttpRequest};

/// Time after which a silent connection is closed.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The response to a request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Sent at once.
    Plain {
        status: &'static str,
        kind: &'static str,
        body: Vec<u8>,
    },
    /// Sent piece by piece.
    Pieces {
        status: String,
        headers: Vec<(String, String)>,
        pieces: Vec<Vec<u8>>,
        end: End,
    },
}

impl Answer {
    /// Returns a response with a JSON document.
    pub(crate) fn json(body: &Value) -> Answer {
        Answer::new("200 OK", "application/json", body.to_string())
    }

    /// Returns an empty response with success.
    pub(crate) fn empty() -> Answer {
        Answer::new("200 OK", "application/json", String::new())
    }

    /// Returns a response with status 404 and a JSON document.
    pub(crate) fn missing(body: &Value) -> Answer {
        Answer::new("404 Not Found", "application/json", body.to_string())
    }

    fn new(status: &'static str, kind: &'static str, body: String) -> Answer {
        let body = body.into_bytes();
        Answer::Plain { status, kind, body }
    }
}

/// A running server; it stops when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Answers every request on a free port of 127.0.0.1 by `answer`, each connection on its own thread.
    pub(crate) fn start(
        answer: impl Fn(&HttpRequest) -> io::Result<Answer> + Send + Sync + 'static,
    ) -> io::Result<Server> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let connections = Arc::new(AtomicUsize::new(0));
        let (answer, over) = (Arc::new(answer), Arc::clone(&stopped));
        let taken = Arc::clone(&connections);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                taken.fetch_add(1, Ordering::SeqCst);
                let answer = Arc::clone(&answer);
                // A broken connection is the client's concern; the test sees a session that did not succeed.
                thread::spawn(move || drop(converse(stream, &*answer)));
            }
        });
        Ok(Server {
            address,
            stopped,
            connections,
        })
    }

    /// Returns the number of accepted connections.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the URL of the server.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then stops.
        drop(TcpStream::connect(self.address));
    }
}

fn converse(
    mut stream: TcpStream,
    answer: &(impl Fn(&HttpRequest) -> io::Result<Answer> + ?Sized),
) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(asked) = http::read(&mut reader)? {
        match answer(&asked)? {
            Answer::Plain { status, kind, body } => {
                http::answer(&mut stream, status, kind, &body)?;
            }
            Answer::Pieces {
                status,
                headers,
                pieces,
                end,
            } => {
                if !http::answer_in_pieces(&mut stream, &status, &headers, &pieces, end)? {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}
