//! Programs that write files in special ways.

use interlock_core::facts::{CommandClass, NetworkDirection, PathText};

use crate::options::{self, Effect};
use crate::paths;
use crate::tables::own::{CSPLIT, MKTEMP, PATCH, RSYNC, SPLIT};
use crate::value::{Arg, Dynamic};
use crate::walk::{CommandPosition, Walker};

impl Walker<'_> {
    pub(super) fn dd(&mut self, index: usize, args: &[Arg]) {
        const NAMES: &[&str] = &[
            "bs", "ibs", "obs", "cbs", "count", "skip", "seek", "iseek", "oseek", "conv", "status",
            "iflag", "oflag",
        ];
        let directory = self.directory();
        let directory = directory.as_deref();
        let mut writes = false;
        for arg in args {
            let Some((name, value)) = arg.start().split_once('=') else {
                self.facts
                    .opaque(index, &format!("`dd {}` is not known", arg.shown()));
                writes = true;
                continue;
            };
            let value = match arg {
                Arg::Literal(_) => Arg::text(value),
                Arg::Dynamic(dynamic) => Arg::Dynamic(Dynamic {
                    start: value.to_owned(),
                    ..dynamic.clone()
                }),
            };
            match name {
                "if" => self.facts.read(&value, directory, "dd", false),
                "of" => {
                    writes |= self.facts.write(&value, directory, "dd").is_some();
                    if let PathText::Whole(path) = paths::resolve(&value, directory)
                        && paths::is_system(&path)
                        && !paths::is_sink(&path)
                    {
                        self.reclass(index, CommandClass::System);
                    }
                }
                _ if NAMES.contains(&name)
                    && !matches!(&value, Arg::Dynamic(dynamic) if !dynamic.is_single && !dynamic.is_number) =>
                    {}
                _ => self
                    .facts
                    .opaque(index, &format!("`dd {}` is not known", arg.shown())),
            }
        }
        if !writes {
            self.reclass(index, CommandClass::Reader);
        }
    }

    /// Handles `split` and `csplit`, which write files whose names have a common prefix.
    pub(super) fn split(&mut self, index: usize, name: &str, args: &[Arg]) {
        let sorted = options::sort(args, if name == "split" { &SPLIT } else { &CSPLIT });
        self.check_sorted(index, &sorted);
        self.apply(index, name, &sorted);
        let directory = self.directory();
        if let Some(input) = sorted.operands.first() {
            self.facts.read(input, directory.as_deref(), name, false);
        }
        if name == "split" && prints_one_part(&sorted) {
            self.reclass(index, CommandClass::Reader);
            return;
        }
        let prefix = if name == "split" {
            sorted.operands.get(1).cloned()
        } else {
            sorted
                .value("f")
                .or_else(|| sorted.value("prefix"))
                .cloned()
        };
        let prefix = prefix.unwrap_or_else(|| Arg::text(if name == "split" { "x" } else { "xx" }));
        let path = match &prefix {
            // Letters or digits follow the prefix.
            Arg::Literal(text) => {
                let names = Dynamic {
                    start: text.clone(),
                    is_number: true,
                    ..Dynamic::default()
                };
                paths::resolve(&Arg::Dynamic(names), directory.as_deref())
            }
            Arg::Dynamic(_) => paths::resolve(&prefix, directory.as_deref()),
        };
        self.facts.write_path(path, name, false);
    }

    pub(super) fn mktemp(&mut self, index: usize, args: &[Arg], place: &CommandPosition) {
        let sorted = options::sort(args, &MKTEMP);
        self.check_sorted(index, &sorted);
        if sorted.has("u") || sorted.has("dry-run") {
            return;
        }
        let in_temporary = sorted.operands.is_empty() || sorted.has("t") || sorted.has("tmpdir");
        let given = sorted
            .value("p")
            .or_else(|| sorted.value("tmpdir"))
            .cloned();
        let set_here = place.assignments.iter().any(|name| name == "TMPDIR");
        let parent = match given {
            Some(parent) => paths::resolve(&parent, self.state.directory()),
            None if set_here => PathText::Unknown,
            None if in_temporary => {
                let variable = self.expander().variable("TMPDIR");
                PathText::Whole(variable.unwrap_or_else(|| "/tmp".to_owned()))
            }
            None => {
                let template = sorted
                    .operands
                    .first()
                    .cloned()
                    .unwrap_or_else(|| Arg::text("tmp"));
                let names = Dynamic {
                    start: template.start().to_owned(),
                    is_number: true,
                    ..Dynamic::default()
                };
                let directory = self.directory();
                self.facts.write_path(
                    paths::resolve(&Arg::Dynamic(names), directory.as_deref()),
                    "mktemp",
                    false,
                );
                return;
            }
        };
        self.facts
            .write_path(paths::inside(parent), "mktemp", false);
    }

    pub(super) fn rsync(&mut self, index: usize, args: &[Arg]) {
        let sorted = options::sort(args, &RSYNC);
        self.check_sorted(index, &sorted);
        self.apply(index, "rsync", &sorted);
        let is_remote = |arg: &Arg| {
            let text = arg.start();
            text.starts_with("rsync:")
                || text
                    .split('/')
                    .next()
                    .is_some_and(|first| first.contains(':'))
        };
        if sorted.operands.iter().any(is_remote) {
            self.facts
                .network(NetworkDirection::Send, None, "rsync", Some(index));
        }
        let directory = self.directory();
        let only_says = ["n", "dry-run", "list-only"]
            .iter()
            .any(|name| sorted.has(name));
        if only_says {
            self.reclass(index, CommandClass::Reader);
            for path in sorted.operands.iter().filter(|path| !is_remote(path)) {
                self.facts.read(path, directory.as_deref(), "rsync", true);
            }
            return;
        }
        let Some((target, sources)) = sorted.operands.split_last() else {
            return;
        };
        for source in sources.iter().filter(|source| !is_remote(source)) {
            self.facts.read(source, directory.as_deref(), "rsync", true);
            if sorted.does(Effect::RemoveOperands) {
                self.facts
                    .remove(source, directory.as_deref(), "rsync", true);
            }
        }
        if sources.is_empty() {
            self.facts.read(target, directory.as_deref(), "rsync", true);
        } else if !is_remote(target) {
            if let Some(written) = self.facts.write(target, directory.as_deref(), "rsync") {
                written.recursive = true;
            }
            if sorted.seen.iter().any(|(name, _)| name.starts_with("del")) {
                self.facts
                    .remove(target, directory.as_deref(), "rsync", true);
            }
        }
    }

    pub(super) fn patch(&mut self, index: usize, args: &[Arg]) {
        let sorted = options::sort(args, &PATCH);
        if sorted.has("dry-run") && !sorted.does(Effect::Write) {
            self.check_sorted(index, &sorted);
            self.apply(index, "patch", &sorted);
            self.reclass(index, CommandClass::Reader);
            return;
        }
        self.by_options(index, "patch", args, &PATCH);
        self.facts
            .opaque(index, "a patch names the files that it changes");
        self.write_below(&Arg::text("."), "patch");
    }

    /// Handles editors and databases, which can run commands.
    pub(super) fn editor(&mut self, index: usize, name: &str, args: &[Arg]) {
        self.facts.opaque(index, "it runs commands of its own");
        let directory = self.directory();
        for path in args
            .iter()
            .filter(|arg| !arg.may_be_option() && !arg.start().starts_with([':', '+', '.', '(']))
        {
            let is_file = path
                .literal()
                .is_none_or(|text| !text.contains([' ', ';', '!']));
            if is_file {
                self.facts.write(path, directory.as_deref(), name);
            }
        }
    }
}

/// Returns whether `split` prints one part: `K/N`, `l/K/N`, `r/K/N`.
fn prints_one_part(sorted: &options::Sorted) -> bool {
    let one_part = |value: &Option<Arg>| {
        let text = value.as_ref().and_then(Arg::literal).unwrap_or_default();
        let numbers = text
            .strip_prefix("l/")
            .or_else(|| text.strip_prefix("r/"))
            .unwrap_or(text);
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        numbers
            .split_once('/')
            .is_some_and(|(part, of)| is_number(part) && is_number(of))
    };
    let mut parts = sorted
        .seen
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "n" | "number"))
        .map(|(_, value)| one_part(value))
        .peekable();
    parts.peek().is_some() && parts.all(|prints| prints) && sorted.effects.is_empty()
}
