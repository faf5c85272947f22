//! Sessions with the control tools alone.

use std::sync::Arc;

use interlock_core::names::RunId;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};

use super::{Caller, Door};
use crate::{link::Link, message::read_server, server, settings::Settings};

/// Opens sessions with the control tools alone.
#[derive(Debug)]
pub struct ControlDoor {
    settings: Settings,
}

impl ControlDoor {
    /// Makes one for a project.
    #[must_use]
    pub fn new(settings: Settings) -> Arc<Self> {
        Arc::new(Self { settings })
    }
}

impl Door for ControlDoor {
    fn open(&self, _caller: &Caller) -> Result<Link, String> {
        let (near, far) = Link::pair();
        let (ours, theirs) = duplex(65_536);
        let (read, write) = split(theirs);
        let settings = self.settings.clone();
        tokio::spawn(async move { server::serve(settings, (read, write)).await });
        let (read, mut write) = split(ours);
        let Link {
            outgoing,
            mut incoming,
        } = far;
        tokio::spawn(async move {
            while let Some(parcel) = incoming.recv().await {
                let mut line = Vec::new();
                parcel.write(&mut line);
                line.push(b'\n');
                if write.write_all(&line).await.is_err() {
                    break;
                }
            }
            write.shutdown().await.ok();
        });
        tokio::spawn(async move {
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                for parcel in read_server(line.as_bytes()).unwrap_or_default() {
                    if outgoing.send(parcel).await.is_err() {
                        return;
                    }
                }
            }
        });
        Ok(near)
    }

    fn run_of(&self, credential: &str) -> Result<Option<RunId>, String> {
        let found = self.settings.home.run_of_credential(credential);
        found.map_err(|error| error.to_string())
    }
}
