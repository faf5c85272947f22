//! Names of stages: the entry of a run and the targets of stages.

use super::Check;
use crate::pipeline::syntax::{END, FAIL, Named, Next};

impl Check<'_> {
    /// Reports names that no stage has; returns whether all are valid.
    pub(super) fn names(&mut self) -> bool {
        let before = self.report.count();
        let pipeline = self.pipeline;
        if let Some(entry) = &pipeline.entry {
            self.stage(entry, "a run cannot start at");
        }
        for stage in pipeline.stages.values() {
            match &stage.next {
                Next::To(target) => self.target(target),
                Next::Branches(branches) => {
                    for branch in branches {
                        self.target(&branch.target);
                    }
                }
                Next::Fork(fork) => {
                    for sibling in &fork.siblings {
                        self.stage(sibling, "what starts at once is a stage, not");
                    }
                    if let Some(join) = &fork.join {
                        self.stage(join, "what joins is a stage, not");
                    }
                    if let Some(target) = &fork.on_fail {
                        self.target(target);
                    }
                }
                Next::Broken => {}
            }
            for (_, target) in &stage.ends {
                self.target(target);
            }
        }
        self.report.count() == before
    }

    /// Reports a name that is neither a stage nor an end.
    fn target(&mut self, name: &Named) {
        if ![END, FAIL].contains(&name.text.as_str()) {
            self.stage(name, "");
        }
    }

    /// Reports a name that is not a stage; `no_end` explains why an end is not allowed.
    fn stage(&mut self, name: &Named, no_end: &str) {
        if self.pipeline.stages.contains_key(&name.text) {
            return;
        }
        let text = name.text.escape_debug();
        if [END, FAIL].contains(&name.text.as_str()) {
            self.report
                .error(name.span, "undefined_stage", format!("{no_end} `{text}`"))
                .help("name a stage");
            return;
        }
        if self.pipeline.incomplete && self.pipeline.stages.is_empty() {
            return;
        }
        let near = self.near_stage(&name.text);
        self.report
            .error(
                name.span,
                "undefined_stage",
                format!("there is no stage `{text}`{near}"),
            )
            .help("name a stage below `stages`, or `end` or `fail` where the run ends");
    }
}
