//! Foreign calling conventions, whose numbers mean other calls.

use seccompiler::{BpfProgram, sock_filter};

use super::TYPES_INTO_TERMINAL;
use crate::plan::Calls;

// The kernel's names of calling conventions.
#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;
/// Numbers from here on are x32's, which has the same architecture value as x86-64.
const X32: u32 = 0x4000_0000;
/// `ioctl` in the 32-bit conventions of both architectures.
const IOCTL_OF_32_BIT: u32 = 54;

/// `socketcall`, `socket` and `io_uring_setup` in the 32-bit conventions.
#[cfg(target_arch = "x86_64")]
const SOCKETS_OF_32_BIT: &[u32] = &[102, 359, 425];
#[cfg(target_arch = "aarch64")]
const SOCKETS_OF_32_BIT: &[u32] = &[102, 281, 425];

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
const AT_NUMBER: u32 = 0;
const AT_CONVENTION: u32 = 4;
const AT_SECOND_ARGUMENT: u32 = 24;

/// Returns the beginning of every filter: the handling of foreign calling conventions.
pub(super) fn conventions(calls: Calls, unix: bool) -> BpfProgram {
    let step = |code, k, jt, jf| sock_filter { code, jt, jf, k };
    let refuse = step(RETURN, ERRNO | libc::EPERM.unsigned_abs(), 0, 0);
    let allow = step(RETURN, ALLOW, 0, 0);
    let foreign = match calls {
        Calls::Reading => vec![refuse.clone()],
        Calls::Working => {
            let mut steps = vec![step(LOAD, AT_NUMBER, 0, 0)];
            for number in SOCKETS_OF_32_BIT.iter().filter(|_| !unix) {
                steps.push(step(IF_EQUAL, *number, 0, 1));
                steps.push(refuse.clone());
            }
            steps.extend([
                step(IF_EQUAL, IOCTL_OF_32_BIT, 1, 0),
                allow.clone(),
                step(LOAD, AT_SECOND_ARGUMENT, 0, 0),
            ]);
            for control in TYPES_INTO_TERMINAL {
                steps.push(step(IF_EQUAL, *control, 0, 1));
                steps.push(refuse.clone());
            }
            steps.push(allow);
            steps
        }
    };
    let past = u8::try_from(foreign.len()).unwrap_or(u8::MAX);
    let mut program = vec![
        step(LOAD, AT_CONVENTION, 0, 0),
        step(IF_EQUAL, NATIVE, past, 0),
    ];
    program.extend(foreign);
    if cfg!(target_arch = "x86_64") {
        program.extend([
            step(LOAD, AT_NUMBER, 0, 0),
            step(IF_AT_LEAST, X32, 0, 1),
            step(RETURN, ERRNO | libc::ENOSYS.unsigned_abs(), 0, 0),
        ]);
    }
    program
}

#[cfg(test)]
mod tests {
    use super::super::{Reachable, filters};
    use super::*;
    use crate::plan::Network;

    /// A convention that is not native to any supported machine: 32-bit x86.
    const OF_32_BIT: u32 = 0x4000_0003;
    /// `getppid` in that convention.
    const GETPPID: u32 = 64;

    /// Evaluates a filter for a call in that convention.
    fn answer(program: &BpfProgram, number: u32) -> Option<u32> {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = program.get(at)?;
            at += 1;
            let holds = match step.code {
                LOAD if step.k == AT_CONVENTION => {
                    loaded = OF_32_BIT;
                    continue;
                }
                LOAD if step.k == AT_NUMBER => {
                    loaded = number;
                    continue;
                }
                RETURN => return Some(step.k),
                IF_EQUAL => loaded == step.k,
                IF_AT_LEAST => loaded >= step.k,
                _ => return None,
            };
            at += usize::from(if holds { step.jt } else { step.jf });
        }
    }

    #[test]
    fn sockets_of_32_bit_are_let_through_only_where_every_socket_is() {
        let refused = ERRNO | libc::EPERM.unsigned_abs();
        for (unix, closed, wanted) in [
            (true, false, ALLOW),
            (true, true, refused),
            (false, false, refused),
            (false, true, refused),
        ] {
            let reachable = Reachable {
                network: Network::On,
                unix,
                closed,
            };
            let made = filters(Calls::Working, reachable).unwrap_or_default();
            assert_eq!(made.len(), 1);
            for program in &made {
                for number in SOCKETS_OF_32_BIT {
                    let found = answer(program, *number);
                    assert_eq!(found, Some(wanted), "{unix} {closed} {number}");
                }
                assert_eq!(answer(program, GETPPID), Some(ALLOW), "{unix} {closed}");
            }
        }
    }
}
