//! Flags of the controllers that run in this process. Names and meaning are kube-controller-manager's.

use super::{Flag, flag};
use crate::kind::Kind::{Duration, String, Strings};

pub(super) const FLAGS: &[Flag] = &[
    flag(
        "cluster-signing-cert-file",
        String,
        "",
        "Certificate authority in PEM that issues certificates for CertificateSigningRequests of all signers. Without any of these \
         flags, the embedded store's server signs with the authority that it made for itself, if that is also the one of \
         its clients.",
    )
    .active(),
    flag(
        "cluster-signing-duration",
        Duration,
        "8760h0m0s",
        "Longest life of certificates that are issued. A request may ask for less by spec.expirationSeconds.",
    )
    .active(),
    flag(
        "cluster-signing-key-file",
        String,
        "",
        "Private key in PEM of --cluster-signing-cert-file: RSA or ECDSA.",
    )
    .active(),
    flag(
        "cluster-signing-kube-apiserver-client-cert-file",
        String,
        "",
        "Certificate authority in PEM that issues certificates for the signer kubernetes.io/kube-apiserver-client. Not together with \
         --cluster-signing-cert-file.",
    )
    .active(),
    flag(
        "cluster-signing-kube-apiserver-client-key-file",
        String,
        "",
        "Private key in PEM of --cluster-signing-kube-apiserver-client-cert-file.",
    )
    .active(),
    flag(
        "cluster-signing-kubelet-client-cert-file",
        String,
        "",
        "Certificate authority in PEM that issues certificates for the signer kubernetes.io/kube-apiserver-client-kubelet. Not together with \
         --cluster-signing-cert-file.",
    )
    .active(),
    flag(
        "cluster-signing-kubelet-client-key-file",
        String,
        "",
        "Private key in PEM of --cluster-signing-kubelet-client-cert-file.",
    )
    .active(),
    flag(
        "cluster-signing-kubelet-serving-cert-file",
        String,
        "",
        "Certificate authority in PEM that issues certificates for the signer kubernetes.io/kubelet-serving. Not together with \
         --cluster-signing-cert-file.",
    )
    .active(),
    flag(
        "cluster-signing-kubelet-serving-key-file",
        String,
        "",
        "Private key in PEM of --cluster-signing-kubelet-serving-cert-file.",
    )
    .active(),
    flag(
        "cluster-signing-legacy-unknown-cert-file",
        String,
        "",
        "Certificate authority in PEM that issues certificates for the signer kubernetes.io/legacy-unknown. Not together with \
         --cluster-signing-cert-file.",
    )
    .active(),
    flag(
        "cluster-signing-legacy-unknown-key-file",
        String,
        "",
        "Private key in PEM of --cluster-signing-legacy-unknown-cert-file.",
    )
    .active(),
    flag(
        "controllers",
        Strings,
        "",
        "Controllers of kube-controller-manager that run in this process. '*' stands for all that are on by default, 'foo' adds \
         the controller named 'foo', '-foo' leaves it out. Without the flag: '*' on the embedded store, none with \
         --etcd-servers. With several servers on one etcd, an elected one runs them.",
    )
    .active(),
    flag(
        "legacy-service-account-token-clean-up-period",
        Duration,
        "8760h0m0s",
        "Time since its last use after which a service account token in a secret that was made automatically is marked as invalid, \
         and after which a marked one is deleted.",
    )
    .active(),
    flag(
        "root-ca-file",
        String,
        "",
        "Certificate authorities in PEM by which pods verify this server: published in the ConfigMap kube-root-ca.crt of every \
         namespace and beside service account tokens in secrets. Without it, those of the administrator's kubeconfig: the \
         authority that this server made for itself, or the certificate that it was given to serve.",
    )
    .active(),
];
