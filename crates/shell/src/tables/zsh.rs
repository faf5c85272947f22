//! Builtins and variables that zsh has and bash lacks.

use crate::words::words;

/// Builtins that change what names mean, run text, or are refused for another reason.
pub(crate) const BUILTINS: &[&str] = words!(
    "autoload bindkey bye chdir compadd comparguments compcall compctl compdescribe compfiles
     compgroups compquote compset comptags comptry compvalues disable echotc echoti emulate float
     functions getln integer limit log print private pushln r rehash sched setopt ttyctl unfunction
     unhash unlimit unsetopt vared whence zcompile zformat zle zmodload zparseopts zregexparse
     zstyle"
);

/// Variables that the shell itself uses: what a name runs, where it is searched, how a line is parsed.
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
    // commands that run although none is written
    "NULLCMD",
    "READNULLCMD",
    "STTY",
    // which characters begin a comment, and which are dropped
    "HISTCHARS",
    "histchars",
    "KEYBOARD_HACK",
    // files that the shell writes, and the user it runs as
    "TMPPREFIX",
    "TMPSUFFIX",
    "USERNAME",
    "ZDOTDIR",
];

/// Prefixes of such names.
pub(crate) const NAME_PREFIXES: &[&str] = &["dis_", "zle_"];

/// Suffixes of such names: functions that the shell calls.
pub(crate) const NAME_SUFFIXES: &[&str] = &["_functions"];

/// Names that evaluate their value as arithmetic.
pub(crate) const INTEGERS: &[&str] = words!(
    "BAUD COLUMNS DIRSTACKSIZE EGID ERRNO EUID FUNCNEST GID HISTSIZE KEYTIMEOUT LINES LISTMAX
     LOGCHECK MAILCHECK PERIOD REPORTMEMORY REPORTTIME SAVEHIST SHLVL TMOUT TRY_BLOCK_ERROR
     TRY_BLOCK_INTERRUPT UID"
);

/// Variables that a comparison with `=~` sets.
pub(crate) const MATCHED: &[&str] = &["MATCH", "MBEGIN", "MEND", "match", "mbegin", "mend"];

/// Letters after `:` that modify a value, as in `$name:t`.
pub(crate) const MODIFIERS: &[u8] = b"aAcefFghlmnopPqQrstuwWxU&^*|#-";

/// Letters of `set` with the same meaning as in other shells.
pub(crate) const SET_LETTERS: &str = "euxvCo";
