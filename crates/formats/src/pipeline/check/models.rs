//! Options that a model's provider does not support.

use serde_json::Value;

use super::Check;
use crate::stage::{self, PROVIDERS};

impl Check<'_> {
    /// Warns of options that the provider of a stage's model does not support.
    pub(super) fn models(&mut self) {
        let of_all = self.pipeline.settings.model.as_deref();
        for (id, written) in &self.pipeline.stages {
            let model = written.model.as_deref().or(of_all);
            let provider = model.and_then(|model| Some(model.split_once('/')?.0));
            let known =
                provider.and_then(|name| PROVIDERS.into_iter().find(|known| *known == name));
            let (Some(provider), Some(span)) = (known, written.parts.options_span) else {
                continue;
            };
            for (option, why) in lacking(provider, &written.parts) {
                self.report
                    .warning(
                        span,
                        "lacking_option",
                        format!("`{provider}`, the provider of `{id}`, {why}"),
                    )
                    .help(format!(
                        "`{option}` is left out or only nearly followed there"
                    ));
            }
        }
    }
}

/// Returns the unsupported options of a provider, with reasons.
fn lacking(provider: &str, parts: &stage::Stage) -> Vec<(&'static str, &'static str)> {
    let off =
        |thinking: &Value| *thinking == Value::Bool(false) || thinking.as_str() == Some("off");
    let thinks = parts
        .thinking
        .as_ref()
        .is_some_and(|thinking| !off(thinking));
    let counted = parts.thinking.as_ref().is_some_and(Value::is_number);
    let mut lacking = Vec::new();
    if provider == "anthropic" && thinks && parts.temperature.is_some() {
        lacking.push(("temperature", "takes no `temperature` beside `thinking`"));
    }
    if counted && matches!(provider, "openai" | "ollama") {
        lacking.push((
            "thinking",
            "counts no tokens of `thinking`: it knows `low`, `medium` and `high`",
        ));
    }
    lacking
}
