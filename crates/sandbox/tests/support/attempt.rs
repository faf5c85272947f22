//! Attempts one action by system call, as a confined command might.
//!
//! `attempt NAME WORDS` exits with 0 on success, otherwise with 1 and the reason.
#![expect(
    unsafe_code,
    clippy::print_stderr,
    reason = "a program for tests; bare system calls are what it is for"
)]

use std::ffi::{CString, c_void};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::process::ExitCode;

type Answer = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, words)) = words.split_first() else {
        return ExitCode::from(2);
    };
    match attempt(name, words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn attempt(name: &str, words: &[String]) -> Answer {
    files(name, words)
        .or_else(|| changes(name, words))
        .or_else(|| sockets(name, words))
        .or_else(|| processes(name, words))
        .or_else(|| kernel(name, words))
        .unwrap_or_else(|| Err("no such attempt".into()))
}

fn text(word: &str) -> CString {
    CString::new(word).unwrap_or_default()
}

/// Makes a raw system call.
fn call(number: i64, arguments: [usize; 6]) -> io::Result<i64> {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the callers pass numbers, or pointers to values that outlive the call.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(answer)
    }
}

fn done(answer: io::Result<i64>) -> Option<Answer> {
    Some(answer.map(drop).map_err(Into::into))
}

fn ok(answer: io::Result<()>) -> Option<Answer> {
    Some(answer.map_err(Into::into))
}

/// New files and changed contents.
fn files(name: &str, words: &[String]) -> Option<Answer> {
    let path = words.first().map_or("", String::as_str);
    let other = words.get(1).map_or("", String::as_str);
    match name {
        "write" => ok(fs::write(path, "x")),
        "open" => ok(OpenOptions::new().write(true).open(path).map(drop)),
        "append" => ok(OpenOptions::new()
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(b"x"))),
        "truncate" => done(call(
            libc::SYS_truncate,
            [text(path).as_ptr() as usize, 0, 0, 0, 0, 0],
        )),
        "open-truncate" => {
            let flags = (libc::O_RDONLY | libc::O_TRUNC) as usize;
            let path = text(path);
            let at = libc::AT_FDCWD as usize;
            done(call(
                libc::SYS_openat,
                [at, path.as_ptr() as usize, flags, 0, 0, 0],
            ))
        }
        "link" => ok(fs::hard_link(path, other)),
        "symlink" => ok(std::os::unix::fs::symlink(path, other)),
        "rename" => ok(fs::rename(path, other)),
        "exchange" => {
            let (from, to) = (text(path), text(other));
            let at = libc::AT_FDCWD as usize;
            let exchange = libc::RENAME_EXCHANGE as usize;
            done(call(
                libc::SYS_renameat2,
                [
                    at,
                    from.as_ptr() as usize,
                    at,
                    to.as_ptr() as usize,
                    exchange,
                    0,
                ],
            ))
        }
        "unlink" => ok(fs::remove_file(path)),
        "mkdir" => ok(fs::create_dir(path)),
        "rmdir" => ok(fs::remove_dir(path)),
        "fifo" => {
            Some(nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).map_err(Into::into))
        }
        "device" => {
            let kind = nix::sys::stat::SFlag::S_IFCHR;
            let mode = nix::sys::stat::Mode::S_IRWXU;
            Some(nix::sys::stat::mknod(path, kind, mode, libc::makedev(1, 3)).map_err(Into::into))
        }
        "tmpfile" => Some(tmpfile(path, other)),
        "map" => Some(map(path)),
        "reopen" => Some(reopen(path)),
        "read" => ok(fs::read(path).map(drop)),
        "memfd" => ok(
            nix::sys::memfd::memfd_create("x", nix::sys::memfd::MFdFlags::empty())
                .map_err(Into::into)
                .and_then(|file| File::from(file).write_all(b"x")),
        ),
        _ => None,
    }
}

fn tmpfile(directory: &str, name: &str) -> Answer {
    let mut file = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .mode(0o600)
        .open(directory)?;
    file.write_all(b"x")?;
    fs::hard_link(format!("/proc/self/fd/{}", file.as_raw_fd()), name)
        .or_else(|_| link_opened(&file, name))?;
    Ok(())
}

fn link_opened(file: &File, name: &str) -> io::Result<()> {
    let from = text(&format!("/proc/self/fd/{}", file.as_raw_fd()));
    let to = text(name);
    let at = libc::AT_FDCWD as usize;
    let follow = libc::AT_SYMLINK_FOLLOW as usize;
    let arguments = [
        at,
        from.as_ptr() as usize,
        at,
        to.as_ptr() as usize,
        follow,
        0,
    ];
    call(libc::SYS_linkat, arguments).map(drop)
}

fn map(path: &str) -> Answer {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    // SAFETY: a fresh mapping of a file that this program has just opened.
    let place = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            1,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if place == libc::MAP_FAILED {
        return Err(io::Error::last_os_error().into());
    }
    // SAFETY: the mapping is one byte long and writable.
    unsafe { *place.cast::<u8>() = b'm' };
    Ok(())
}

fn reopen(path: &str) -> Answer {
    let file = File::open(path)?;
    let again = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new()
        .write(true)
        .open(again)?
        .write_all(b"x")?;
    Ok(())
}

/// Changes that need no file open for writing.
fn changes(name: &str, words: &[String]) -> Option<Answer> {
    let path = text(words.first().map_or("", String::as_str));
    let at = libc::AT_FDCWD as usize;
    let pointer = path.as_ptr() as usize;
    let opened = File::open(path.to_str().unwrap_or_default());
    let file = opened.as_ref().map_or(-1, AsRawFd::as_raw_fd) as usize;
    let key = text("user.interlock");
    let key = key.as_ptr() as usize;
    let value = b"x".as_ptr() as usize;
    let answer = match name {
        #[cfg(target_arch = "x86_64")]
        "chmod" => call(libc::SYS_chmod, [pointer, 0o700, 0, 0, 0, 0]),
        "fchmod" => call(libc::SYS_fchmod, [file, 0o700, 0, 0, 0, 0]),
        "fchmodat" => call(libc::SYS_fchmodat, [at, pointer, 0o700, 0, 0, 0]),
        "fchmodat2" => call(452, [at, pointer, 0o700, 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        "chown" => call(libc::SYS_chown, [pointer, usize::MAX, usize::MAX, 0, 0, 0]),
        "fchown" => call(libc::SYS_fchown, [file, usize::MAX, usize::MAX, 0, 0, 0]),
        "fchownat" => call(
            libc::SYS_fchownat,
            [at, pointer, usize::MAX, usize::MAX, 0, 0],
        ),
        #[cfg(target_arch = "x86_64")]
        "utime" => call(libc::SYS_utime, [pointer, 0, 0, 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        "utimes" => call(libc::SYS_utimes, [pointer, 0, 0, 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        "futimesat" => call(libc::SYS_futimesat, [at, pointer, 0, 0, 0, 0]),
        "utimensat" => call(libc::SYS_utimensat, [at, pointer, 0, 0, 0, 0]),
        "futimens" => call(libc::SYS_utimensat, [file, 0, 0, 0, 0, 0]),
        "setxattr" => call(libc::SYS_setxattr, [pointer, key, value, 1, 0, 0]),
        "fsetxattr" => call(libc::SYS_fsetxattr, [file, key, value, 1, 0, 0]),
        "lsetxattr" => call(libc::SYS_lsetxattr, [pointer, key, value, 1, 0, 0]),
        "set-flags" => {
            let flags: libc::c_long = 0;
            let pointer = std::ptr::from_ref(&flags) as usize;
            call(libc::SYS_ioctl, [file, 0x4008_6602, pointer, 0, 0, 0])
        }
        _ => return None,
    };
    done(answer)
}

/// Networks and daemons.
fn sockets(name: &str, words: &[String]) -> Option<Answer> {
    let word = words.first().map_or("", String::as_str);
    match name {
        "unix" => ok(UnixStream::connect(word).map(drop)),
        "unix-bind" => ok(UnixListener::bind(word).map(drop)),
        "unix-datagram" => ok(UnixDatagram::unbound().map(drop)),
        // The kernel makes a pair of datagrams of it.
        "pair-raw" => {
            let mut pair = [0_i32; 2];
            let place = pair.as_mut_ptr() as usize;
            let words = [
                libc::AF_UNIX as usize,
                libc::SOCK_RAW as usize,
                0,
                place,
                0,
                0,
            ];
            done(call(libc::SYS_socketpair, words))
        }
        "pair-datagram" => ok(UnixDatagram::pair().map(drop)),
        "pair" => ok(UnixStream::pair().map(drop)),
        "abstract" => ok(SocketAddr::from_abstract_name(word)
            .and_then(|address| UnixStream::connect_addr(&address))
            .map(drop)),
        "tcp" => ok(TcpStream::connect(format!("127.0.0.1:{word}")).map(drop)),
        "tcp-listen" => ok(TcpListener::bind("127.0.0.1:0").map(drop)),
        "udp" => ok(UdpSocket::bind("127.0.0.1:0")
            .and_then(|socket| socket.send_to(b"x", "127.0.0.1:9"))
            .map(drop)),
        "netlink" => done(call(
            libc::SYS_socket,
            [
                libc::AF_NETLINK as usize,
                libc::SOCK_RAW as usize,
                0,
                0,
                0,
                0,
            ],
        )),
        _ => None,
    }
}

/// Other processes.
fn processes(name: &str, words: &[String]) -> Option<Answer> {
    let process: usize = words
        .first()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0);
    let word = words.first().map_or("", String::as_str);
    match name {
        "environment-of" => ok(fs::read(format!("/proc/{word}/environ")).map(drop)),
        "memory-of" => ok(File::open(format!("/proc/{word}/mem")).map(drop)),
        "own-memory" => ok(OpenOptions::new()
            .write(true)
            .open("/proc/self/mem")
            .map(drop)),
        "trace" => done(call(libc::SYS_ptrace, [0x4206, process, 0, 0, 0, 0])),
        "signal" => done(call(libc::SYS_kill, [process, 0, 0, 0, 0, 0])),
        "limit" => {
            let limit = [libc::RLIM_INFINITY; 2];
            let mut old = [0; 2];
            let core = libc::RLIMIT_CORE as usize;
            let ask = [process, core, 0, old.as_mut_ptr() as usize, 0, 0];
            let set = |to: [u64; 2]| {
                let to = to.as_ptr() as usize;
                call(libc::SYS_prlimit64, [process, core, to, 0, 0, 0])
            };
            let _ = limit;
            done(call(libc::SYS_prlimit64, ask).and_then(|_| set(old)))
        }
        "priority" => done(call(libc::SYS_setpriority, [0, process, 19, 0, 0, 0])),
        "pidfd-getfd" => {
            let opened = call(libc::SYS_pidfd_open, [process, 0, 0, 0, 0, 0]);
            done(opened.and_then(|fd| call(libc::SYS_pidfd_getfd, [fd as usize, 0, 0, 0, 0, 0])))
        }
        "read-memory" => {
            let mut byte = 0_u8;
            let own = libc::iovec {
                iov_base: std::ptr::from_mut(&mut byte).cast::<c_void>(),
                iov_len: 1,
            };
            let own = std::ptr::from_ref(&own) as usize;
            // Not mapped there, so the result is "bad address" where tracing is permitted.
            let other = libc::iovec {
                iov_base: std::ptr::null_mut(),
                iov_len: 1,
            };
            let other = std::ptr::from_ref(&other) as usize;
            let answer = call(libc::SYS_process_vm_readv, [process, own, 1, other, 1, 0]);
            done(match answer {
                Err(error) if error.raw_os_error() == Some(libc::EFAULT) => Ok(0),
                answer => answer,
            })
        }
        _ => None,
    }
}

/// Attempts to circumvent the rules.
fn kernel(name: &str, words: &[String]) -> Option<Answer> {
    let zero = [0_usize; 6];
    let flag = |flag: libc::c_int| [flag as usize, 0, 0, 0, 0, 0];
    match name {
        "io-uring" => {
            let mut parameters = [0_u8; 120];
            done(call(
                libc::SYS_io_uring_setup,
                [1, parameters.as_mut_ptr() as usize, 0, 0, 0, 0],
            ))
        }
        "user-namespace" => done(call(libc::SYS_unshare, flag(libc::CLONE_NEWUSER))),
        "user-namespace-clone3" => Some(clone3()),
        "keys" => {
            let (kind, name) = (text("user"), text("interlock"));
            let value = b"x".as_ptr() as usize;
            let process_keyring = -2_isize as usize;
            let words = [
                kind.as_ptr() as usize,
                name.as_ptr() as usize,
                value,
                1,
                process_keyring,
                0,
            ];
            done(call(libc::SYS_add_key, words))
        }
        "shared-memory" => done(call(libc::SYS_shmget, [0, 4096, 0o1600, 0, 0, 0]).and_then(
            |id| {
                call(
                    libc::SYS_shmctl,
                    [id as usize, libc::IPC_RMID as usize, 0, 0, 0, 0],
                )
            },
        )),
        "mount" => {
            let (kind, place) = (text("tmpfs"), text(words.first()?));
            let (kind, place) = (kind.as_ptr() as usize, place.as_ptr() as usize);
            done(call(libc::SYS_mount, [kind, place, kind, 0, 0, 0]))
        }
        #[cfg(target_arch = "x86_64")]
        "x32" => done(call(0x4000_0000 + libc::SYS_getppid, zero)),
        #[cfg(target_arch = "x86_64")]
        "int80" => Some(int80()),
        "type" => {
            let letter = b'x';
            let pointer = std::ptr::from_ref(&letter) as usize;
            done(call(libc::SYS_ioctl, [0, 0x5412, pointer, 0, 0, 0]))
        }
        "open-descriptors" => Some(only_standard()),
        "privilege" => Some(privilege()),
        _ => {
            let _ = zero;
            None
        }
    }
}

fn clone3() -> Answer {
    #[repr(C)]
    struct Arguments([u64; 11]);
    let mut arguments = Arguments([0; 11]);
    arguments.0[0] = libc::CLONE_NEWUSER as u64;
    arguments.0[4] = libc::SIGCHLD as u64;
    let pointer = std::ptr::from_ref(&arguments) as usize;
    let child = call(
        libc::SYS_clone3,
        [pointer, size_of::<Arguments>(), 0, 0, 0, 0],
    )?;
    if child == 0 {
        std::process::exit(0);
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn int80() -> Answer {
    let answer: i64;
    // SAFETY: `getppid` of the 32 bit convention takes no memory.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") 64_i64 => answer, options(nostack));
    }
    // The result has 32 bits; refusals are small negative numbers.
    match answer as i32 {
        1.. => Ok(()),
        number => Err(io::Error::from_raw_os_error(-number).into()),
    }
}

/// Succeeds if a descriptor besides the standard ones is open.
fn only_standard() -> Answer {
    for number in 3..1024 {
        // SAFETY: querying flags changes nothing.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0 {
            // SAFETY: it has just been found open; it is closed once, at the end.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
            return Ok(());
        }
    }
    Err("no other descriptor is open".into())
}

/// Succeeds if a capability besides those for files is held or can be gained.
fn privilege() -> Answer {
    let status = fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1))
            .unwrap_or("0")
            .to_owned()
    };
    let bits = |name: &str| u64::from_str_radix(&field(name), 16).unwrap_or(u64::MAX);
    const FILES: u64 = 1 | 1 << 1 | 1 << 3 | 1 << 4;
    if field("NoNewPrivs:") != "1" || (bits("CapPrm:") | bits("CapEff:")) & !FILES != 0 {
        return Ok(());
    }
    Err("only owner and mode of files".into())
}
