//! The models that stages may call, implemented where the configuration is known.

use interlock_core::attempt::Usage;
use interlock_models::{Answer, Heard, Kind, ModelError, Request};
use interlock_process::Cancel;

/// A model that a stage can call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Name of the provider in the configuration.
    pub provider: String,
    /// Protocol of the provider.
    pub kind: Kind,
    /// Name of the model at the provider.
    pub name: String,
}

/// How often a call is attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tries {
    /// As often as configured.
    Several,
    /// Once; the caller has its own retries.
    Once,
}

/// The models that stages can call.
pub trait Models: Send + Sync {
    /// Finds the model that a workflow names; `None`: the configured one.
    ///
    /// # Errors
    /// One sentence: there is no such model, or its key is missing.
    fn find(&self, wanted: Option<&str>) -> Result<Model, String>;

    /// Calls the model, and blocks until its complete message has arrived.
    ///
    /// # Errors
    /// No message will come.
    fn call(
        &self,
        model: &Model,
        request: &Request,
        tries: Tries,
        cancel: &Cancel,
        heard: &mut dyn FnMut(Heard<'_>),
    ) -> Result<Answer, ModelError>;

    /// Returns the cost of an answer's tokens, in millionths of a millionth of a US dollar.
    ///
    /// Returns `None` if the price is unknown.
    fn cost(&self, model: &Model, usage: &interlock_models::Usage) -> Option<u64>;
}

/// Converts the usage of a call for the run.
pub(crate) fn usage(models: &dyn Models, model: &Model, answer: &Answer) -> Usage {
    let used = &answer.usage;
    Usage {
        input: used.input.unwrap_or_default(),
        output: used.output.unwrap_or_default(),
        cached: used.cached.unwrap_or_default(),
        reasoning: used.reasoning.unwrap_or_default(),
        pico_usd: models.cost(model, used),
    }
}
