//! The signatures, compared with those of OpenSSL.

use std::fs;

use interlock_attest::{Envelope, public_keys};
use interlock_testkit::room::expect_success;
use serde_json::Value;

use super::scene::{REQUIRED, Scene, out};

impl Scene {
    fn openssl(&self, words: &[&str]) -> std::process::Output {
        self.room.command("openssl").args(words).output().unwrap()
    }

    /// Creates a key with OpenSSL; returns the files of both parts.
    fn key_of_openssl(&self) -> (String, String) {
        let path = |name: &str| self.room.path(name).to_str().unwrap().to_owned();
        let (key, public) = (path("other.key"), path("other.pub"));
        let made = self.openssl(&["genpkey", "-algorithm", "ed25519", "-out", &key]);
        expect_success("genpkey", &made).unwrap();
        let made = self.openssl(&["pkey", "-in", &key, "-pubout", "-out", &public]);
        expect_success("pkey", &made).unwrap();
        (key, public)
    }
}

#[test]
fn openssl_finds_the_signature_good_and_a_changed_one_bad() {
    let scene = Scene::worked();
    scene.attest(&[]);
    let envelope = Envelope::read(&fs::read(&scene.file).unwrap()).unwrap();
    let statement: Value = serde_json::from_slice(&envelope.payload).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(
        statement["subject"][0]["digest"]["gitCommit"],
        scene.commit()
    );
    let public = scene.public.to_str().unwrap();
    let (signed, signature) = (scene.room.path("signed"), scene.room.path("signature"));
    // Following the specification of DSSE, without our code.
    let payload = &envelope.payload;
    let head = format!("DSSEv1 28 application/vnd.in-toto+json {} ", payload.len());
    fs::write(&signature, &envelope.signatures[0].bytes).unwrap();
    let verify = |payload: &[u8]| {
        fs::write(&signed, [head.as_bytes(), payload].concat()).unwrap();
        let words = [
            "pkeyutl", "-verify", "-pubin", "-rawin", "-inkey", public, "-in",
        ];
        let more = [
            signed.to_str().unwrap(),
            "-sigfile",
            signature.to_str().unwrap(),
        ];
        scene.openssl(&[&words[..], &more].concat())
    };
    let found = verify(payload);
    assert!(found.status.success(), "{found:?}");
    let mut changed = payload.clone();
    changed[20] ^= 1;
    assert!(!verify(&changed).status.success());
}

#[test]
fn a_key_of_openssl_signs() {
    let scene = Scene::worked();
    let (key, public) = scene.key_of_openssl();
    scene.attest(&["--key", &key]);
    scene.verified(&["--key", &public, "--require", REQUIRED]);
    scene.refused(&["--base", "main"], "unknown_key");
}

#[test]
fn a_program_of_the_person_signs_and_a_bundle_is_written() {
    let scene = Scene::worked();
    let (key, public) = scene.key_of_openssl();
    let body = format!(
        "cat > \"$HOME/pae\"\nopenssl pkeyutl -sign -rawin -inkey {key} -in \"$HOME/pae\" | $1"
    );
    let signer = scene.room.script("signer", &body).unwrap();
    let configure = |public: &str, form: &str| {
        let text = format!(
            "[attest]\nsigner = [{:?}, {form:?}]\npublic_key = {public:?}\n",
            signer
        );
        let folder = scene.room.config().join("interlock");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    };
    for form in ["base64", "cat"] {
        configure(&public, form);
        scene.attest(&[]);
        let bundle: Value = serde_json::from_slice(&fs::read(&scene.file).unwrap()).unwrap();
        assert_eq!(
            bundle["mediaType"],
            "application/vnd.dev.sigstore.bundle.v0.3+json"
        );
        let text = fs::read_to_string(&public).unwrap();
        let id = public_keys(&text).unwrap()[0].id();
        assert_eq!(bundle["verificationMaterial"]["publicKey"]["hint"], id);
        scene.verified(&["--key", &public, "--require", REQUIRED]);
    }
    scene.attest(&["--format", "dsse"]);
    let envelope: Value = serde_json::from_slice(&fs::read(&scene.file).unwrap()).unwrap();
    assert!(envelope["payload"].is_string(), "{envelope}");
    fs::remove_file(&scene.file).unwrap();
    // The program checks a signature before it writes it.
    configure(scene.public.to_str().unwrap(), "cat");
    assert!(
        scene
            .not_attested(&[])
            .contains("is not one of `[attest] public_key`")
    );
    configure(&public, "head -c 10");
    let why = scene.not_attested(&[]);
    assert!(why.contains("no ed25519 signature"), "{why}");
    configure(&public, "false");
    assert!(scene.not_attested(&[]).contains("did not sign"));
    // A key given on the command line takes precedence.
    let own = scene.room.state().join("interlock/attest.key");
    scene.attest(&["--key", own.to_str().unwrap()]);
    scene.verified(&["--base", "main"]);
}

#[test]
fn a_project_cannot_name_the_program_that_signs() {
    let scene = Scene::worked();
    scene
        .room
        .write(
            ".interlock/config.toml",
            "[attest]\nsigner = [\"./sign\"]\n",
        )
        .unwrap();
    let status = scene.person(&["start", "flow"]);
    let said = format!("{}{}", out(&status), super::scene::err(&status));
    assert!(
        said.contains("`attest.signer`, which only a person's own"),
        "{said}"
    );
}
