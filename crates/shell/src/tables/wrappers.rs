//! Commands that start the command in their arguments.

use crate::words::words;

/// What the exit code of a wrapper says about the inner command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passes {
    /// It is the exit code of the command.
    Exit,
    /// Only 0 has the same meaning.
    Success,
    /// Nothing.
    Nothing,
}

/// A wrapper.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wrapper {
    pub(crate) names: &'static [&'static str],
    /// Letters of options without a value.
    pub(crate) short: &'static str,
    /// Letters of options with a value.
    pub(crate) valued: &'static str,
    /// Long options: `name`, `name=` with a value, `name?` with an optional one.
    pub(crate) long: &'static [&'static str],
    /// Number of operands before the command.
    pub(crate) operands: usize,
    pub(crate) passes: Passes,
    /// Whether the wrapper itself is listed, as a change of privilege.
    pub(crate) is_privilege: bool,
    /// Whether the inner command may be a builtin of the shell.
    pub(crate) keeps_builtins: bool,
}

const WRAPPER: Wrapper = Wrapper {
    names: &[],
    short: "",
    valued: "",
    long: &[],
    operands: 0,
    passes: Passes::Exit,
    is_privilege: false,
    keeps_builtins: false,
};

/// Wrappers that this table describes completely.
pub(crate) const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["command"],
        short: "p",
        keeps_builtins: true,
        ..WRAPPER
    },
    Wrapper {
        names: &["builtin"],
        keeps_builtins: true,
        ..WRAPPER
    },
    Wrapper {
        names: &["exec"],
        short: "cl",
        ..WRAPPER
    },
    Wrapper {
        names: &["noglob", "nocorrect", "-"],
        keeps_builtins: true,
        ..WRAPPER
    },
    Wrapper {
        names: &["nohup"],
        ..WRAPPER
    },
    Wrapper {
        names: &["nice"],
        short: "0123456789",
        valued: "n",
        long: &["adjustment="],
        ..WRAPPER
    },
    Wrapper {
        names: &["ionice"],
        short: "t",
        valued: "cn",
        long: &["class=", "classdata=", "ignore"],
        ..WRAPPER
    },
    Wrapper {
        names: &["timeout"],
        short: "fpv",
        valued: "ks",
        long: words!("foreground kill-after= preserve-status signal= verbose"),
        operands: 1,
        passes: Passes::Success,
        ..WRAPPER
    },
    Wrapper {
        names: &["stdbuf"],
        valued: "ioe",
        long: &["input=", "output=", "error="],
        ..WRAPPER
    },
    Wrapper {
        names: &["setsid"],
        short: "cfw",
        long: &["ctty", "fork", "wait"],
        passes: Passes::Nothing,
        ..WRAPPER
    },
    Wrapper {
        names: &["chrt"],
        short: "abdfimoRrv",
        valued: "TPD",
        long: words!("batch deadline fifo idle other rr all-tasks"),
        operands: 1,
        ..WRAPPER
    },
    Wrapper {
        names: &["taskset"],
        short: "ac",
        long: &["all-tasks", "cpu-list"],
        operands: 1,
        ..WRAPPER
    },
    Wrapper {
        names: &["setarch"],
        short: "RBFILSTXZv3",
        long: &["addr-no-randomize", "32bit", "verbose"],
        operands: 1,
        ..WRAPPER
    },
    Wrapper {
        names: &["linux32", "linux64", "i386", "x86_64"],
        short: "RBFILSTXZv3",
        ..WRAPPER
    },
    Wrapper {
        names: &["choom"],
        valued: "n",
        long: &["adjust="],
        ..WRAPPER
    },
    Wrapper {
        names: &["prlimit"],
        valued: "cdefilmnqrstuvxy",
        long: &[
            "core?", "data?", "fsize?", "nofile?", "nproc?", "stack?", "cpu?", "as?", "rss?",
            "memlock?", "verbose",
        ],
        ..WRAPPER
    },
    Wrapper {
        names: &["numactl"],
        valued: "iNmpC",
        long: words!("interleave= cpunodebind= membind= physcpubind= localalloc preferred="),
        ..WRAPPER
    },
    Wrapper {
        names: &["caffeinate"],
        short: "dimsu",
        valued: "tw",
        ..WRAPPER
    },
    Wrapper {
        names: &["busybox", "toybox"],
        ..WRAPPER
    },
    // ---- privilege ----
    Wrapper {
        names: &["doas"],
        short: "nLs",
        valued: "uC",
        is_privilege: true,
        ..WRAPPER
    },
    Wrapper {
        names: &["pkexec"],
        valued: "",
        long: &["user=", "keep-cwd", "disable-internal-agent"],
        is_privilege: true,
        ..WRAPPER
    },
    Wrapper {
        names: &["setpriv"],
        long: words!(
            "no-new-privs nnp reuid= regid= clear-groups keep-groups init-groups groups= inh-caps=
             ambient-caps= bounding-set= securebits= pdeathsig= reset-env"
        ),
        is_privilege: true,
        ..WRAPPER
    },
    Wrapper {
        names: &["unshare"],
        short: "imnpuUCTrcf",
        valued: "SGRw",
        long: words!(
            "ipc? mount? net? pid? uts? user? cgroup? time? fork mount-proc? map-root-user
             map-current-user kill-child? propagation= wd= root= setuid= setgid="
        ),
        is_privilege: true,
        ..WRAPPER
    },
    Wrapper {
        names: &["nsenter"],
        short: "aFe",
        valued: "tSG",
        long: &[
            "all", "target=", "mount?", "uts?", "ipc?", "net?", "pid?", "user?", "cgroup?",
            "no-fork",
        ],
        is_privilege: true,
        ..WRAPPER
    },
    Wrapper {
        names: &["chroot"],
        long: &["userspec=", "groups=", "skip-chdir"],
        operands: 1,
        is_privilege: true,
        ..WRAPPER
    },
];
