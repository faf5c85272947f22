//! A proxy with a certificate before a server.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, mpsc},
    thread,
};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    runtime::Builder,
};
use tokio_rustls::TlsAcceptor;

/// A proxy that ends with the process.
pub(super) struct TlsProxy {
    port: u16,
    /// The certificate of whoever has signed the proxy's.
    pub(super) authority: PathBuf,
}

impl TlsProxy {
    /// Starts a proxy before `server`, with its certificates in a folder.
    pub(super) fn before(server: SocketAddr, folder: &Path) -> Self {
        let authority = certificates(folder);
        let chain = CertificateDer::from_pem_file(folder.join("proxy.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(folder.join("proxy.key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![chain], key)
            .unwrap();
        let (told, port) = mpsc::channel();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                told.send(listener.local_addr().unwrap().port()).unwrap();
                let acceptor = TlsAcceptor::from(Arc::new(config));
                while let Ok((near, _)) = listener.accept().await {
                    let acceptor = acceptor.clone();
                    tokio::spawn(async move {
                        near.set_nodelay(true)?;
                        let mut near = acceptor.accept(near).await?;
                        let mut far = TcpStream::connect(server).await?;
                        far.set_nodelay(true)?;
                        copy_bidirectional(&mut near, &mut far).await
                    });
                }
            });
        });
        Self {
            port: port.recv().unwrap(),
            authority,
        }
    }

    pub(super) fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }
}

/// Makes the certificates of an authority and of the proxy; returns the file of the authority's.
fn certificates(folder: &Path) -> PathBuf {
    fs::write(
        folder.join("proxy.cnf"),
        "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n",
    )
    .unwrap();
    for words in [
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=trial \
         -addext basicConstraints=critical,CA:TRUE -keyout authority.key -out authority.pem",
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout proxy.key -out proxy.csr",
        "x509 -req -in proxy.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile proxy.cnf \
         -out proxy.pem",
    ] {
        let mut openssl = Command::new("openssl");
        let made = openssl
            .args(words.split_whitespace())
            .current_dir(folder)
            .output();
        let made = made.expect("`openssl` is installed");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
    }
    folder.join("authority.pem")
}
