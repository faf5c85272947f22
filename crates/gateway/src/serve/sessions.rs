//! Sessions of the gateway, for clients over HTTP.

use std::{fmt, sync::Arc};

use interlock_core::names::RunId;
use interlock_store::Home;

use super::SessionFactory;
use crate::{channel::Channel, govern::Caller, session::Gateway};

/// Opens sessions of a gateway.
pub(super) struct GatewaySessions {
    pub(super) gateway: Arc<Gateway>,
    pub(super) home: Home,
}

impl fmt::Debug for GatewaySessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GatewaySessions")
    }
}

impl SessionFactory for GatewaySessions {
    fn open(&self, caller: &Caller) -> Result<Channel, String> {
        let opened = self.gateway.open(caller.clone());
        opened.map_err(|error| error.to_string())
    }

    fn run_of(&self, credential: &str) -> Result<Option<RunId>, String> {
        let found = self.home.run_of_credential(credential);
        found.map_err(|error| error.to_string())
    }
}
