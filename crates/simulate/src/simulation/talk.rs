//! The conversation of a run: prompts of agents, notes, the result.

use interlock_core::{
    conversation::seen_history,
    dialogue::Speaker,
    event::Event,
    names::FramePath,
    place::{shown_path, stage_of},
    run::{Phase, RunningAt},
    stage_task, stage_text,
};

use super::Simulation;
use crate::output::{ModelPrompt, Talk};

impl Simulation {
    /// Returns the conversation's output since the last line; `None` if the workflow has no conversation.
    pub(super) fn talk(&mut self) -> Option<Talk> {
        self.machine.conversation.as_ref()?;
        let leaves = self.run.open_leaves();
        let dialogue = self.run.root.line.dialogue.as_ref();
        let ended = matches!(self.run.phase, Phase::Ended { .. });
        Some(Talk {
            told: leaves
                .iter()
                .filter_map(|path| self.told_at(path))
                .collect(),
            notes: std::mem::take(&mut self.notes),
            result: dialogue
                .filter(|_| ended)
                .map(|dialogue| dialogue.task.clone()),
        })
    }

    fn told_at(&self, path: &FramePath) -> Option<ModelPrompt> {
        let (machine, run) = (&self.machine, &self.run);
        let frame = run.frame(path)?;
        let stage = stage_of(machine, frame)?;
        let begun = frame.stay.effect()?.at == RunningAt::Started;
        begun.then_some(())?;
        let said = |text: Option<Result<String, String>>| match text {
            Some(Ok(text)) => text,
            Some(Err(why)) => format!("({why})"),
            None => String::new(),
        };
        let history = seen_history(machine, run, path).iter().map(|said| {
            let by = match said.by {
                Speaker::Person => "person",
                Speaker::Model => "model",
            };
            format!("{by}: {}", said.text)
        });
        Some(ModelPrompt {
            path: shown_path(machine, run, path),
            system: said(stage_text(machine, run, path, &stage.body)),
            task: said(stage_task(machine, run, path)),
            history: history.collect(),
        })
    }
}

/// Returns the notes in events, each as its code and a sentence.
pub(super) fn notes(events: &[Event]) -> Vec<String> {
    let noted = |event: &Event| match event {
        Event::Noted { code, message, .. } => Some(format!("{code}: {message}")),
        _ => None,
    };
    events.iter().filter_map(noted).collect()
}
