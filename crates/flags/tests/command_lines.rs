//! Command lines that exist in the world start the server unchanged.

use std::ffi::OsString;
use std::net::IpAddr;

use pintle_features::Feature;
use pintle_flags::{CommandLine, Parsed, command_line};

fn run(args: &[&str]) -> Parsed {
    match command_line("kube-apiserver", args.iter().map(OsString::from), 80) {
        Ok(CommandLine::Run(parsed)) => *parsed,
        Ok(CommandLine::Print(text)) => panic!("printed {text}"),
        Err(error) => panic!("{error}"),
    }
}

const KUBEADM: [&str; 26] = [
    "--advertise-address=192.168.0.10",
    "--allow-privileged=true",
    "--authorization-mode=Node,RBAC",
    "--client-ca-file=/etc/kubernetes/pki/ca.crt",
    "--enable-admission-plugins=NodeRestriction",
    "--enable-bootstrap-token-auth=true",
    "--etcd-cafile=/etc/kubernetes/pki/etcd/ca.crt",
    "--etcd-certfile=/etc/kubernetes/pki/apiserver-etcd-client.crt",
    "--etcd-keyfile=/etc/kubernetes/pki/apiserver-etcd-client.key",
    "--etcd-servers=https://127.0.0.1:2379",
    "--kubelet-client-certificate=/etc/kubernetes/pki/apiserver-kubelet-client.crt",
    "--kubelet-client-key=/etc/kubernetes/pki/apiserver-kubelet-client.key",
    "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
    "--proxy-client-cert-file=/etc/kubernetes/pki/front-proxy-client.crt",
    "--proxy-client-key-file=/etc/kubernetes/pki/front-proxy-client.key",
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-client-ca-file=/etc/kubernetes/pki/front-proxy-ca.crt",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-username-headers=X-Remote-User",
    "--secure-port=6443",
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    "--service-account-key-file=/etc/kubernetes/pki/sa.pub",
    "--service-account-signing-key-file=/etc/kubernetes/pki/sa.key",
    "--service-cluster-ip-range=10.96.0.0/12",
    "--tls-cert-file=/etc/kubernetes/pki/apiserver.crt",
];

#[test]
fn kubeadms_static_pod() {
    let args = [&KUBEADM[..], &["--tls-private-key-file=/etc/kubernetes/pki/apiserver.key"]].concat();
    let flags = run(&args);
    assert_eq!(flags.strings("etcd-servers"), ["https://127.0.0.1:2379"]);
    assert_eq!(flags.strings("authorization-mode"), ["Node", "RBAC"]);
    assert_eq!(flags.ip("advertise-address"), "192.168.0.10".parse().ok());
    assert!(!flags.warnings().iter().any(|text| text.contains("tls-cert-file")));
    assert!(!flags.warnings().iter().any(|text| text.contains("authorization-mode")));
}

#[test]
fn kind_adds_to_kubeadms() {
    let kind = [
        "--tls-private-key-file=/etc/kubernetes/pki/apiserver.key",
        "--runtime-config=",
        "--advertise-address=fc00:f853:ccd:e793::2",
        "--etcd-servers=https://[::1]:2379",
        "--service-cluster-ip-range=fd00:10:96::/112",
        "--feature-gates=WatchList=true,AllAlpha=false",
    ];
    // The later of two addresses and ranges counts; servers add up.
    let args: Vec<&str> = KUBEADM.iter().copied().filter(|arg| !arg.starts_with("--etcd-servers")).collect();
    let flags = run(&[&args[..], &kind].concat());
    assert!(flags.pairs("runtime-config").is_empty());
    assert!(flags.features().enabled(Feature::WatchList));
    assert_eq!(flags.strings("etcd-servers"), ["https://[::1]:2379"]);
}

#[test]
fn local_up_cluster() {
    let flags = run(&[
        "--authorization-mode=Node,RBAC",
        "--authorization-webhook-config-file=",
        "--authentication-token-webhook-config-file=",
        "",
        "",
        "",
        "--v=3",
        "--vmodule=",
        "--audit-policy-file=/tmp/local-up/kube-audit-policy-file",
        "--audit-log-path=/tmp/kube-apiserver-audit.log",
        "--cert-dir=/var/run/kubernetes",
        "--egress-selector-config-file=/tmp/local-up/kube_egress_selector_configuration.yaml",
        "--client-ca-file=/var/run/kubernetes/client-ca.crt",
        "--kubelet-client-certificate=/var/run/kubernetes/client-kube-apiserver.crt",
        "--kubelet-certificate-authority=/var/run/kubernetes/client-ca.crt",
        "--kubelet-client-key=/var/run/kubernetes/client-kube-apiserver.key",
        "--kubelet-port=10250",
        "--kubelet-read-only-port=0",
        "--service-account-key-file=/tmp/local-up/kube-serviceaccount.key",
        "--service-account-lookup=true",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-jwks-uri=https://kubernetes.default.svc/openid/v1/jwks",
        "--service-account-signing-key-file=/tmp/local-up/kube-serviceaccount.key",
        "--enable-admission-plugins=NamespaceLifecycle,LimitRanger,ServiceAccount,DefaultStorageClass,\
         DefaultTolerationSeconds,Priority,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ResourceQuota,\
         NodeRestriction",
        "--disable-admission-plugins=",
        "--admission-control-config-file=",
        "--bind-address=0.0.0.0",
        "--secure-port=6443",
        "--tls-cert-file=/var/run/kubernetes/serving-kube-apiserver.crt",
        "--tls-private-key-file=/var/run/kubernetes/serving-kube-apiserver.key",
        "--storage-backend=etcd3",
        "--storage-media-type=application/vnd.kubernetes.protobuf",
        "--etcd-servers=http://127.0.0.1:2379",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--feature-gates=AllAlpha=false",
        "--emulated-version=",
        "--external-hostname=localhost",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-client-ca-file=/var/run/kubernetes/request-header-ca.crt",
        "--requestheader-allowed-names=system:auth-proxy",
        "--proxy-client-cert-file=/var/run/kubernetes/client-auth-proxy.crt",
        "--proxy-client-key-file=/var/run/kubernetes/client-auth-proxy.key",
        "--cors-allowed-origins=//127.0.0.1(:[0-9]+)?$,//localhost(:[0-9]+)?$",
    ]);
    assert_eq!(flags.level("v"), 3);
    assert_eq!(flags.strings("cors-allowed-origins").len(), 2);
    assert_eq!(flags.strings("enable-admission-plugins").len(), 10);
    assert_eq!(flags.deprecations().len(), 2);
}

#[test]
fn envtest() {
    let flags = run(&[
        "--allow-privileged=true",
        "--authorization-mode=RBAC",
        "--bind-address=127.0.0.1",
        "--cert-dir=/tmp/k8s_test_framework_1234",
        "--client-ca-file=/tmp/k8s_test_framework_1234/client-cert-auth-ca.crt",
        "--disable-admission-plugins=ServiceAccount",
        "--etcd-servers=http://127.0.0.1:41233",
        "--secure-port=35601",
        "--service-account-issuer=https://127.0.0.1:35601/",
        "--service-account-key-file=/tmp/k8s_test_framework_1234/sa-signer.crt",
        "--service-account-signing-key-file=/tmp/k8s_test_framework_1234/sa-signer.key",
        "--service-cluster-ip-range=10.0.0.0/24",
    ]);
    assert_eq!(flags.ip("bind-address"), Some(IpAddr::from([127, 0, 0, 1])));
    assert_eq!(flags.string("cert-dir"), "/tmp/k8s_test_framework_1234");
}

#[test]
fn envtest_of_old_with_an_insecure_port() {
    let flags = run(&[
        "--advertise-address=127.0.0.1",
        "--etcd-servers=http://127.0.0.1:41233",
        "--cert-dir=/tmp/k8s_test_framework_1234",
        "--insecure-port=8080",
        "--insecure-bind-address=127.0.0.1",
        "--secure-port=35601",
        "--disable-admission-plugins=ServiceAccount",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
    ]);
    assert_eq!(flags.int("insecure-port"), 8080);
    let told = |name: &str| flags.deprecations().iter().any(|told| told.contains(name));
    assert!(told("insecure-port") && told("insecure-bind-address"), "{:?}", flags.deprecations());
}
