//! git: what its subcommands read, write, run and connect to.

use interlock_core::facts::{CommandClass, NetworkDirection, PathText, ShellAsk};

use crate::options::{self, Effect, Sorted, Spec};
use crate::paths;
use crate::tables::forms::MERGE_FILE;
use crate::tables::git::options::{ANYWHERE, BRANCH_LISTS, CONFIG_READS, REMOTE_READS, TAG_LISTS};
use crate::tables::git::{
    CONFIG_HARMLESS, GLOBAL_PLAIN, Known, NETWORK, OPTIONS, READS, RUNS, WRITES,
};
use crate::value::Arg;
use crate::walk::{CommandPosition, Proof, Step, Walker};

/// Configuration keys that `git config` may write.
const CONFIG_WRITABLE: &[&str] = &["user.", "color.", "branch.", "pull.", "push."];

const SIGNATURES: &str = "a format that checks signatures starts another program";

/// A call of git, after its general options.
pub(super) struct Call<'a> {
    index: usize,
    pub(super) subcommand: &'a str,
    pub(super) words: &'a [Arg],
    pub(super) directory: Option<String>,
}

impl Walker<'_> {
    pub(super) fn git(&mut self, index: usize, args: &[Arg], place: &CommandPosition) -> Step {
        let mut directory = self.directory();
        let mut asks = false;
        let mut at = 0;
        // Words that select the repository, with nothing before them that selects more.
        let mut placing = 0;
        while let Some(word) = args.get(at) {
            let Some(text) = word.literal() else {
                self.facts
                    .opaque(index, "the subcommand of git is not known");
                return Ok(());
            };
            if !text.starts_with('-') {
                break;
            }
            at += 1;
            match text {
                "-C" => {
                    let path = args.get(at).and_then(Arg::literal).unwrap_or_default();
                    directory = paths::absolute(path, directory.as_deref());
                    asks = true;
                    at += 1;
                    placing = if placing + 2 == at { at } else { placing };
                }
                _ if text.starts_with("-C") => {
                    directory =
                        paths::absolute(text.trim_start_matches("-C"), directory.as_deref());
                    asks = true;
                }
                "-c" => {
                    if !args.get(at).is_some_and(is_harmless_config) {
                        self.facts.opaque(index, "`git -c` sets what git may run");
                    }
                    at += 1;
                }
                "--version" | "-v" | "--exec-path" | "--html-path" | "--man-path"
                | "--info-path" => return Ok(()),
                "--help" | "-h" => {
                    self.git_help(index, args.get(at..).unwrap_or_default());
                    return Ok(());
                }
                _ if GLOBAL_PLAIN.contains(&text) => {}
                "--git-dir" | "--work-tree" | "--namespace" | "--config-env" | "--super-prefix"
                | "--attr-source" | "--list-cmds" => {
                    self.facts
                        .opaque(index, &format!("`git {text}` is not known to be harmless"));
                    at += 1;
                }
                _ => self
                    .facts
                    .opaque(index, &format!("`git {text}` is not known to be harmless")),
            }
        }
        let Some(subcommand) = args.get(at).and_then(Arg::literal) else {
            return Ok(());
        };
        let call = Call {
            index,
            subcommand,
            words: args.get(at + 1..).unwrap_or_default(),
            directory,
        };
        if self.git_place(&call, asks)
            && let Some(command) = self.facts.facts.commands.get_mut(index)
        {
            command.project_words = placing;
        }
        self.git_subcommand(&call, place)
    }

    /// Asks about a repository that may not be the project's own; returns whether it may be.
    fn git_place(&mut self, call: &Call<'_>, asks: bool) -> bool {
        let Some(directory) = &call.directory else {
            self.facts
                .opaque(call.index, "git in a directory that is not known");
            return false;
        };
        let root = &self.setting.project_root;
        let inside = directory == root
            || directory
                .strip_prefix(root.as_str())
                .is_some_and(|rest| rest.starts_with('/'));
        if !inside {
            self.facts.contained(
                call.index,
                "git in another repository, whose configuration can run programs",
            );
        }
        if directory != root || asks {
            self.facts.ask(ShellAsk::Repository {
                directory: directory.clone(),
                command: call.index,
            });
        }
        inside
    }

    fn git_subcommand(&mut self, call: &Call<'_>, place: &CommandPosition) -> Step {
        if call
            .words
            .iter()
            .any(|word| word.is("--help") || word.is("-h"))
            && call.words.len() == 1
        {
            return Ok(());
        }
        match call.subcommand {
            "help" => self.git_help(call.index, call.words),
            "ls-remote" => {
                self.git_options(call);
                if call.words.iter().any(|word| word.shown().contains("::")) {
                    self.facts
                        .opaque(call.index, "an address that names a program");
                }
                self.facts.network(
                    NetworkDirection::Get,
                    None,
                    "git ls-remote",
                    Some(call.index),
                );
            }
            name if READS.contains(&name) => {
                self.git_options(call);
            }
            name if RUNS.contains(&name) => self
                .facts
                .opaque(call.index, "a subcommand of git that runs other programs"),
            name if NETWORK.contains(&name) => self.git_network(call),
            name if WRITES.contains(&name) => return self.git_listing(call, place),
            _ => self.facts.opaque(
                call.index,
                "a subcommand that git does not know may be an alias",
            ),
        }
        Ok(())
    }

    fn git_help(&mut self, index: usize, words: &[Arg]) {
        const PLAIN: &[&str] = &["-a", "--all", "-g", "--guides", "-c", "--config"];
        let is_plain = |word: &Arg| word.literal().is_some_and(|text| PLAIN.contains(&text));
        if words
            .iter()
            .any(|word| word.may_be_option() && !is_plain(word))
        {
            self.facts.opaque(index, "`git help` may start a browser");
        }
    }

    /// Searches for options that run or write something.
    fn git_options(&mut self, call: &Call<'_>) -> Sorted {
        let verb = call.words.first().and_then(Arg::literal).unwrap_or("-");
        let both = format!("{} {verb}", call.subcommand);
        let known = [both.as_str(), call.subcommand].iter().find_map(|name| {
            let row = OPTIONS.iter().find(|(names, _)| names.contains(name));
            row.map(|(_, known)| *known)
        });
        let (spec, is_whole) = match known {
            Some(Known::Harmless) => return self.git_harmless(call),
            Some(Known::Only(spec)) => (spec, true),
            Some(Known::Among(spec)) => (spec, false),
            None => (&ANYWHERE, false),
        };
        let sorted = options::sort(call.words, spec);
        if let Some(option) = sorted.unknown.as_ref().filter(|_| is_whole) {
            let reason = format!("option `{option}` is not known to be harmless");
            self.facts.opaque(call.index, &reason);
        }
        for word in &sorted.uncertain {
            self.uncertain(call.index, word);
        }
        self.git_effects(call, &sorted);
        self.git_formats(call, &sorted);
        self.git_reads(call, &sorted);
        sorted
    }

    /// Handles a subcommand whose options all read.
    fn git_harmless(&mut self, call: &Call<'_>) -> Sorted {
        let signs = |word: &Arg| word.shown().contains("%(signature");
        if call.words.iter().any(signs) {
            self.facts.opaque(call.index, SIGNATURES);
        }
        Sorted::default()
    }

    fn git_effects(&mut self, call: &Call<'_>, sorted: &Sorted) {
        let directory = call.directory.as_deref();
        for (effect, value) in &sorted.effects {
            match (effect, value) {
                (Effect::Write, Some(path)) => {
                    self.facts.write(path, directory, "git");
                }
                (Effect::Write, None) => self.write_inside(directory, "git"),
                (Effect::Read, Some(path)) => self.facts.read(path, directory, "git", false),
                (Effect::Opaque(reason), _) => self.facts.opaque(call.index, reason),
                _ => {}
            }
        }
    }

    /// Handles formats that show signatures, which start the program that verifies them.
    fn git_formats(&mut self, call: &Call<'_>, sorted: &Sorted) {
        let shows = |(name, value): &(String, Option<Arg>)| {
            name.contains("format") || name.contains("pretty") && value.is_some()
        };
        let checks = sorted
            .seen
            .iter()
            .filter(|seen| shows(seen))
            .any(|(_, value)| {
                let text = value.as_ref().map_or("", Arg::shown);
                text.contains("%G") || text.contains("%(signature")
            });
        if checks {
            self.facts.opaque(call.index, SIGNATURES);
        }
    }

    /// Records files outside the repository that `git diff` and `git grep` may read.
    fn git_reads(&mut self, call: &Call<'_>, sorted: &Sorted) {
        if !matches!(call.subcommand, "diff" | "grep") {
            return;
        }
        let any = sorted.has("--no-index") || sorted.has("no-index");
        for word in &sorted.operands {
            if any || word.start().starts_with(['/', '~']) || word.start().starts_with("..") {
                let recursive = call.subcommand == "grep";
                self.facts
                    .read(word, call.directory.as_deref(), "git", recursive);
            }
        }
    }

    fn git_network(&mut self, call: &Call<'_>) {
        self.git_options(call);
        let direction = if matches!(call.subcommand, "push" | "send-pack") {
            NetworkDirection::Send
        } else {
            NetworkDirection::Get
        };
        let by = format!("git {}", call.subcommand);
        self.facts.network(direction, None, &by, Some(call.index));
        self.git_writes(call);
    }

    /// Handles subcommands that list in some forms and write in others.
    fn git_listing(&mut self, call: &Call<'_>, place: &CommandPosition) -> Step {
        let known = self.git_options(call);
        let sorted = |spec: &Spec| options::sort(call.words, spec);
        let has = |names: &[&str], sorted: &Sorted| names.iter().any(|name| sorted.has(name));
        let operand = |at: usize| {
            call.words
                .iter()
                .filter(|word| !word.may_be_option())
                .nth(at)
                .and_then(Arg::literal)
        };
        let is_bare = call.words.is_empty();
        // After an option, a verb may be that option's value.
        let verb = call.words.first().and_then(Arg::literal);
        let lists = match call.subcommand {
            "branch" => {
                let sorted = sorted(&BRANCH_LISTS);
                let filters = [
                    "list",
                    "l",
                    "contains",
                    "no-contains",
                    "merged",
                    "no-merged",
                    "points-at",
                    "show-current",
                ];
                sorted.unknown.is_none() && (sorted.operands.is_empty() || has(&filters, &sorted))
            }
            "tag" => {
                let sorted = sorted(&TAG_LISTS);
                let filters = [
                    "list",
                    "l",
                    "n",
                    "contains",
                    "no-contains",
                    "merged",
                    "no-merged",
                    "points-at",
                ];
                sorted.unknown.is_none() && (sorted.operands.is_empty() || has(&filters, &sorted))
            }
            "config" => self.git_config(call),
            "remote" => {
                let sorted = sorted(&REMOTE_READS);
                if operand(0) == Some("show") {
                    self.facts.network(
                        NetworkDirection::Get,
                        None,
                        "git remote show",
                        Some(call.index),
                    );
                }
                sorted.unknown.is_none() && matches!(operand(0), None | Some("get-url" | "show"))
            }
            "stash" => matches!(verb, Some("list" | "show")),
            "reflog" => !call.words.iter().any(|word| {
                word.literal()
                    .is_none_or(|text| matches!(text, "expire" | "delete" | "drop" | "write"))
            }),
            "worktree" => verb == Some("list"),
            "sparse-checkout" => verb == Some("list"),
            "notes" => is_bare || matches!(verb, Some("list" | "show" | "get-ref")),
            "bundle" => matches!(verb, Some("verify" | "list-heads")),
            "archive" | "hash-object" => known.unknown.is_none() && !known.does(Effect::Write),
            "format-patch" => known.has("stdout") && !known.does(Effect::Write),
            "clean" => known.unknown.is_none() && (known.has("n") || known.has("dry-run")),
            "merge-file" => self.prints_merge(call),
            "replace" => is_bare || matches!(verb, Some("-l" | "--list")),
            "rerere" => matches!(verb, Some("status" | "diff" | "remaining")),
            "symbolic-ref" => {
                operand(1).is_none()
                    && !call.words.iter().any(|word| {
                        word.start().starts_with("--d") || word.is("-d") || word.is("-m")
                    })
            }
            "submodule" if operand(0) == Some("foreach") => return self.git_text(call, "foreach"),
            "submodule" => matches!(operand(0), None | Some("status" | "summary")),
            "bisect" if operand(0) == Some("run") => return self.git_run(call, place),
            "bisect" => matches!(verb, Some("log" | "terms")),
            "rebase"
                if call.words.iter().any(|word| {
                    word.start().starts_with("-x") || word.start().starts_with("--ex")
                }) =>
            {
                return self.git_text(call, "-x");
            }
            _ => false,
        };
        if lists
            && call
                .words
                .iter()
                .any(|word| word.literal().is_none() && word.may_be_option())
        {
            self.facts
                .opaque(call.index, "a word of git that may be an option");
        }
        if !lists {
            self.git_writes(call);
        }
        Ok(())
    }

    /// Returns whether `git merge-file` prints its result.
    fn prints_merge(&mut self, call: &Call<'_>) -> bool {
        let sorted = options::sort(call.words, &MERGE_FILE);
        let prints = sorted.has("p") || sorted.has("stdout");
        for file in &sorted.operands {
            self.facts
                .read(file, call.directory.as_deref(), "git", false);
        }
        prints
            && sorted.unknown.is_none()
            && sorted.uncertain.is_empty()
            && sorted.effects.is_empty()
    }

    /// Returns whether `git config` only reads.
    fn git_config(&mut self, call: &Call<'_>) -> bool {
        let sorted = options::sort(call.words, &CONFIG_READS);
        let gets = ["get", "get-all", "get-regexp", "get-urlmatch", "list", "l"]
            .iter()
            .any(|name| sorted.has(name));
        let verb = sorted.operands.first().and_then(Arg::literal);
        let asks = matches!(verb, Some("list" | "get"))
            || sorted.operands.len() == 1 && !matches!(verb, Some("edit" | "unset" | "set"));
        // Options end at the key: git treats what follows it as a value.
        let key = call.words.iter().position(|word| !word.may_be_option());
        let valued = key.is_some_and(|at| call.words.iter().skip(at + 1).any(Arg::may_be_option));
        if sorted.unknown.is_none() && (gets || asks) && !valued {
            return true;
        }
        let key = sorted
            .operands
            .iter()
            .filter_map(Arg::literal)
            .find(|text| text.contains('.'))
            .unwrap_or_default();
        let key = key.to_ascii_lowercase();
        let is_remote_url = key.starts_with("remote.") && key.ends_with(".url");
        let is_plain = sorted.unknown.is_none()
            && (CONFIG_WRITABLE.iter().any(|start| key.starts_with(start)) || is_remote_url);
        let home = self.setting.home.clone();
        let file = if sorted.has("global") {
            home.map(|home| format!("{home}/.gitconfig"))
        } else if sorted.has("system") {
            Some("/etc/gitconfig".to_owned())
        } else if is_plain {
            None
        } else {
            call.directory
                .as_deref()
                .map(|directory| format!("{directory}/.git/config"))
        };
        if let Some(file) = file {
            self.facts.write(&Arg::Literal(file), None, "git config");
        }
        false
    }

    /// Records that a subcommand writes the repository, and the paths that it names.
    fn git_writes(&mut self, call: &Call<'_>) {
        let by = format!("git {}", call.subcommand);
        let repository = match &call.directory {
            Some(directory) => PathText::Whole(format!("{directory}/.git/objects")),
            None => PathText::Unknown,
        };
        self.facts.write_path(repository, &by, false);
        let directory = call.directory.as_deref();
        let operands: Vec<&Arg> = call
            .words
            .iter()
            .filter(|word| !word.may_be_option() && !word.is("--"))
            .collect();
        match call.subcommand {
            "clone" | "init" | "worktree" => self.git_makes(call, &by),
            "checkout"
                if call
                    .words
                    .iter()
                    .any(|word| matches!(word.literal(), Some("-b" | "-B" | "--orphan"))) => {}
            "apply" | "am" | "format-patch" => self.write_inside(directory, &by),
            "checkout" | "restore" | "checkout-index" => self.git_paths(call, &by),
            "rm" | "mv" => {
                let recursive = call.words.iter().any(Arg::is_recursive);
                for path in &operands {
                    self.facts
                        .remove(path, directory, &by, recursive || call.subcommand == "mv");
                }
                if let (Some(path), "mv") = (operands.last(), call.subcommand) {
                    self.facts.write(path, directory, &by);
                }
            }
            "clean" if operands.is_empty() => {
                let path = paths::inside(
                    call.directory
                        .clone()
                        .map_or(PathText::Unknown, PathText::Whole),
                );
                self.facts.remove_path(path, &by, false);
            }
            "clean" => {
                for path in operands {
                    self.facts.remove(path, directory, &by, true);
                }
            }
            "bundle" => {
                for path in operands
                    .iter()
                    .filter(|path| path.literal().is_some_and(|text| text.contains(['.', '/'])))
                {
                    self.facts.write(path, directory, &by);
                }
            }
            _ => {}
        }
    }

    pub(super) fn write_inside(&mut self, directory: Option<&str>, by: &str) {
        let path = directory.map_or(PathText::Unknown, |path| PathText::Whole(path.to_owned()));
        self.facts.write_path(paths::inside(path), by, false);
    }

    /// Reads the text that `submodule foreach` or `rebase -x` runs.
    fn git_text(&mut self, call: &Call<'_>, mark: &str) -> Step {
        self.git_writes(call);
        let refusal = || format!("the text that `git {}` runs is not known", call.subcommand);
        let mut texts = Vec::new();
        if mark == "foreach" {
            let words = call
                .words
                .iter()
                .skip_while(|word| !word.is("foreach"))
                .skip(1);
            let words: Option<Vec<&str>> = words
                .skip_while(|word| word.start().starts_with('-'))
                .map(Arg::literal)
                .collect();
            texts.push(words.ok_or_else(refusal)?.join(" "));
        } else {
            let mut words = call.words.iter();
            while let Some(word) = words.next() {
                let text = word.start();
                if text == "-x" || text == "--exec" {
                    texts.push(
                        words
                            .next()
                            .and_then(Arg::literal)
                            .ok_or_else(refusal)?
                            .to_owned(),
                    );
                } else if text.starts_with("-x") || text.starts_with("--ex") {
                    return Err(refusal());
                }
            }
        }
        self.subshell(|walker| {
            walker.state.enter(None);
            texts
                .iter()
                .try_for_each(|text| walker.read_again_as(text, crate::Dialect::Posix, Proof::NONE))
        })
    }

    fn git_run(&mut self, call: &Call<'_>, place: &CommandPosition) -> Step {
        self.git_writes(call);
        let words: Vec<Arg> = call
            .words
            .iter()
            .skip_while(|word| !word.is("run"))
            .skip(1)
            .cloned()
            .collect();
        let mut inner = place.clone();
        inner.via.push("git".to_owned());
        inner.proof = Proof::NONE;
        if words.is_empty() {
            self.reclass(call.index, CommandClass::VersionControl);
            return Ok(());
        }
        self.subshell(|walker| walker.run(words, &[], &inner))
    }
}

fn is_harmless_config(word: &Arg) -> bool {
    let text = word.start().to_ascii_lowercase();
    // A pager is among the colours: `color.pager` is a flag, but `log.*` and `color.*` run nothing.
    word.literal().is_some() && CONFIG_HARMLESS.iter().any(|start| text.starts_with(start))
}
