//! Detours that are taken because a file was written.

use super::Work;
use crate::{
    call::WrittenPath,
    command::TransitionRequest,
    event::{Event, InterruptHit},
    judge::interrupt_hits,
    names::{AgentId, FramePath},
    refusal::Refusal,
    run::OpenCall,
    substance::Checked,
};

impl Work<'_> {
    /// Raises the interrupts that `call` matched, now that its outcome is known.
    ///
    /// A failed write raises none, unless the path was seen to be written.
    pub(super) fn raise_after(
        &mut self,
        call: &OpenCall,
        ok: bool,
        wrote: &[WrittenPath],
    ) -> Result<(), Refusal> {
        if self.run.frame(&call.path).is_none() {
            return Ok(());
        }
        let mut hits: Vec<InterruptHit> = if ok {
            call.marks.hits.clone()
        } else {
            Vec::new()
        };
        hits.extend(self.hits_of(&call.path, wrote));
        self.raise(&call.path, &hits)
    }

    /// Raises the interrupts that match paths written after their call had ended.
    pub(super) fn raise_seen(
        &mut self,
        path: &FramePath,
        wrote: &[WrittenPath],
    ) -> Result<(), Refusal> {
        // A frame that is gone leaves what it started to the one that goes on.
        let path = match self.run.frame(path) {
            Some(_) => path.clone(),
            None => FramePath::root(),
        };
        let hits = self.hits_of(&path, wrote);
        self.raise(&path, &hits)
    }

    fn hits_of(&self, path: &FramePath, wrote: &[WrittenPath]) -> Vec<InterruptHit> {
        let called = self
            .run
            .frame(path)
            .and_then(|frame| frame.machine.as_ref())
            .map(crate::names::MachineId::as_str);
        let seen = wrote.iter().filter_map(|path| path.relative.as_deref());
        interrupt_hits(self.machine, called, seen)
    }

    /// Raises `hits` at one frame: the first in the order written now, and the others later.
    fn raise(&mut self, path: &FramePath, hits: &[InterruptHit]) -> Result<(), Refusal> {
        let (_, machine) = self.stand(path)?;
        // First as written in the workflow, whatever order the paths came in.
        let mut ordered: Vec<&InterruptHit> = hits.iter().collect();
        ordered.sort_by_key(|hit| machine.interrupts.get_index_of(&hit.interrupt));
        for hit in ordered {
            self.raise_one(path, hit)?;
        }
        Ok(())
    }

    pub(super) fn raise_one(
        &mut self,
        path: &FramePath,
        hit: &InterruptHit,
    ) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let Some(interrupt) = machine.interrupts.get(&hit.interrupt) else {
            return Ok(());
        };
        let own = frame
            .line
            .handling
            .as_ref()
            .is_some_and(|handling| handling.interrupt == hit.interrupt);
        let kept = frame
            .line
            .queue
            .iter()
            .any(|known| known.interrupt == hit.interrupt);
        let busy = frame.line.handling.is_some() || frame.stay.pending_transition().is_some();
        if own || (busy && kept) || frame.line.queue.len() >= self.machine.limits.queue_max {
            return Ok(());
        }
        if busy {
            self.emit(Event::InterruptQueued {
                path: path.clone(),
                interrupt: hit.interrupt.clone(),
                file: hit.file.clone(),
            });
            return Ok(());
        }
        let (from, to) = (frame.at.clone(), interrupt.target.clone());
        self.on_leave(path)?;
        self.emit(Event::InterruptRaised {
            path: path.clone(),
            interrupt: hit.interrupt.clone(),
            file: hit.file.clone(),
            from,
            to,
            at_ms: self.at_ms,
        });
        self.settle(path)
    }

    /// Raises the oldest queued interrupt, if nothing prevents it.
    pub(super) fn raise_kept(&mut self, path: &FramePath) -> Result<(), Refusal> {
        let Some(frame) = self.run.frame(path) else {
            return Ok(());
        };
        if frame.line.handling.is_some() || frame.stay.pending_transition().is_some() {
            return Ok(());
        }
        let Some(hit) = frame.line.queue.front().cloned() else {
            return Ok(());
        };
        self.emit(Event::InterruptDequeued { path: path.clone() });
        self.raise_one(path, &hit)
    }

    /// Assumes that writes without an outcome have ended, now that their agent requests a transition.
    ///
    /// Writes of other agents may still wait for a person. If a person requests the transition, all writes have ended.
    pub(super) fn assume_writes(
        &mut self,
        path: &FramePath,
        request: &TransitionRequest,
    ) -> Result<(), Refusal> {
        let all = request.is_by_a_person();
        self.assume_ended(&|call| call.path == *path && (all || call.marks.agent == request.agent))
    }

    /// Assumes that all open calls of a stopped sub-agent have ended.
    pub(super) fn assume_all_of(&mut self, agent: &AgentId) -> Result<(), Refusal> {
        self.assume_ended(&|call| call.marks.agent.as_ref() == Some(agent))
    }

    fn assume_ended(&mut self, is_over: &dyn Fn(&OpenCall) -> bool) -> Result<(), Refusal> {
        let calls = self.run.calls.iter();
        let pending: Vec<OpenCall> = calls
            .filter(|call| is_pending_write(call) && is_over(call))
            .cloned()
            .collect();
        for call in pending {
            self.emit(Event::CallEnded {
                call: call.id.clone(),
                ok: true,
                exit: None,
                bytes: 0,
                wrote: Vec::new(),
                commands: Vec::new(),
                checked: Checked::default(),
                assumed: true,
                writes: call.marks.writes && !call.line_has_ended(),
            });
            self.raise_after(&call, true, &[])?;
        }
        Ok(())
    }
}

/// Returns whether a call may write and its end is unknown.
fn is_pending_write(call: &OpenCall) -> bool {
    let settled = call
        .line
        .as_ref()
        .is_some_and(|line| line.ended_seq.is_some() && (!line.unseen || line.exit.is_some()));
    let writes = call.marks.writes || !call.marks.hits.is_empty();
    writes && !settled && !call.asked && !call.told && !call.assumed
}
