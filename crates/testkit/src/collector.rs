//! A local collector of OpenTelemetry spans, which stores all posted requests.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// Time limit for any wait, after which the test fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum size of a request body in bytes.
const BODY_BYTES_MAX: u64 = 32 << 20;

/// A posted request.
#[derive(Debug, Clone)]
pub struct Posted {
    /// Its path.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Value,
}

impl Posted {
    /// Returns the value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the spans in the body.
    #[must_use]
    pub fn spans(&self) -> Vec<Value> {
        let list = |value: &Value, key: &str| -> Vec<Value> {
            value
                .get(key)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        list(&self.body, "resourceSpans")
            .iter()
            .flat_map(|resource| list(resource, "scopeSpans"))
            .flat_map(|scope| list(&scope, "spans"))
            .collect()
    }
}

/// A collector that listens until the test ends.
#[derive(Debug, Clone)]
pub struct Collector {
    address: SocketAddr,
    kept: Arc<(Mutex<Vec<Posted>>, Condvar)>,
}

impl Collector {
    /// Starts listening on a free port; every request is answered with `status`.
    ///
    /// # Errors
    /// No port is available.
    pub fn start(status: &'static str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let collector = Self {
            address: listener.local_addr()?,
            kept: Arc::default(),
        };
        let kept = Arc::clone(&collector.kept);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || {
                    // A broken connection is the sender's concern.
                    drop(serve(&stream, status, &kept));
                });
            }
        });
        Ok(collector)
    }

    /// Returns its base address.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests posted so far.
    #[must_use]
    pub fn posted(&self) -> Vec<Posted> {
        lock(&self.kept.0).clone()
    }

    /// Waits until the posted requests satisfy `is`.
    ///
    /// # Errors
    /// They do not within the time limit.
    pub fn wait_for(&self, is: impl Fn(&[Posted]) -> bool) -> io::Result<Vec<Posted>> {
        let began = Instant::now();
        let mut kept = lock(&self.kept.0);
        while !is(&kept) {
            let left = PATIENCE.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(io::Error::other(format!("only {kept:?} was posted")));
            }
            let waited = self.kept.1.wait_timeout(kept, left);
            kept = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(kept.clone())
    }
}

fn serve(stream: &TcpStream, status: &str, kept: &(Mutex<Vec<Posted>>, Condvar)) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let path = line
            .split_whitespace()
            .nth(1)
            .unwrap_or_default()
            .to_owned();
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            match line.trim().split_once(':') {
                Some((name, value)) => {
                    headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
                }
                None => break,
            }
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length: u64 = length
            .and_then(|(_, value)| value.parse().ok())
            .unwrap_or(0);
        let mut body = Vec::new();
        let mut rest = (&mut reader).take(length.min(BODY_BYTES_MAX));
        rest.read_to_end(&mut body)?;
        let body = serde_json::from_slice(&body).map_err(io::Error::other)?;
        lock(&kept.0).push(Posted {
            path,
            headers,
            body,
        });
        kept.1.notify_all();
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        (&mut &*stream).write_all(answer.as_bytes())?;
        line.clear();
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
