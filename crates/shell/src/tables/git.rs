//! Subcommands and options of git.

use crate::options::Effect::{Opaque, Read, Write};
use crate::options::{Act, Effect, Operands, SPEC, Spec};

/// Subcommands that only read, whatever their operands.
pub(crate) const READS: &[&str] = &[
    "status", "log", "diff", "show", "blame", "annotate", "grep", "ls-files", "ls-tree", "rev-parse", "rev-list", "describe",
    "name-rev", "merge-base", "cat-file", "shortlog", "show-ref", "for-each-ref", "diff-tree", "diff-index", "diff-files", "cherry",
    "range-diff", "count-objects", "check-ignore", "check-attr", "help", "version", "whatchanged", "var", "show-branch",
    "check-ref-format",
];

/// Subcommands that write the repository or the work tree.
pub(crate) const WRITES: &[&str] = &[
    "add", "am", "apply", "archive", "bisect", "branch", "bundle", "checkout", "checkout-index", "cherry-pick", "clean", "commit",
    "commit-graph", "commit-tree", "config", "fast-import", "format-patch", "gc", "hash-object", "init", "maintenance", "merge",
    "merge-file", "mktag", "mktree", "mv", "notes", "pack-objects", "pack-refs", "prune", "prune-packed", "read-tree", "rebase",
    "reflog", "remote", "repack", "replace", "rerere", "reset", "restore", "revert", "rm", "sparse-checkout", "stash", "stripspace",
    "submodule", "switch", "symbolic-ref", "tag", "unpack-objects", "update-index", "update-ref", "update-server-info", "worktree",
    "write-tree", "multi-pack-index", "index-pack", "fsck",
];

/// Subcommands that reach the network and write.
pub(crate) const NETWORK: &[&str] = &["clone", "fetch", "pull", "push", "fetch-pack", "send-pack"];

/// Subcommands that run other programs by their nature.
pub(crate) const RUNS: &[&str] = &[
    "difftool", "mergetool", "filter-branch", "web--browse", "instaweb", "gui", "citool", "send-email", "daemon", "shell", "svn", "p4",
    "cvsserver", "credential", "hook", "for-each-repo", "verify-commit", "verify-tag", "request-pull", "upload-pack", "receive-pack", "upload-archive", "lfs",
    "fsmonitor--daemon", "imap-send", "fast-export", "remote-http", "remote-https", "remote-ext", "sh-setup", "difftool--helper",
];

/// Options whose value is the next word, where that word may be unknown text.
pub(crate) const VALUED: &[(&str, &[&str])] = &[
    ("commit", &["-m", "--message", "-F", "--file", "-C", "-c", "--author", "--date", "--fixup", "--squash", "-t", "--template", "--trailer"]),
    ("tag", &["-m", "--message", "-F", "--file", "-u"]),
    ("notes", &["-m", "-F"]),
    ("stash", &["-m", "--message"]),
    ("merge", &["-m", "-F"]),
    ("log", &["-n", "-S", "-G", "-L", "--author", "--grep", "--since", "--until", "--after", "--before", "--format"]),
    ("shortlog", &["--since", "--until", "--author"]),
    ("rev-list", &["-n", "--since", "--until"]),
    ("show", &["-L", "-S", "-G"]),
    ("diff", &["-S", "-G", "-U"]),
    ("grep", &["-e", "-A", "-B", "-C", "-m"]),
    ("blame", &["-L", "--since"]),
];

/// Options before the subcommand that change nothing that runs.
pub(crate) const GLOBAL_PLAIN: &[&str] = &[
    "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs",
    "--no-replace-objects", "--bare", "--no-lazy-fetch", "--no-advice",
];

/// Configuration that `-c` may set.
pub(crate) const CONFIG_HARMLESS: &[&str] = &["color.", "log.", "core.quotepath=", "diff.algorithm="];

/// Options of `branch` that list; each must come with no other kind.
pub(crate) const BRANCH_LISTS: Spec = Spec {
    short: "aArvqi",
    long: &["list", "all", "remotes", "verbose", "show-current", "contains?", "no-contains?", "merged?", "no-merged?", "sort=",
        "points-at=", "format=", "color?", "no-color", "column?", "no-column", "abbrev=", "no-abbrev", "ignore-case", "omit-empty"],
    operands: Operands::Nothing,
    ..SPEC
};

/// Options of `tag` that list.
pub(crate) const TAG_LISTS: Spec = Spec {
    short: "li",
    attached: "n",
    long: &["list", "contains?", "no-contains?", "merged?", "no-merged?", "sort=", "points-at=", "format=", "color?", "column?",
        "no-column", "ignore-case", "omit-empty"],
    operands: Operands::Nothing,
    ..SPEC
};

/// Options of `config` that read.
pub(crate) const CONFIG_READS: Spec = Spec {
    short: "lz",
    long: &["get", "get-all", "get-regexp", "get-urlmatch", "list", "global", "system", "local", "worktree", "null", "name-only",
        "show-origin", "show-scope", "type=", "bool", "int", "bool-or-int", "path", "default=", "includes", "no-includes", "all", "regexp"],
    operands: Operands::Nothing,
    ..SPEC
};

/// Options of `remote` that read.
pub(crate) const REMOTE_READS: Spec = Spec { short: "vn", long: &["verbose", "all", "push"], operands: Operands::Nothing, ..SPEC };

const fn act(short: &'static str, long: &'static [&'static str], effect: Effect) -> Act {
    Act { short, long, effect }
}

/// Options of any reading subcommand that do more than read.
pub(crate) const ACTS: &[Act] = &[
    act("", &["output="], Write),
    act("", &["output-directory="], Write),
    act("", &["ext-diff", "upload-pack=", "exec=", "filters", "textconv", "open-files-in-pager?", "paginate", "tool=", "extcmd=",
        "receive-pack=", "show-signature", "template=", "config=", "config-env=", "open-files?"],
        Opaque("an option that runs another program")),
    act("", &["contents=", "ignore-revs-file=", "exclude-from=", "file=", "pathspec-from-file="], Read),
];

/// Long options of reading subcommands that begin like a dangerous one and are harmless.
pub(crate) const ALIKE: &[&str] = &[
    "output-indicator-new=", "output-indicator-old=", "output-indicator-context=", "exclude=", "exclude-standard",
    "exclude-per-directory=", "text", "find-renames?", "find-copies?", "format=", "first-parent", "follow", "full-diff", "function-context",
    "fixed-strings", "full-history", "full-tree", "full-name", "full-index", "oneline", "or", "only-matching", "others", "topo-order",
    "tags", "patch", "parents", "pretty?", "perl-regexp", "porcelain?", "points-at=", "cumulative", "count", "cached", "contains?",
    "color?", "context=", "cc", "combined-all-paths", "ext-grep", "extended-regexp", "exact-match", "exit-code", "error-unmatch", "eol",
    "files-with-matches", "files-without-match", "heading", "until=", "upstream?", "untracked?", "untracked-files?", "unified=",
    "use-mailmap", "pickaxe-regex", "pickaxe-all", "path-format=", "prefix=", "patch-with-stat", "patch-with-raw", "past-only",
    "long", "left-right", "left-only", "local-env-vars", "log-size", "line-porcelain", "line-prefix=",
];
