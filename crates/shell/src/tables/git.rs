//! Subcommands and options of git.

pub(crate) mod options;

use crate::options::Spec;
use crate::words::words;
use options::{
    ARCHIVE, BLAME, CAT_FILE, CLEAN, FETCH, FORMAT_PATCH, FSCK, GREP, HASH_OBJECT, HISTORY,
    LS_REMOTE, MESSAGE, RANGE_DIFF, SHORTLOG, TAG,
};

/// Subcommands that only read, whatever their operands.
pub(crate) const READS: &[&str] = words!(
    "status log diff show blame annotate grep ls-files ls-tree rev-parse rev-list describe name-rev
     merge-base cat-file shortlog show-ref for-each-ref diff-tree diff-index diff-files cherry
     range-diff count-objects check-ignore check-attr help version whatchanged var show-branch
     check-ref-format check-mailmap patch-id stripspace column get-tar-commit-id verify-pack
     show-index fsck"
);

/// Subcommands that write the repository or the work tree.
pub(crate) const WRITES: &[&str] = words!(
    "add am apply archive bisect branch bundle checkout checkout-index cherry-pick clean commit
     commit-graph commit-tree config fast-import format-patch gc hash-object init maintenance merge
     merge-file mktag mktree mv notes pack-objects pack-refs prune prune-packed read-tree rebase
     reflog remote repack replace rerere reset restore revert rm sparse-checkout stash submodule
     switch symbolic-ref tag unpack-objects update-index update-ref update-server-info worktree
     write-tree multi-pack-index index-pack"
);

/// Subcommands that use the network and write.
pub(crate) const NETWORK: &[&str] = &["clone", "fetch", "pull", "push", "fetch-pack", "send-pack"];

/// Subcommands whose purpose is to run other programs.
pub(crate) const RUNS: &[&str] = words!(
    "difftool mergetool filter-branch web--browse instaweb gui citool send-email daemon shell svn p4
     cvsserver credential hook for-each-repo verify-commit verify-tag request-pull upload-pack
     receive-pack upload-archive lfs fsmonitor--daemon imap-send fast-export remote-http
     remote-https remote-ext sh-setup difftool--helper"
);

/// What is known of a subcommand's options.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Known {
    /// No option does more than read.
    Harmless,
    /// Only these options.
    Only(&'static Spec),
    /// These, and others that do no more than the subcommand itself.
    Among(&'static Spec),
}

/// The options of subcommands; any other is [`Known::Among`] those of [`ANYWHERE`].
pub(crate) const OPTIONS: &[(&[&str], Known)] = &[
    (
        words!(
            "status ls-files ls-tree rev-parse describe name-rev merge-base show-ref for-each-ref
             cherry count-objects check-ignore check-attr check-mailmap check-ref-format version var
             show-branch patch-id stripspace column get-tar-commit-id verify-pack show-index"
        ),
        Known::Harmless,
    ),
    (
        &[
            "log",
            "show",
            "diff",
            "whatchanged",
            "rev-list",
            "diff-tree",
            "diff-index",
            "diff-files",
            "reflog",
            "stash list",
            "stash show",
        ],
        Known::Only(&HISTORY),
    ),
    (&["range-diff"], Known::Only(&RANGE_DIFF)),
    (&["shortlog"], Known::Only(&SHORTLOG)),
    (&["blame", "annotate"], Known::Only(&BLAME)),
    (&["grep"], Known::Only(&GREP)),
    (&["cat-file"], Known::Only(&CAT_FILE)),
    (&["ls-remote"], Known::Only(&LS_REMOTE)),
    (&["fsck"], Known::Only(&FSCK)),
    (&["archive"], Known::Among(&ARCHIVE)),
    (&["format-patch"], Known::Among(&FORMAT_PATCH)),
    (&["hash-object"], Known::Among(&HASH_OBJECT)),
    (&["clean"], Known::Among(&CLEAN)),
    (
        &["commit", "notes", "stash", "merge"],
        Known::Among(&MESSAGE),
    ),
    (&["tag"], Known::Among(&TAG)),
    (&["clone", "init"], Known::Among(&FETCH)),
];

/// Options before the subcommand that do not change what runs.
pub(crate) const GLOBAL_PLAIN: &[&str] = words!(
    "--no-pager -P --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs
     --icase-pathspecs --no-replace-objects --no-lazy-fetch --no-advice"
);

/// Configuration keys that `-c` may set.
pub(crate) const CONFIG_HARMLESS: &[&str] =
    &["color.", "log.", "core.quotepath=", "diff.algorithm="];
