//! Command lines that exist in the world, unchanged but for where files are, on a real etcd.

use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_RSA_SHA256};

use crate::support::etcd::{Etcd, Version};
use crate::support::{Authority, Client, Identity, Launch, Server, eventually};

/// The binary under the name that scripts call.
fn kube_apiserver(launch: Launch) -> Launch {
    let name = launch.path("kube-apiserver");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pintle"), &name).expect("a link");
    launch.program(name)
}

/// Checks a started server: health for anonymous clients, metrics for the administrator only, a clean shutdown.
async fn works(mut server: Server, authority: &str, admin: &Identity) {
    let client = Client::new(server.port, authority);
    eventually("health", async || client.try_get("/healthz").await.is_ok_and(|answer| answer.code == 200))
        .await;
    eventually("readiness", async || client.get("/readyz").await.code == 200).await;
    assert_eq!(client.get("/metrics").await.code, 403);
    assert_eq!(client.identity(admin).get("/metrics").await.code, 200);
    assert!(
        server.stdout().contains("Clients need a certificate of --client-ca-file"),
        "{}",
        server.stdout()
    );
    server.stop().await;
}

fn write_rsa_pair(dir: &Path) -> (PathBuf, PathBuf) {
    let pair = KeyPair::generate_for(&PKCS_RSA_SHA256).expect("a key");
    let (private, public) = (dir.join("sa.key"), dir.join("sa.pub"));
    std::fs::write(&private, pair.serialize_pem()).expect("write");
    std::fs::write(&public, pair.public_key_pem()).expect("write");
    (private, public)
}

/// An etcd that talks only to holders of its authority's certificates, and the flags to reach it.
fn private_etcd(dir: &Path) -> (Etcd, Vec<String>) {
    let authority = Authority::new("etcd-ca");
    let ca = authority.write(dir, "etcd-ca.crt");
    let (certificate, key) = authority.server(&["127.0.0.1", "localhost"]).write(dir, "etcd-server");
    let etcd = Etcd::start_with(
        Version::New,
        "https",
        &[
            format!("--cert-file={}", certificate.display()),
            format!("--key-file={}", key.display()),
            format!("--trusted-ca-file={}", ca.display()),
            "--client-cert-auth=true".into(),
        ],
    );
    let (certificate, key) = authority
        .client("kube-apiserver-etcd-client", &["system:masters"])
        .write(dir, "apiserver-etcd-client");
    let flags = vec![
        format!("--etcd-cafile={}", ca.display()),
        format!("--etcd-certfile={}", certificate.display()),
        format!("--etcd-keyfile={}", key.display()),
        format!("--etcd-servers={}", etcd.endpoint()),
    ];
    (etcd, flags)
}

/// The flags of kubeadm's static pod, with its files below `dir`.
fn kubeadm(dir: &Path, authority: &Authority) -> Vec<String> {
    let front = Authority::new("front-proxy-ca");
    front.write(dir, "front-proxy-ca.crt");
    front.client("front-proxy-client", &[]).write(dir, "front-proxy-client");
    authority.write(dir, "ca.crt");
    authority.client("kube-apiserver-kubelet-client", &[]).write(dir, "apiserver-kubelet-client");
    authority.server(&["127.0.0.1", "kubernetes.default.svc"]).write(dir, "apiserver");
    write_rsa_pair(dir);
    let dir = dir.display();
    vec![
        "--advertise-address=192.168.0.10".into(),
        "--allow-privileged=true".into(),
        "--authorization-mode=Node,RBAC".into(),
        format!("--client-ca-file={dir}/ca.crt"),
        "--enable-admission-plugins=NodeRestriction".into(),
        "--enable-bootstrap-token-auth=true".into(),
        format!("--kubelet-client-certificate={dir}/apiserver-kubelet-client.crt"),
        format!("--kubelet-client-key={dir}/apiserver-kubelet-client.key"),
        "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname".into(),
        format!("--proxy-client-cert-file={dir}/front-proxy-client.crt"),
        format!("--proxy-client-key-file={dir}/front-proxy-client.key"),
        "--requestheader-allowed-names=front-proxy-client".into(),
        format!("--requestheader-client-ca-file={dir}/front-proxy-ca.crt"),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
        format!("--service-account-key-file={dir}/sa.pub"),
        format!("--service-account-signing-key-file={dir}/sa.key"),
        "--service-cluster-ip-range=10.96.0.0/12".into(),
        format!("--tls-cert-file={dir}/apiserver.crt"),
        format!("--tls-private-key-file={dir}/apiserver.key"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn kubeadm_s_static_pod_and_kind_s_additions_start() {
    let authority = Authority::new("kubernetes");
    let admin = authority.client("kubernetes-admin", &["system:masters"]);
    for additions in [&[][..], &["--runtime-config=", "--feature-gates=WatchList=true"]] {
        let launch = kube_apiserver(Launch::bare());
        let (_etcd, etcd_flags) = private_etcd(launch.dir());
        let flags = kubeadm(launch.dir(), &authority);
        let server = launch.args(&flags).args(&etcd_flags).args(additions).start().await;
        works(server, &authority.pem, &admin).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn local_up_cluster_starts() {
    let launch = kube_apiserver(Launch::bare());
    let (serving, clients, headers) =
        (Authority::new("server-ca"), Authority::new("client-ca"), Authority::new("rh-ca"));
    let dir = launch.dir().to_owned();
    serving.server(&["127.0.0.1", "localhost"]).write(&dir, "serving-kube-apiserver");
    clients.write(&dir, "client-ca.crt");
    clients.client("kube-apiserver", &[]).write(&dir, "client-kube-apiserver");
    headers.write(&dir, "request-header-ca.crt");
    headers.client("system:auth-proxy", &[]).write(&dir, "client-auth-proxy");
    let (account_key, _) = write_rsa_pair(&dir);
    let egress = "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n\
                  - name: cluster\n  connection:\n    proxyProtocol: Direct\n";
    std::fs::write(dir.join("egress.yaml"), egress).expect("write");
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n";
    std::fs::write(dir.join("kube-audit-policy-file"), policy).expect("write");
    let etcd = Etcd::start(Version::New);
    let (endpoint, account_key, dir) = (etcd.endpoint(), account_key.display().to_string(), dir.display());
    let launch = launch.args(&[
        "--authorization-mode=Node,RBAC".into(),
        "--authorization-webhook-config-file=".into(),
        "--authentication-token-webhook-config-file=".into(),
        // Empty variables of the script.
        String::new(),
        String::new(),
        String::new(),
        "--v=3".into(),
        "--vmodule=".into(),
        format!("--audit-policy-file={dir}/kube-audit-policy-file"),
        format!("--audit-log-path={dir}/kube-apiserver-audit.log"),
        format!("--cert-dir={dir}"),
        format!("--egress-selector-config-file={dir}/egress.yaml"),
        format!("--client-ca-file={dir}/client-ca.crt"),
        format!("--kubelet-client-certificate={dir}/client-kube-apiserver.crt"),
        format!("--kubelet-certificate-authority={dir}/client-ca.crt"),
        format!("--kubelet-client-key={dir}/client-kube-apiserver.key"),
        "--kubelet-port=10250".into(),
        "--kubelet-read-only-port=0".into(),
        format!("--service-account-key-file={account_key}"),
        "--service-account-lookup=true".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        "--service-account-jwks-uri=https://kubernetes.default.svc/openid/v1/jwks".into(),
        format!("--service-account-signing-key-file={account_key}"),
        "--enable-admission-plugins=NamespaceLifecycle,ServiceAccount,NodeRestriction".into(),
        "--disable-admission-plugins=".into(),
        "--admission-control-config-file=".into(),
        "--bind-address=0.0.0.0".into(),
        format!("--tls-cert-file={dir}/serving-kube-apiserver.crt"),
        format!("--tls-private-key-file={dir}/serving-kube-apiserver.key"),
        "--storage-backend=etcd3".into(),
        "--storage-media-type=application/vnd.kubernetes.protobuf".into(),
        format!("--etcd-servers={endpoint}"),
        "--service-cluster-ip-range=10.0.0.0/24".into(),
        "--feature-gates=AllAlpha=false".into(),
        "--emulated-version=".into(),
        "--external-hostname=localhost".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        format!("--requestheader-client-ca-file={dir}/request-header-ca.crt"),
        "--requestheader-allowed-names=system:auth-proxy".into(),
        format!("--proxy-client-cert-file={dir}/client-auth-proxy.crt"),
        format!("--proxy-client-key-file={dir}/client-auth-proxy.key"),
        r"--cors-allowed-origins=//127.0.0.1(:[0-9]+)?$,//localhost(:[0-9]+)?$".into(),
    ]);
    works(launch.start().await, &serving.pem, &clients.client("system:admin", &["system:masters"])).await;
}

/// The flags of controller-runtime's envtest, with everything in its certificate directory.
fn envtest(dir: &Path, etcd: &Etcd, clients: &Authority) -> Vec<String> {
    clients.write(dir, "client-cert-auth-ca.crt");
    clients.server(&["sa-signer"]).write(dir, "sa-signer");
    let dir = dir.display();
    vec![
        "--allow-privileged=true".into(),
        "--authorization-mode=RBAC".into(),
        "--bind-address=127.0.0.1".into(),
        format!("--cert-dir={dir}"),
        format!("--client-ca-file={dir}/client-cert-auth-ca.crt"),
        "--disable-admission-plugins=ServiceAccount".into(),
        format!("--etcd-servers={}", etcd.endpoint()),
        "--service-account-issuer=https://127.0.0.1:35601/".into(),
        format!("--service-account-key-file={dir}/sa-signer.crt"),
        format!("--service-account-signing-key-file={dir}/sa-signer.key"),
        "--service-cluster-ip-range=10.0.0.0/24".into(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn envtest_s_own_certificate_is_served() {
    let (etcd, clients, serving) =
        (Etcd::start(Version::New), Authority::new("clients"), Authority::new("serving"));
    let launch = kube_apiserver(Launch::bare());
    let own = serving.server(&["127.0.0.1", "localhost"]);
    own.write(launch.dir(), "apiserver");
    let flags = envtest(launch.dir(), &etcd, &clients);
    let dir = launch.dir().to_owned();
    let launch = launch.args(&flags);
    works(launch.start().await, &serving.pem, &clients.client("default", &["system:masters"])).await;
    let now = Identity::read(&dir, "apiserver");
    assert!(now.certificate == own.certificate && now.key == own.key, "not touched");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_one_envtest_finds_a_certificate_in_its_directory() {
    let (etcd, clients) = (Etcd::start(Version::New), Authority::new("clients"));
    let launch = kube_apiserver(Launch::bare());
    let flags = envtest(launch.dir(), &etcd, &clients);
    let dir = launch.dir().to_owned();
    let server = launch.args(&flags).start().await;
    // Clients of the reference trust the served file itself.
    let served = Identity::read(&dir, "apiserver").certificate;
    works(server, &served, &clients.client("default", &["system:masters"])).await;
}

#[tokio::test]
async fn help_is_what_envtest_reads_its_version_s_flags_from() {
    let finished = kube_apiserver(Launch::bare()).args(&["--help"]).run_on(None).await;
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    for part in ["kube-apiserver", "--secure-port", "--service-account-issuer", "--etcd-servers"] {
        assert!(finished.stdout.contains(part), "{part}");
    }
}

#[tokio::test]
async fn help_and_version_are_commands_too() {
    let run = async |args: &[&str]| Launch::bare().args(args).run_on(None).await;
    for (words, flags, expect) in [
        (&["help"][..], &["--help"][..], "  pintle snapshot save FILE"),
        (&["version"], &["--version"], "Pintle 0.1.0 (Kubernetes v1.36.4)"),
        (&["help", "snapshot"], &["snapshot", "--help"], "pintle snapshot restore FILE [--data-dir DIR]"),
    ] {
        let (by_word, by_flag) = (run(words).await, run(flags).await);
        assert_eq!((by_word.code, by_word.stderr.as_str()), (Some(0), ""), "{words:?}");
        assert!(by_word.stdout.contains(expect), "{words:?}: {}", by_word.stdout);
        assert_eq!(by_word.stdout, by_flag.stdout, "{words:?}");
    }
    for words in [&["help", "nope"][..], &["version", "now"], &["nope"]] {
        let sentence = run(words).await.sentence();
        assert!(sentence.contains(words[words.len() - 1]), "{sentence}");
    }
    // The reference has no commands.
    let finished = kube_apiserver(Launch::bare()).args(&["version"]).run_on(None).await;
    assert_eq!(finished.sentence(), "\"kube-apiserver\" does not take any arguments, got [\"version\"]");
}

#[tokio::test]
async fn service_account_keys_come_in_every_form() {
    let launch = Launch::bare();
    let mut flags = vec!["--service-account-issuer=https://kubernetes.default.svc".to_owned()];
    flags.push(format!("--service-account-signing-key-file={}", launch.path("rsa.key").display()));
    for (name, algorithm) in
        [("rsa", &PKCS_RSA_SHA256), ("p256", &PKCS_ECDSA_P256_SHA256), ("p384", &PKCS_ECDSA_P384_SHA384)]
    {
        let pair = KeyPair::generate_for(algorithm).expect("a key");
        let certificate = CertificateParams::default().self_signed(&pair).expect("a certificate");
        let forms =
            [("key", pair.serialize_pem()), ("pub", pair.public_key_pem()), ("crt", certificate.pem())];
        for (end, text) in forms {
            let path = launch.path(&format!("{name}.{end}"));
            std::fs::write(&path, text).expect("write");
            flags.push(format!("--service-account-key-file={}", path.display()));
        }
    }
    let data = format!("--data-dir={}", launch.path("data").display());
    let pki = launch.path("data/pki");
    let mut server = launch.cert_dir_is(pki).args(&flags).args(&[data]).start().await;
    server.client().get("/healthz").await.is(200, "ok");
    server.stop().await;
}
