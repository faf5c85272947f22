//! The directories that `git clone`, `git init` and `git worktree` create.

use super::git::Call;
use crate::options::{self, Act, Effect, SPEC, Spec};
use crate::value::Arg;
use crate::walk::Walker;
use crate::words::words;

/// Options that put the repository's files elsewhere.
const SEPARATE: &[Act] = &[Act {
    short: "",
    long: &["separate-git-dir="],
    effect: Effect::Write,
}];

const CLONE: Spec = Spec {
    short: "lsnqv46",
    valued: "bcjou",
    long: words!(
        "local no-local shared no-hardlinks no-checkout checkout bare mirror quiet verbose progress
         no-progress tags no-tags single-branch no-single-branch recurse-submodules?
         recursive? shallow-submodules no-shallow-submodules remote-submodules no-remote-submodules
         dissociate sparse reject-shallow no-reject-shallow also-filter-submodules ipv4 ipv6
         branch= config= depth= filter= jobs= origin= reference= reference-if-able= revision=
         server-option= shallow-exclude= shallow-since= template= upload-pack= bundle-uri=
         ref-format="
    ),
    acts: SEPARATE,
    ..SPEC
};

const INIT: Spec = Spec {
    short: "q",
    valued: "b",
    long: words!("quiet bare shared? initial-branch= template= object-format= ref-format="),
    acts: SEPARATE,
    ..SPEC
};

const WORKTREE: Spec = Spec {
    short: "fdqnv",
    valued: "bB",
    long: words!(
        "force detach checkout no-checkout guess-remote no-guess-remote track no-track lock quiet
         orphan relative-paths no-relative-paths dry-run verbose porcelain reason= expire="
    ),
    ..SPEC
};

impl Walker<'_> {
    /// Records the directory that a subcommand creates, moves or removes.
    pub(super) fn git_makes(&mut self, call: &Call<'_>, by: &str) {
        let directory = call.directory.as_deref();
        let spec = match call.subcommand {
            "clone" => &CLONE,
            "init" => &INIT,
            _ => &WORKTREE,
        };
        let sorted = options::sort(call.words, spec);
        for (_, value) in &sorted.effects {
            let place = value
                .clone()
                .unwrap_or_else(|| Arg::unknown("--separate-git-dir"));
            self.facts.write(&place, directory, by);
        }
        let operand = |at: usize| sorted.operands.get(at);
        if sorted.unknown.is_some() || !sorted.uncertain.is_empty() {
            // It is unknown which of them is a value.
            self.write_inside(directory, by);
            for place in call.words.iter().filter(|word| !word.may_be_option()) {
                self.facts.write(place, directory, by);
            }
        } else if let ("clone", None) = (call.subcommand, operand(1)) {
            self.write_inside(directory, by);
        } else {
            let (written, removed) = match (call.subcommand, operand(0).and_then(Arg::literal)) {
                ("clone", _) => (operand(1), None),
                ("init", _) => (operand(0), None),
                (_, Some("move")) => (operand(2), operand(1)),
                (_, Some("remove")) => (None, operand(1)),
                _ => (operand(1), None),
            };
            if let Some(place) = written {
                self.facts.write(place, directory, by);
            }
            if let Some(place) = removed {
                self.facts.remove(place, directory, by, true);
            }
        }
    }
}
