//! Starts that cannot succeed: one sentence, exit code 1, nothing damaged.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Authority, Launch, Server};

#[tokio::test]
async fn a_port_in_use_is_named() {
    let holder = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = holder.local_addr().expect("its address").port();
    let sentence = Launch::new().run_on(Some(port)).await.sentence();
    assert!(sentence.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{sentence}");
    assert!(sentence.contains("in use"), "{sentence}");
}

#[tokio::test]
async fn a_data_directory_in_use_is_named() {
    let launch = Launch::new();
    let server = launch.start().await;
    let sentence = launch.fails().await;
    assert!(sentence.contains("in use by another process"), "{sentence}");
    assert!(sentence.contains(&server.pid().to_string()), "{sentence}");
    server.admin().get("/readyz/etcd").await.is(200, "ok");
}

#[tokio::test]
async fn a_second_start_by_mistake_leaves_the_certificates_of_the_first() {
    let launch = Launch::new();
    let data = launch.path("data");
    let server = launch.args(&["--service-cluster-ip-range=10.96.0.0/12"]).start().await;
    let read = || {
        let files = std::fs::read_dir(server.pki()).expect("a directory").flatten();
        files
            .map(|file| (file.file_name(), std::fs::read(file.path()).ok()))
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let before = read();
    // Other flags would need other names in the certificate.
    Launch::new().data_dir(data).args(&["--service-cluster-ip-range=10.0.0.0/24"]).fails().await;
    assert!(read() == before, "the files of the running server changed");
    server.client().named("10.96.0.1").get("/healthz").await.is(200, "ok");
}

#[tokio::test]
async fn a_file_in_place_of_a_directory_is_named() {
    for flag in ["--data-dir", "--cert-dir"] {
        let launch = Launch::bare();
        let file = launch.path("file");
        std::fs::write(&file, "precious").expect("write");
        let data = format!("--data-dir={}", launch.path("data").display());
        let launch = launch.args(&[data, format!("{flag}={}", file.display())]);
        let sentence = launch.fails().await;
        assert!(sentence.contains(&file.display().to_string()), "{sentence}");
        assert_eq!(std::fs::read(&file).unwrap_or_default(), b"precious");
    }
}

#[tokio::test]
async fn a_directory_without_permission_is_named() {
    // Root may write anywhere except where the kernel forbids it.
    for dir in ["/proc/pintle", "/sys/pintle"] {
        let sentence = Launch::bare().args(&[format!("--data-dir={dir}")]).fails().await;
        assert!(sentence.contains(dir), "{sentence}");
    }
    let launch = Launch::bare();
    let locked = launch.path("locked");
    std::fs::create_dir(&locked).expect("a directory");
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o500)).expect("its mode");
    if std::fs::write(locked.join("probe"), "").is_err() {
        let sentence = launch.args(&[format!("--data-dir={}", locked.join("data").display())]).fails().await;
        assert!(sentence.contains("ermission denied"), "{sentence}");
    }
}

#[tokio::test]
async fn half_a_pair_to_be_served_is_named_and_kept() {
    let launch = Launch::new();
    let pki = launch.path("pki");
    std::fs::create_dir(&pki).expect("a directory");
    let (_, key) = Authority::new("a").server(&["a"]).write(&pki, "apiserver");
    let before = std::fs::read(&key).expect("the key");
    std::fs::remove_file(pki.join("apiserver.crt")).expect("removed");
    let launch = launch.cert_dir(pki);
    let sentence = launch.fails().await;
    assert!(sentence.contains("apiserver.key there is only one"), "{sentence}");
    assert_eq!(std::fs::read(&key).expect("the key"), before);
}

#[tokio::test]
async fn a_foreign_file_as_the_store_is_left_alone() {
    let launch = Launch::new();
    let mut server = launch.start().await;
    server.stop().await;
    let store = server.data_dir().join("store");
    let file = largest(&store);
    std::fs::write(&file, vec![b'x'; 100_000]).expect("write");
    let sentence = launch.fails().await;
    assert!(sentence.contains("it was left as it is"), "{sentence}");
    assert!(std::fs::read(&file).is_ok_and(|content| content.iter().all(|byte| *byte == b'x')));
}

fn largest(dir: &std::path::Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(dir).expect("a directory").flatten();
    let largest = files.max_by_key(|file| file.metadata().map_or(0, |metadata| metadata.len()));
    largest.expect("a file").path()
}

#[tokio::test]
async fn bad_values_and_combinations_name_their_flag() {
    for (args, expect) in [
        (&["--no-such-flag"][..], "unknown flag: --no-such-flag"),
        (&["--request-timeout=soon"], "--request-timeout"),
        (&["--secure-port=0"], "--secure-port 0 must be between 1 and 65535"),
        (&["--secure-port=70000"], "--secure-port 70000 must be between 1 and 65535"),
        (&["--bind-address=nowhere"], "--bind-address"),
        (&["--tls-min-version=VersionSSL3"], "--tls-min-version"),
        (&["--tls-cert-file=/x"], "--tls-private-key-file"),
        (&["--feature-gates=NoSuchGate=true"], "NoSuchGate"),
        (&["--cors-allowed-origins=("], "--cors-allowed-origins"),
        (&["--service-cluster-ip-range=10.0.0.0"], "--service-cluster-ip-range"),
        (&["--goaway-chance=2"], "--goaway-chance"),
        (&["--logging-format=xml"], "--logging-format"),
        (&["surplus"], "surplus"),
    ] {
        // The port of the flag under test is the last one given, so none is added.
        let finished = Launch::new().args(args).run_on(None).await;
        let sentence = finished.sentence();
        assert!(sentence.contains(expect), "{args:?}: {sentence}");
    }
}

#[tokio::test]
async fn missing_and_broken_files_are_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("write");
        path.display().to_string()
    };
    let garbage = write("garbage", "neither PEM nor CSV");
    let tokens = write("tokens", "only-a-token-d41d\n");
    let authority = Authority::new("a");
    let (certificate, _) = authority.server(&["a"]).write(dir.path(), "one");
    let (_, other_key) = authority.server(&["b"]).write(dir.path(), "two");
    let missing = dir.path().join("missing").display().to_string();
    let (_, signing) = authority.server(&["sa"]).write(dir.path(), "sa");
    let account_key = |file: &str| {
        vec![
            format!("--service-account-key-file={file}"),
            format!("--service-account-signing-key-file={}", signing.display()),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
        ]
    };
    let pair = |certificate: &str, key: &str| {
        vec![format!("--tls-cert-file={certificate}"), format!("--tls-private-key-file={key}")]
    };
    for (args, expect) in [
        (vec![format!("--client-ca-file={missing}")], vec!["--client-ca-file", &missing]),
        (vec![format!("--client-ca-file={garbage}")], vec!["--client-ca-file", "holds no PEM certificate"]),
        (vec![format!("--token-auth-file={missing}")], vec!["--token-auth-file", &missing]),
        (vec![format!("--token-auth-file={tokens}")], vec!["--token-auth-file", "line 1 has 1 columns"]),
        (account_key(&missing), vec!["--service-account-key-file", &missing]),
        (account_key(&garbage), vec!["--service-account-key-file", "any valid"]),
        (pair(&missing, &missing), vec![&missing]),
        (pair(&garbage, &garbage), vec!["holds no PEM certificate"]),
        (
            pair(&certificate.display().to_string(), &other_key.display().to_string()),
            vec!["does not fit the certificate"],
        ),
    ] {
        let launch = Launch::new().secret("only-a-token-d41d").args(&args);
        let sentence = launch.fails().await;
        for part in expect {
            assert!(sentence.contains(part), "{args:?}: {sentence}");
        }
    }
}

#[tokio::test]
async fn an_etcd_that_does_not_answer_is_waited_for_and_then_named() {
    let nobody = crate::support::free_port();
    let launch = Launch::bare();
    let pki = launch.path("pki");
    let launch = launch.cert_dir(pki).args(&[
        format!("--etcd-servers=http://127.0.0.1:{nobody}"),
        "--storage-initialization-timeout=1s".into(),
        "--bind-address=127.0.0.1".into(),
    ]);
    let sentence = launch.fails().await;
    assert!(sentence.contains(&format!("http://127.0.0.1:{nobody}")), "{sentence}");
    assert!(sentence.contains("--storage-initialization-timeout=1s"), "{sentence}");
}

#[tokio::test]
async fn a_signal_while_waiting_for_etcd_ends_it() {
    let nobody = crate::support::free_port();
    let launch = Launch::bare();
    let pki = launch.path("pki");
    let launch = launch
        .cert_dir(pki)
        .args(&[format!("--etcd-servers=http://127.0.0.1:{nobody}"), "--bind-address=127.0.0.1".into()]);
    let mut server: Server = launch.spawn(Some(crate::support::free_port()));
    crate::support::eventually("waiting", async || server.stderr().contains("does not answer yet")).await;
    server.signal(rustix::process::Signal::TERM);
    server.exited().await;
}
