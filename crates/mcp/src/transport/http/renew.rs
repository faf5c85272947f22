//! Renews a session that its server has forgotten.

use interlock_core::machine::Object;
use serde_json::Value;

use super::{Carrier, speech::Failure};
use crate::message::{Envelope, Id};

impl Carrier {
    /// Renews the session of an `age`, unless that has happened meanwhile.
    pub(super) async fn renew(&self, age: u64) -> Result<(), Failure> {
        let _one = self.renewing.lock().await;
        let (initialize, settings) = {
            let mut state = self.state();
            if state.age != age {
                return Ok(());
            }
            state.session_id = None;
            (state.initialize.clone(), state.settings.clone())
        };
        let lost = || Failure::Broken("has forgotten the session and begins no other".to_owned());
        let initialize = initialize.ok_or_else(lost)?;
        let id = |what: &str| Id::Text(format!("interlock-renewed-{age}-{what}"));
        let begun = self
            .ask_for(id("begin"), "initialize", initialize.params)
            .await
            .ok_or_else(lost)?;
        self.tell(&Envelope::notification("notifications/initialized", None))
            .await;
        for (number, setting) in settings.into_iter().enumerate() {
            let id = id(&number.to_string());
            self.ask_for(id, &setting.method, setting.params).await;
        }
        self.state().age += 1;
        self.announce(&begun).await;
        Ok(())
    }

    /// Announces that all lists may have changed.
    async fn announce(&self, begun: &Value) {
        for what in ["tools", "prompts", "resources"] {
            let offered = begun.get("capabilities").and_then(|all| all.get(what));
            let changes = offered.and_then(|offered| offered.get("listChanged"));
            if changes == Some(&Value::Bool(true)) {
                let method = format!("notifications/{what}/list_changed");
                self.give(Envelope::notification(&method, None::<Object>))
                    .await;
            }
        }
    }
}
