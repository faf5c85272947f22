//! What zsh has and bash has not: builtins and names of variables.

use crate::words::words;

/// Builtins that change what names mean, run text, or that are not read for another reason.
pub(crate) const BUILTINS: &[&str] = words!(
    "autoload bindkey bye chdir compadd comparguments compcall compctl compdescribe compfiles
     compgroups compquote compset comptags comptry compvalues disable echotc echoti emulate float
     functions getln integer limit log print private pushln r rehash sched setopt ttyctl unfunction
     unhash unlimit unsetopt vared whence zcompile zformat zle zmodload zparseopts zregexparse
     zstyle"
);

/// Names whose value the shell itself looks at: what a name runs, where it looks, how it reads a line.
pub(crate) const NAMES: &[&str] = &[
    // arrays tied to names of the environment
    "path",
    "fpath",
    "cdpath",
    "manpath",
    "module_path",
    "fignore",
    "mailpath",
    "psvar",
    "watch",
    "FPATH",
    "MODULE_PATH",
    // tables of the shell
    "aliases",
    "builtins",
    "commands",
    "dirstack",
    "functions",
    "functions_source",
    "galiases",
    "history",
    "historywords",
    "keymaps",
    "modules",
    "nameddirs",
    "options",
    "parameters",
    "patchars",
    "reswords",
    "saliases",
    "userdirs",
    "usergroups",
    "widgets",
    // the words of the line
    "argv",
    // commands that run where none is written
    "NULLCMD",
    "READNULLCMD",
    "STTY",
    // which characters begin a comment, and which are left out
    "HISTCHARS",
    "histchars",
    "KEYBOARD_HACK",
    // files that the shell writes, and whom it runs as
    "TMPPREFIX",
    "TMPSUFFIX",
    "USERNAME",
    "ZDOTDIR",
];

/// Beginnings of such names.
pub(crate) const NAME_PREFIXES: &[&str] = &["dis_", "zle_"];

/// Endings of such names: functions that the shell calls.
pub(crate) const NAME_SUFFIXES: &[&str] = &["_functions"];

/// Names that evaluate what they are given as arithmetic.
pub(crate) const INTEGERS: &[&str] = words!(
    "BAUD COLUMNS DIRSTACKSIZE EGID ERRNO EUID FUNCNEST GID HISTSIZE KEYTIMEOUT LINES LISTMAX
     LOGCHECK MAILCHECK PERIOD REPORTMEMORY REPORTTIME SAVEHIST SHLVL TMOUT TRY_BLOCK_ERROR
     TRY_BLOCK_INTERRUPT UID"
);

/// Names that a comparison with `=~` gives a value.
pub(crate) const MATCHED: &[&str] = &["MATCH", "MBEGIN", "MEND", "match", "mbegin", "mend"];

/// Letters behind `:` that change a value, as in `$name:t`.
pub(crate) const MODIFIERS: &[u8] = b"aAcefFghlmnopPqQrstuwWxU&^*|#-";

/// Letters of `set` that mean the same as in other shells.
pub(crate) const SET_LETTERS: &str = "euxvCo";
