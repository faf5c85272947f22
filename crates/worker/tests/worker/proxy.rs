//! One address in front of several workers, as a load balancer has.

use std::{
    io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use crate::restate::free_port;

/// The workers behind the address, and the open connections to each.
type Workers = Arc<Mutex<Vec<(u16, Vec<TcpStream>)>>>;

pub(crate) struct Proxy {
    address: SocketAddr,
    workers: Workers,
}

impl Proxy {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let workers = Workers::default();
        let behind = Arc::clone(&workers);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let behind = Arc::clone(&behind);
                thread::spawn(move || forward(&stream, &behind));
            }
        });
        Self { address, workers }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a worker and returns the port that it is to listen on.
    pub(crate) fn add(&self) -> u16 {
        let port = free_port();
        self.workers.lock().unwrap().push((port, Vec::new()));
        port
    }

    /// Sends nothing to a worker any more, and ends its connections.
    pub(crate) fn remove(&self, port: u16) {
        let mut workers = self.workers.lock().unwrap();
        for (_, streams) in workers.extract_if(.., |(of, _)| *of == port) {
            for stream in streams {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Forwards a connection to a worker that accepts it, a different one each time.
fn forward(from: &TcpStream, workers: &Workers) {
    let to = {
        let mut workers = workers.lock().unwrap();
        let by = workers.len().min(1);
        workers.rotate_left(by);
        workers.iter_mut().find_map(|(port, streams)| {
            let to = TcpStream::connect(("127.0.0.1", *port)).ok()?;
            streams.push(to.try_clone().unwrap());
            Some(to)
        })
    };
    let Some(to) = to else {
        let _ = from.shutdown(Shutdown::Both);
        return;
    };
    let (back, answers) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    let answering = thread::spawn(move || copy(&answers, &back));
    copy(from, &to);
    let _ = answering.join();
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = to.set_nodelay(true);
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
