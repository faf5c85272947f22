//! The plan as a profile for macOS's `sandbox-exec`.
//!
//! Untested on macOS. The text is compared with a golden file and used on macOS, but nothing is promised: the level stays
//! `environment`. In a profile, the last matching rule decides.

use std::fmt::Write;
use std::path::Path;

use crate::plan::{Calls, Confinement, Free, Network, Plan};

/// Devices that every command may write.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper"];

/// Writes the profile of `plan`; returns `None` if it confines nothing.
#[must_use]
pub fn profile(plan: &Plan, own: Option<&Path>) -> Option<String> {
    let confinement = plan.confinement.as_ref()?;
    let mut text = String::from("(version 1)\n(allow default)\n");
    // Writing to a string cannot fail.
    let _ = write_files(&mut text, plan, confinement, own);
    text.push_str(network(confinement.network));
    for path in &confinement.sockets {
        let _ = writeln!(
            text,
            "(allow network-outbound (remote unix-socket (subpath {})))",
            quoted(path)
        );
    }
    text.push_str("(deny signal (target others))\n(allow signal (target same-sandbox))\n");
    text.push_str("(deny process-info* (target others))\n");
    if confinement.calls == Calls::Reading {
        text.push_str("(deny ipc-posix-shm-write*)\n(deny ipc-sysv*)\n(deny mach-task-name)\n");
    }
    Some(text)
}

fn write_files(
    text: &mut String,
    plan: &Plan,
    confinement: &Confinement,
    own: Option<&Path>,
) -> std::fmt::Result {
    text.push_str("(deny file-write*)\n");
    for device in DEVICES {
        writeln!(
            text,
            "(allow file-write-data file-ioctl (literal {}))",
            quoted(Path::new(device))
        )?;
    }
    for path in confinement
        .writable
        .iter()
        .map(|place| place.path.as_path())
        .chain(own)
    {
        writeln!(text, "(allow file-write* (subpath {}))", quoted(path))?;
    }
    for one in &plan.post_check.protected {
        match &one.free {
            Free::Nothing => writeln!(text, "(deny file-write* (subpath {}))", quoted(&one.path))?,
            Free::Below(names) => {
                writeln!(text, "(deny file-write* (subpath {}))", quoted(&one.path))?;
                for name in names {
                    let path = one.path.join(name);
                    writeln!(text, "(allow file-write* (subpath {}))", quoted(&path))?;
                }
            }
            // Changes are found and undone afterwards.
            Free::GitKeys(_) | Free::AllBut(_) => {}
        }
    }
    for path in &confinement.hidden {
        writeln!(
            text,
            "(deny file-read* file-write* (subpath {}))",
            quoted(path)
        )?;
    }
    Ok(())
}

const fn network(network: Network) -> &'static str {
    match network {
        Network::On => {
            "(deny network-outbound (remote unix-socket))\n\
             (allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n"
        }
        Network::Fetch => {
            "(deny network-bind)\n(deny network-inbound)\n\
             (deny network-outbound (remote unix-socket))\n\
             (allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n"
        }
        Network::Off => "(deny network*)\n",
    }
}

/// Quotes a path as a string of the profile language.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
