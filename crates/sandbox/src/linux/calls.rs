//! The table of refused system calls, and the filter made from it.
//!
//! | refused | why | no-write | other |
//! |---|---|---|---|
//! | `chmod` `chown` `utime` `xattr` kin, `file_setattr`, `FS_IOC_SETFLAGS` and kin | change files that were never opened for writing | yes | |
//! | `ioctl` of btrfs | make and remove subvolumes, past the rules of the file system | yes | |
//! | `socket` of other families than the network of the line needs | data leaves | yes | |
//! | `socket` of Unix, where none is named; `socketpair` of datagrams | daemons act for others, terminals and sessions before all | yes | yes |
//! | `io_uring` | does all of the above without a system call that a filter sees | yes | where no socket is named or a port is closed |
//! | `socket` of MPTCP and SMC, sending with `MSG_FASTOPEN` | reach a port of TCP past the rules about ports | where a port is closed | where a port is closed |
//! | `ptrace`, `process_vm_*`, `pidfd_getfd`, `kcmp`, `perf_event_open` | other processes' memory, files and secrets | yes | |
//! | new namespaces, mounts, `setns`, `chroot`, `bpf`, `userfaultfd`, `keyctl` | undo what holds, or widen what can be attacked | yes | |
//! | shared memory, semaphores and queues of System V and POSIX | belong to no file and outlive the line | yes | |
//! | `prlimit`, priorities and affinity of other processes | a limit of no CPU time ends Interlock | yes | limits |
//! | `TIOCSTI`, `TIOCLINUX` | type into the terminal that is left behind | yes | yes |
//! | foreign calling conventions (32 bit, x32) | their numbers mean other calls | yes | x32; sockets of 32 bit |
//!
//! `clone3` is answered with "not there", since its flags lie in memory that a
//! filter cannot read; C libraries then use `clone`.

mod conventions;

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::plan::{Calls, Network};
use conventions::conventions;

type Refused = BTreeMap<i64, Vec<SeccompRule>>;
type Built<T> = Result<T, seccompiler::BackendError>;

/// Changes to files that do not need to be opened for writing.
const CHANGES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

// Newer calls have the same number on every architecture.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;
const MOUNT_SETATTR: i64 = 442;
const QUOTACTL_FD: i64 = 443;
const PROCESS_MADVISE: i64 = 440;

/// The same, where the architecture still has them.
#[cfg(target_arch = "x86_64")]
const OLD_CHANGES: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CHANGES: &[i64] = &[];

/// Creates sockets without a system call that a filter sees.
const IO_URING: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Calls that affect other processes, circumvent the rules, or outlive a line.
const REACHING: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    PROCESS_MADVISE,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    MOUNT_SETATTR,
    OPEN_TREE_ATTR,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    QUOTACTL_FD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls on a process, with the argument that names it; 0 is the caller itself.
const ON_A_PROCESS: &[(i64, u8)] = &[
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_migrate_pages, 0),
    (libc::SYS_move_pages, 0),
];

/// `ioctl` requests that type into a terminal.
const TYPES_INTO_TERMINAL: &[u32] = &[0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */];

/// `ioctl` requests for files that do not need to be opened for writing.
const CHANGES_BY_CONTROL: &[u32] = &[
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // the same for 32 bit
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4004_7602, // the same for 32 bit
    0x4008_6604, // EXT4_IOC_SETVERSION
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
    0xc050_6617, // FS_IOC_ADD_ENCRYPTION_KEY
];

/// The second byte of every `ioctl` request of btrfs.
const BTRFS: u64 = 0x9400;

/// Every flag that creates a namespace.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The sockets that a filter allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reachable {
    /// What the command may access over networks.
    pub(super) network: Network,
    /// Whether it may access daemons of this machine through Unix sockets.
    pub(super) unix: bool,
    /// Whether single TCP ports are closed.
    pub(super) closed: bool,
}

/// Protocols whose connections become TCP at the other side, and that no port rule covers.
const BESIDE_TCP: [u64; 2] = [262 /* IPPROTO_MPTCP */, 256 /* IPPROTO_SMC */];
/// A socket family that falls back to TCP.
const AF_SMC: u64 = 43;
/// Connects while sending, which no port rule covers: `MSG_FASTOPEN`.
const CONNECTS_BY_SENDING: u64 = 0x2000_0000;
/// Calls that send, with the argument that contains their flags.
const SENDS: [(i64, u8); 3] = [
    (libc::SYS_sendto, 3),
    (libc::SYS_sendmsg, 2),
    (libc::SYS_sendmmsg, 3),
];

/// Creates the filters of a plan, in the order of installation.
pub(super) fn filters(calls: Calls, reachable: Reachable) -> Result<Vec<BpfProgram>, String> {
    build(calls, reachable)
        .map_err(|error| format!("cannot make the filter of system calls: {error}"))
}

fn build(calls: Calls, reachable: Reachable) -> Built<Vec<BpfProgram>> {
    let mut refused = Refused::new();
    // Sockets of foreign conventions would bypass what follows.
    let sockets = reachable.unix && !reachable.closed;
    add_working(&mut refused)?;
    add_sockets(&mut refused, reachable)?;
    if reachable.closed && reachable.network != Network::Off {
        add_ways_around_ports(&mut refused)?;
    }
    if calls == Calls::Working {
        return Ok(vec![filter(refused, libc::EPERM, (calls, sockets))?]);
    }
    add_reading(&mut refused)?;
    let missing = Refused::from([(libc::SYS_clone3, Vec::new())]);
    Ok(vec![
        filter(refused, libc::EPERM, (calls, sockets))?,
        filter(missing, libc::ENOSYS, (calls, sockets))?,
    ])
}

/// Refuses what is refused to every confined command.
fn add_working(refused: &mut Refused) -> Built<()> {
    for control in TYPES_INTO_TERMINAL {
        let is = short(1, SeccompCmpOp::Eq, u64::from(*control))?;
        add(refused, libc::SYS_ioctl, vec![is])?;
    }
    // A limit of another process: reading is allowed, setting is not.
    let other = short(0, SeccompCmpOp::Ne, 0)?;
    let sets = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    add(refused, libc::SYS_prlimit64, vec![other, sets])
}

/// Refuses what is also refused to a command that only reads.
fn add_reading(refused: &mut Refused) -> Built<()> {
    for number in CHANGES.iter().chain(OLD_CHANGES).chain(REACHING) {
        refused.insert(*number, Vec::new());
    }
    for (number, argument) in ON_A_PROCESS {
        add(
            refused,
            *number,
            vec![short(*argument, SeccompCmpOp::Ne, 0)?],
        )?;
    }
    for control in CHANGES_BY_CONTROL {
        let is = short(1, SeccompCmpOp::Eq, u64::from(*control))?;
        add(refused, libc::SYS_ioctl, vec![is])?;
    }
    let btrfs = short(1, SeccompCmpOp::MaskedEq(0xff00), BTRFS)?;
    add(refused, libc::SYS_ioctl, vec![btrfs])?;
    for flag in NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        for number in [libc::SYS_clone, libc::SYS_unshare] {
            add(
                refused,
                number,
                vec![short(0, SeccompCmpOp::MaskedEq(flag), flag)?],
            )?;
        }
    }
    Ok(())
}

/// Allows the socket families that the command needs.
fn add_sockets(refused: &mut Refused, reachable: Reachable) -> Built<()> {
    let unix = reachable.unix.then_some(libc::AF_UNIX);
    let kept: &[i32] = match reachable.network {
        Network::On if reachable.unix => return Ok(()),
        Network::On => {
            let is = short(0, SeccompCmpOp::Eq, u64::from(libc::AF_UNIX.unsigned_abs()))?;
            add(refused, libc::SYS_socket, vec![is])?;
            for number in IO_URING {
                refused.insert(*number, Vec::new());
            }
            return add_datagram_pairs(refused);
        }
        Network::Fetch => &[libc::AF_NETLINK, libc::AF_INET, libc::AF_INET6],
        Network::Off => &[libc::AF_NETLINK],
    };
    let others = kept
        .iter()
        .chain(&unix)
        .map(|family| short(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())))
        .collect::<Built<Vec<_>>>()?;
    add(refused, libc::SYS_socket, others)?;
    add_datagram_pairs(refused)
}

/// Refuses connections that no port rule covers.
fn add_ways_around_ports(refused: &mut Refused) -> Built<()> {
    for protocol in BESIDE_TCP {
        let is = short(2, SeccompCmpOp::Eq, protocol)?;
        add(refused, libc::SYS_socket, vec![is])?;
    }
    let smc = short(0, SeccompCmpOp::Eq, AF_SMC)?;
    add(refused, libc::SYS_socket, vec![smc])?;
    for (number, argument) in SENDS {
        let flag = SeccompCmpOp::MaskedEq(CONNECTS_BY_SENDING);
        add(
            refused,
            number,
            vec![short(argument, flag, CONNECTS_BY_SENDING)?],
        )?;
    }
    // No filter sees the operations requested through it.
    for number in IO_URING {
        refused.insert(*number, Vec::new());
    }
    Ok(())
}

fn add_datagram_pairs(refused: &mut Refused) -> Built<()> {
    // A pair of datagram sockets can be connected to any daemon's socket; the kernel keeps a pair of streams or packets connected
    // to each other, and programs start others through one.
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        let is = short(
            1,
            SeccompCmpOp::MaskedEq(0xf),
            u64::from(kind.unsigned_abs()),
        )?;
        add(refused, libc::SYS_socketpair, vec![is])?;
    }
    Ok(())
}

/// Compares the low half of an argument: the kernel ignores the rest for these.
fn short(argument: u8, op: SeccompCmpOp, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
}

fn add(refused: &mut Refused, number: i64, conditions: Vec<SeccompCondition>) -> Built<()> {
    refused
        .entry(number)
        .or_default()
        .push(SeccompRule::new(conditions)?);
    Ok(())
}

fn filter(refused: Refused, errno: i32, (calls, unix): (Calls, bool)) -> Built<BpfProgram> {
    let filter = SeccompFilter::new(
        refused,
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        std::env::consts::ARCH.try_into()?,
    )?;
    let mut program = conventions(calls, unix);
    program.extend(BpfProgram::try_from(filter)?);
    Ok(program)
}
