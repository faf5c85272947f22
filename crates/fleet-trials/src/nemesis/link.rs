//! A connection to the database that can be slow, or cut in one direction or both.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// A proxy before the socket of PostgreSQL.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) port: u16,
    faults: Arc<Faults>,
}

/// What is wrong with a link.
#[derive(Debug, Default)]
struct Faults {
    /// Bytes to the database are dropped.
    to_is_cut: AtomicBool,
    /// Bytes of the database are dropped.
    from_is_cut: AtomicBool,
    /// Each piece is late by so many milliseconds.
    delay_ms: AtomicU64,
    open: Mutex<Vec<(TcpStream, UnixStream)>>,
    /// The folder of the socket.
    place: Mutex<PathBuf>,
}

impl Link {
    pub(super) fn before(place: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let faults = Arc::new(Faults::default());
        *faults.place.lock().unwrap() = place.to_owned();
        let of = Arc::clone(&faults);
        thread::spawn(move || accept(&listener, &of));
        Self { port, faults }
    }

    /// Drops what is sent to the database, what it sends, or both.
    pub(super) fn cut(&self, to: bool, from: bool) {
        self.faults.to_is_cut.store(to, Ordering::SeqCst);
        self.faults.from_is_cut.store(from, Ordering::SeqCst);
    }

    pub(super) fn delay(&self, by: Duration) {
        let ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.faults.delay_ms.store(ms, Ordering::SeqCst);
    }

    /// Leads to another database from now on.
    pub(super) fn redirect(&self, place: &Path) {
        *self.faults.place.lock().unwrap() = place.to_owned();
        self.reset();
    }

    /// Ends every connection.
    pub(super) fn reset(&self) {
        for (near, far) in self.faults.open.lock().unwrap().drain(..) {
            let _ = near.shutdown(Shutdown::Both);
            let _ = far.shutdown(Shutdown::Both);
        }
    }

    /// Lets everything pass again. What was dropped is missing, so those connections are ended.
    pub(super) fn heal(&self) {
        let (to, from) = (&self.faults.to_is_cut, &self.faults.from_is_cut);
        let was_cut = to.swap(false, Ordering::SeqCst) | from.swap(false, Ordering::SeqCst);
        self.delay(Duration::ZERO);
        if was_cut {
            self.reset();
        }
    }
}

fn accept(listener: &TcpListener, faults: &Arc<Faults>) {
    for near in listener.incoming().flatten() {
        let socket = faults.place.lock().unwrap().join(".s.PGSQL.5432");
        let Ok(far) = UnixStream::connect(socket) else {
            continue;
        };
        let _ = near.set_nodelay(true);
        let mut open = faults.open.lock().unwrap();
        // Those that have ended need not be kept.
        open.retain(|(near, _)| near.peer_addr().is_ok());
        open.push((near.try_clone().unwrap(), far.try_clone().unwrap()));
        drop(open);
        let (near_in, far_in) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        let (to, from) = (Arc::clone(faults), Arc::clone(faults));
        thread::spawn(move || {
            pump(near_in, &far, &to, |faults| &faults.to_is_cut);
            let _ = far.shutdown(Shutdown::Both);
        });
        thread::spawn(move || {
            pump(far_in, &near, &from, |faults| &faults.from_is_cut);
            let _ = near.shutdown(Shutdown::Both);
        });
    }
}

fn pump(mut from: impl Read, mut to: impl Write, faults: &Faults, cut: fn(&Faults) -> &AtomicBool) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut bytes) {
        let ms = faults.delay_ms.load(Ordering::SeqCst);
        if ms > 0 {
            thread::sleep(Duration::from_millis(ms));
        }
        let passes = !cut(faults).load(Ordering::SeqCst);
        if count == 0 || passes && to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}
