//! Side tasks of judging a call: protected files are compared, its trace is stored.

use interlock_clients::Watched;
use interlock_core::{
    machine::Object,
    names::{CallId, RunId},
};
use interlock_store::StoreError;

use super::Governor;

/// Key with which a client names the trace of a call.
const TRACE_KEY: &str = "traceparent";

impl Governor {
    /// Compares the protected files and settings with the run's baseline.
    pub(super) fn watch(&mut self, run: &RunId, at_ms: u64) -> Result<(), StoreError> {
        let of_run = self.watched.take().filter(|(of, _)| of == run);
        let context = self.files.context();
        let (_, mut watched) =
            of_run.unwrap_or_else(|| (run.clone(), Watched::of_gateway(context)));
        let live = self.opened.live(run)?;
        if !live.run.is_over() {
            live.watch(&mut watched, context, at_ms)?;
        }
        self.watched = Some((run.clone(), watched));
        Ok(())
    }

    /// Stores the parent span of a call: the one it names, or else that of the whole process.
    pub(super) fn keep_parent(&self, run: &RunId, call: &CallId, meta: Option<&Object>) {
        let home = &self.settings.environment.home;
        let named = meta.and_then(|meta| meta.get(TRACE_KEY)?.as_str());
        let parent = named.or_else(|| {
            let ours = self.parent.as_deref()?;
            // The parent of the run itself need not be repeated for its calls.
            let of_run = home.told(run).ok()?.parent;
            (of_run.as_deref() != Some(ours)).then_some(ours)
        });
        if let Some(parent) = parent {
            // The trace affects no decision.
            let _ = home.keep_call_parent(run, call, parent);
        }
    }
}
