//! Ports that are closed to a line with network access.

use std::net::TcpListener;

use interlock_sandbox::{Level, plan::Network};

use crate::run::trial::{Trial, users};

/// Tries a port in every way, and prints which attempts reached it.
const TRIES: &str = r#"
import socket, sys
port = int(sys.argv[1])
def plainly(kind, address):
    with socket.socket(kind, socket.SOCK_STREAM) as one:
        one.settimeout(5)
        one.connect((address, port))
def by_protocol(number):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, number) as one:
        one.settimeout(5)
        one.connect(('127.0.0.1', port))
def by_sending():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.settimeout(5)
        one.sendto(b'x', socket.MSG_FASTOPEN, ('127.0.0.1', port))
tries = {
    'tcp': lambda: plainly(socket.AF_INET, '127.0.0.1'),
    'mptcp': lambda: by_protocol(262),
    'smc': lambda: by_protocol(256),
    'fastopen': by_sending,
}
for name, attempt in tries.items():
    try:
        attempt()
        print(name)
    except OSError:
        pass
"#;

#[test]
fn a_closed_port_is_reached_in_no_way_and_others_are() {
    let [closed, open] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [closed_port, open_port] =
        [&closed, &open].map(|listener| listener.local_addr().unwrap().port());
    for user in users() {
        let trial = Trial::new(user);
        std::fs::write(trial.path("project/tries.py"), TRIES).unwrap();
        for network in [Network::On, Network::Fetch] {
            let reached = |port: u16| {
                let line = format!(
                    "python3 {} {port}",
                    trial.path("project/tries.py").display()
                );
                let mut plan = trial.writing(&line);
                let confinement = plan.confinement.as_mut().unwrap();
                confinement.network = network;
                confinement.closed_ports = vec![closed_port];
                trial.run(&plan, Level::Files).stdout
            };
            assert_eq!(reached(closed_port), "", "{network:?}");
            assert!(reached(open_port).starts_with("tcp\n"), "{network:?}");
        }
    }
}
