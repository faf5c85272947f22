//! Options of git's subcommands, family by family.
//!
//! Git compares names in `exact` literally; the others may be abbreviated, and letters without a value may be combined.

use crate::options::Effect::{Opaque, Read, Write};
use crate::options::{Act, Effect, Operands, SPEC, Spec};
use crate::words::words;

const fn act(short: &'static str, long: &'static [&'static str], effect: Effect) -> Act {
    Act {
        short,
        long,
        effect,
    }
}

const RUNS: Effect = Opaque("an option that runs another program");

const BASE: Spec = Spec {
    operands: Operands::Nothing,
    negates: true,
    ..SPEC
};

/// Options that are dangerous in every subcommand that knows them.
pub(crate) const ANYWHERE: Spec = Spec {
    acts: &[
        act("", &["output=", "output-directory="], Write),
        act(
            "",
            words!(
                "ext-diff textconv filters upload-pack= receive-pack= exec= open-files-in-pager?"
            ),
            RUNS,
        ),
        act("", &["pathspec-from-file="], Read),
    ],
    ..BASE
};

/// Options of every subcommand that creates a patch.
const DIFF: Spec = Spec {
    short: "puWzwbaRsD",
    valued: "SGOlI",
    attached: "UXBMC",
    long: words!(
        "patch no-patch unified? function-context raw patch-with-raw patch-with-stat numstat
         shortstat dirstat? cumulative dirstat-by-file? check summary name-only name-status stat?
         stat-width= stat-name-width= stat-graph-width= stat-count= compact-summary binary
         full-index color? ws-error-highlight= abbrev? src-prefix= dst-prefix= line-prefix=
         no-prefix default-prefix inter-hunk-context= output-indicator-new= output-indicator-old=
         output-indicator-context= break-rewrites? find-renames? irreversible-delete find-copies?
         find-copies-harder no-renames rename-empty follow minimal ignore-all-space
         ignore-space-change ignore-space-at-eol ignore-cr-at-eol ignore-blank-lines
         ignore-matching-lines= indent-heuristic patience histogram diff-algorithm= anchored=
         word-diff? word-diff-regex= color-words? color-moved? color-moved-ws= relative? text
         exit-code quiet ignore-submodules? submodule? ita-invisible-in-index ita-visible-in-index
         pickaxe-all pickaxe-regex rotate-to= skip-to= find-object= diff-filter="
    ),
    acts: &[act("O", &[], Read), act("", &["output="], Write)],
    ..BASE
};

/// Options of every subcommand that walks the history.
const REVISION: Spec = Spec {
    exact: &[
        "-#",
        "-n=",
        "-n#",
        "-c",
        "-m",
        "-t",
        "-r",
        "-i",
        "-E",
        "-F",
        "-P",
        "-g",
        "-q",
        "-v",
        "--max-count=",
        "--skip=",
        "--since=",
        "--since-as-filter=",
        "--after=",
        "--until=",
        "--before=",
        "--max-age=",
        "--min-age=",
        "--author=",
        "--committer=",
        "--grep=",
        "--grep-reflog=",
        "--encoding=",
        "--date=",
        "--glob=",
        "--exclude=",
        "--exclude-hidden=",
        "--decorate-refs=",
        "--decorate-refs-exclude=",
        "--diff-merges=",
        "--format?",
        "--pretty?",
        "--branches?",
        "--tags?",
        "--remotes?",
        "--min-parents?",
        "--max-parents?",
        "--notes?",
        "--show-notes?",
        "--show-linear-break?",
        "--ancestry-path?",
        "--no-walk?",
        "--expand-tabs?",
        "--decorate?",
        "--disk-usage?",
        "--filter?",
        "--missing?",
        "--progress?",
        "--all",
        "--not",
        "--reflog",
        "--stdin",
        "--alternate-refs",
        "--single-worktree",
        "--bisect",
        "--bisect-vars",
        "--bisect-all",
        "--ignore-missing",
        "--first-parent",
        "--exclude-first-parent-only",
        "--merges",
        "--no-merges",
        "--no-min-parents",
        "--no-max-parents",
        "--walk-reflogs",
        "--merge",
        "--merge-base",
        "--boundary",
        "--left-right",
        "--left-only",
        "--right-only",
        "--cherry",
        "--cherry-pick",
        "--cherry-mark",
        "--reverse",
        "--graph",
        "--topo-order",
        "--date-order",
        "--author-date-order",
        "--in-commit-order",
        "--unsorted",
        "--simplify-by-decoration",
        "--simplify-merges",
        "--full-history",
        "--dense",
        "--sparse",
        "--show-pulls",
        "--remove-empty",
        "--parents",
        "--children",
        "--oneline",
        "--abbrev-commit",
        "--relative-date",
        "--log-size",
        "--source",
        "--use-mailmap",
        "--mailmap",
        "--clear-decorations",
        "--standard-notes",
        "--no-standard-notes",
        "--do-walk",
        "--count",
        "--objects",
        "--objects-edge",
        "--object-names",
        "--no-object-names",
        "--timestamp",
        "--header",
        "--commit-header",
        "--no-commit-header",
        "--use-bitmap-index",
        "--unpacked",
        "--full-diff",
        "--cc",
        "--dd",
        "--combined-all-paths",
        "--root",
        "--no-commit-id",
        "--always",
        "--regexp-ignore-case",
        "--basic-regexp",
        "--extended-regexp",
        "--fixed-strings",
        "--perl-regexp",
        "--all-match",
        "--invert-grep",
        // of `git diff`
        "--cached",
        "--staged",
        "--no-index",
        "--base",
        "--ours",
        "--theirs",
    ],
    acts: &[act("", &["show-signature"], RUNS)],
    ..BASE
};

/// `log`, `show`, `diff` and the like.
pub(crate) const HISTORY: Spec = Spec {
    exact: &["-L=", "-L*"],
    shares: &[&REVISION, &DIFF, &ANYWHERE],
    ..BASE
};

pub(crate) const RANGE_DIFF: Spec = Spec {
    long: words!("creation-factor= dual-color no-dual-color left-only right-only"),
    shares: &[&REVISION, &DIFF, &ANYWHERE],
    ..BASE
};

pub(crate) const SHORTLOG: Spec = Spec {
    short: "cnse",
    attached: "w",
    exact: &["-n", "-c"],
    long: &["committer", "numbered", "summary", "email", "group="],
    shares: &[&REVISION, &DIFF, &ANYWHERE],
    ..BASE
};

pub(crate) const BLAME: Spec = Spec {
    short: "bfnpcstlewk",
    valued: "LS",
    attached: "CM",
    exact: &["-n", "-c", "-t"],
    long: words!(
        "incremental root show-stats progress score-debug show-name show-number porcelain
         line-porcelain show-email ignore-rev= color-lines color-by-age minimal abbrev?"
    ),
    acts: &[act("S", &["contents=", "ignore-revs-file="], Read)],
    shares: &[&REVISION, &DIFF, &ANYWHERE],
    ..BASE
};

pub(crate) const GREP: Spec = Spec {
    short: "viwaIrEGFPnhHlLzocpWq0123456789",
    valued: "ABCefm",
    attached: "O",
    long: words!(
        "cached no-index index untracked exclude-standard recurse-submodules invert-match
         ignore-case word-regexp text recursive max-depth= extended-regexp basic-regexp
         fixed-strings perl-regexp line-number column full-name files-with-matches name-only
         files-without-match null only-matching count color? break heading context= before-context=
         after-context= threads= show-function function-context and or not quiet all-match ext-grep
         max-count="
    ),
    acts: &[
        act("O", &["open-files-in-pager?", "textconv"], RUNS),
        act("f", &[], Read),
    ],
    ..BASE
};

pub(crate) const CAT_FILE: Spec = Spec {
    short: "eptsZz",
    long: words!(
        "allow-unknown-type use-mailmap mailmap batch? batch-check? batch-command? batch-all-objects
         buffer follow-symlinks unordered path="
    ),
    acts: &[act("", &["textconv", "filters"], RUNS)],
    ..BASE
};

pub(crate) const LS_REMOTE: Spec = Spec {
    short: "qtbh",
    valued: "o",
    long: words!("quiet tags branches heads refs get-url sort= exit-code symref server-option="),
    acts: &[act("", &["upload-pack=", "exec="], RUNS)],
    ..BASE
};

pub(crate) const FSCK: Spec = Spec {
    short: "v",
    long: words!(
        "verbose unreachable dangling tags root cache reflogs full connectivity-only strict progress
         name-objects"
    ),
    acts: &[act("", &["lost-found"], Write)],
    ..BASE
};

/// `archive`, which prints without a file.
pub(crate) const ARCHIVE: Spec = Spec {
    short: "lv0123456789",
    valued: "o",
    long: words!("list format= prefix= verbose worktree-attributes mtime="),
    acts: &[
        act("o", &["output="], Write),
        act("", &["remote=", "exec="], RUNS),
        act("", &["add-file=", "add-virtual-file="], Read),
    ],
    ..BASE
};

/// `format-patch`, which prints with `--stdout`.
pub(crate) const FORMAT_PATCH: Spec = Spec {
    short: "kqnNsv",
    valued: "o",
    exact: &["-n", "-k", "-q", "-s"],
    long: words!("stdout numbered signoff cover-letter zero-commit"),
    acts: &[act("o", &["output-directory="], Write)],
    shares: &[&REVISION, &DIFF, &ANYWHERE],
    ..BASE
};

pub(crate) const HASH_OBJECT: Spec = Spec {
    valued: "t",
    long: &["stdin", "stdin-paths", "no-filters", "literally", "path="],
    acts: &[act("w", &[], Write)],
    ..BASE
};

/// `clean`, which with `-n` only reports what it would do.
pub(crate) const CLEAN: Spec = Spec {
    short: "dnqxX",
    valued: "e",
    long: &["dry-run", "quiet", "exclude="],
    ..BASE
};

/// Options for a message, whose text may be unknown.
pub(crate) const MESSAGE: Spec = Spec {
    short: "apqvsneoizl",
    valued: "mFCct",
    attached: "uS",
    long: words!(
        "message= author= date= fixup= squash= reuse-message= reedit-message= trailer= cleanup="
    ),
    acts: &[act("Ft", &["file=", "template="], Read)],
    shares: &[&ANYWHERE],
    ..BASE
};

/// `tag`, whose `-u` names a key and whose `-n` may take a number.
pub(crate) const TAG: Spec = Spec {
    short: "asfdvel",
    valued: "mFu",
    attached: "n",
    long: &["message=", "local-user=", "cleanup=", "trailer="],
    acts: &[act("F", &["file="], Read)],
    shares: &[&ANYWHERE],
    ..BASE
};

/// Options of subcommands that fetch or create a repository.
pub(crate) const FETCH: Spec = Spec {
    acts: &[
        act("", &["template=", "config="], RUNS),
        act("uc", &[], RUNS),
    ],
    shares: &[&ANYWHERE],
    ..BASE
};

/// Options of `branch` that list; each must not be combined with any other kind.
pub(crate) const BRANCH_LISTS: Spec = Spec {
    short: "aArvqil",
    long: words!(
        "list all remotes verbose show-current contains? no-contains? merged? no-merged? sort=
         points-at= format= color? no-color column? no-column abbrev? no-abbrev ignore-case
         omit-empty"
    ),
    operands: Operands::Nothing,
    ..SPEC
};

/// Options of `tag` that list.
pub(crate) const TAG_LISTS: Spec = Spec {
    short: "li",
    attached: "n",
    long: words!(
        "list contains? no-contains? merged? no-merged? sort= points-at= format= color? column?
         no-column ignore-case omit-empty"
    ),
    operands: Operands::Nothing,
    ..SPEC
};

/// Options of `config` that read.
pub(crate) const CONFIG_READS: Spec = Spec {
    short: "lz",
    long: words!(
        "get get-all get-regexp get-urlmatch get-color get-colorbool list global system local
         worktree null name-only show-origin show-scope show-names type= bool int bool-or-int
         bool-or-str path expiry-date default= includes no-includes all regexp fixed-value value="
    ),
    operands: Operands::Nothing,
    ..SPEC
};

/// Options of `remote` that read.
pub(crate) const REMOTE_READS: Spec = Spec {
    short: "vn",
    long: &["verbose", "all", "push"],
    operands: Operands::Nothing,
    ..SPEC
};
