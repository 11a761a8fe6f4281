//! The rules of each source, as `{"s": SOURCE}`.

use pintle_codec::json;

use super::*;
use crate::framework::validation::Errors;

/// A rule, a source and the errors it has.
type Case<'a> = (fn(&Cursor<'_, '_>), &'a str, &'a [&'a str]);

#[track_caller]
fn check(cases: &[Case<'_>]) {
    for (rule, source, expected) in cases {
        let object = json::decode_any(format!(r#"{{"s":{source}}}"#).as_bytes()).unwrap().value;
        let errors = Errors::default();
        rule(&Cursor::root(&object, None, &errors).field("s"));
        let errors: Vec<String> = errors.into_vec().iter().map(ToString::to_string).collect();
        assert_eq!(errors, *expected, "{source}");
    }
}

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

#[test]
fn paths_of_the_node_have_no_backsteps() {
    check(&[
        (host_path, r#"{"path":"/a/..b/c..","type":""}"#, &[]),
        (host_path, r#"{"path":"/a","type":"Socket"}"#, &[]),
        (host_path, r#"{"type":"x"}"#, &["s.path: Required value"]),
        (
            host_path,
            r#"{"path":"/a/../b/..","type":"x"}"#,
            &[
                r#"s.path: Invalid value: "/a/../b/..": must not contain '..'"#,
                r#"s.type: Unsupported value: "x": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket""#,
            ],
        ),
        (local, r#"{"path":"/a"}"#, &[]),
        (local, "{}", &["s.path: Required value"]),
        (local, r#"{"path":".."}"#, &[r#"s.path: Invalid value: "..": must not contain '..'"#]),
    ]);
}

#[test]
fn directories_of_a_pod() {
    check(&[
        (empty_dir, "{}", &[]),
        (empty_dir, r#"{"sizeLimit":"0"}"#, &[]),
        (
            empty_dir,
            r#"{"sizeLimit":"-1"}"#,
            &["s.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
        ),
        (git_repo, r#"{"repository":"r","directory":"a/b"}"#, &[]),
        (git_repo, "{}", &["s.repository: Required value"]),
        (
            git_repo,
            r#"{"repository":"r","directory":"/a/.."}"#,
            &[
                r#"s.directory: Invalid value: "/a/..": must be a relative path"#,
                r#"s.directory: Invalid value: "/a/..": must not contain '..'"#,
            ],
        ),
    ]);
}

#[test]
fn files_of_secrets_and_config_maps() {
    check(&[
        (secret, r#"{"secretName":"a","defaultMode":511,"items":[{"key":"k","path":"p","mode":0}]}"#, &[]),
        (config_map, r#"{"name":"a","items":[{"key":"k","path":"a/...b"}]}"#, &[]),
        (
            secret,
            r#"{"defaultMode":512,"items":[{"mode":-1},{"key":"k","path":"../a"}]}"#,
            &[
                "s.secretName: Required value",
                &format!("s.defaultMode: Invalid value: 512: {MODE}"),
                "s.items[0].key: Required value",
                "s.items[0].path: Required value",
                &format!("s.items[0].mode: Invalid value: -1: {MODE}"),
                r#"s.items[1].path: Invalid value: "../a": must not contain '..'"#,
            ],
        ),
        (
            config_map,
            r#"{"defaultMode":-1,"items":[{"key":"k","path":"/a"},{"key":"k","path":"..a"},{"key":"k","path":".."}]}"#,
            &[
                "s.name: Required value",
                &format!("s.defaultMode: Invalid value: -1: {MODE}"),
                r#"s.items[0].path: Invalid value: "/a": must be a relative path"#,
                r#"s.items[1].path: Invalid value: "..a": must not start with '..'"#,
                r#"s.items[2].path: Invalid value: "..": must not contain '..'"#,
                r#"s.items[2].path: Invalid value: "..": must not start with '..'"#,
            ],
        ),
    ]);
}

#[test]
fn disks_of_clouds() {
    let managed = r#"s.diskURI: Unsupported value: "https://a": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}""#;
    let blob = r#"s.diskURI: Unsupported value: "/subscriptions/": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd""#;
    check(&[
        (gce_persistent_disk, r#"{"pdName":"a","partition":255}"#, &[]),
        (
            gce_persistent_disk,
            r#"{"partition":256}"#,
            &[
                "s.pdName: Required value",
                "s.partition: Invalid value: 256: must be between 1 and 255, inclusive",
            ],
        ),
        (aws_elastic_block_store, r#"{"volumeID":"a"}"#, &[]),
        (
            aws_elastic_block_store,
            r#"{"partition":-1}"#,
            &[
                "s.volumeID: Required value",
                "s.partition: Invalid value: -1: must be between 1 and 255, inclusive",
            ],
        ),
        (cinder, r#"{"volumeID":"a","secretRef":{"name":"a"}}"#, &[]),
        (cinder, r#"{"secretRef":{}}"#, &["s.volumeID: Required value", "s.secretRef.name: Required value"]),
        (cinder_persistent, r#"{"volumeID":"a"}"#, &[]),
        (
            cinder_persistent,
            r#"{"secretRef":{}}"#,
            &[
                "s.volumeID: Required value",
                "s.secretRef.name: Required value",
                "s.secretRef.namespace: Required value",
            ],
        ),
        (azure_disk, r#"{"diskName":"a","diskURI":"https://a","kind":"Shared","cachingMode":"None"}"#, &[]),
        (azure_disk, r#"{"diskName":"a","diskURI":"/subscriptions/a","kind":"Managed"}"#, &[]),
        (
            azure_disk,
            r#"{"cachingMode":"x"}"#,
            &[
                "s.diskName: Required value",
                "s.diskURI: Required value",
                r#"s.cachingMode: Unsupported value: "x": supported values: "None", "ReadOnly", "ReadWrite""#,
            ],
        ),
        (azure_disk, r#"{"diskName":"a","diskURI":"https://a","kind":"Managed"}"#, &[managed]),
        (azure_disk, r#"{"diskName":"a","diskURI":"/subscriptions/","kind":"Dedicated"}"#, &[blob]),
        (
            azure_disk,
            r#"{"diskName":"a","diskURI":"https://a","kind":"x"}"#,
            &[r#"s.kind: Unsupported value: "x": supported values: "Dedicated", "Managed", "Shared""#],
        ),
        (vsphere, r#"{"volumePath":"a"}"#, &[]),
        (vsphere, "{}", &["s.volumePath: Required value"]),
        (photon_persistent_disk, r#"{"pdID":"a"}"#, &[]),
        (photon_persistent_disk, "{}", &["s.pdID: Required value"]),
        (portworx, r#"{"volumeID":"a"}"#, &[]),
        (portworx, "{}", &["s.volumeID: Required value"]),
    ]);
}

#[test]
fn fibre_channel_has_names_or_identifiers() {
    check(&[
        (fc, r#"{"targetWWNs":["a"],"lun":0}"#, &[]),
        (fc, r#"{"wwids":["a"],"lun":256}"#, &[]),
        (fc, "{}", &["s.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"]),
        (
            fc,
            r#"{"targetWWNs":["a"],"wwids":["b"]}"#,
            &[
                r#"s.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously"#,
                "s.lun: Required value: lun is required if targetWWNs is specified",
            ],
        ),
        (
            fc,
            r#"{"targetWWNs":["a"],"lun":256}"#,
            &["s.lun: Invalid value: 256: must be between 0 and 255, inclusive"],
        ),
    ]);
}

#[test]
fn iscsi_names_and_secrets() {
    let persistent: fn(&Cursor<'_, '_>) = |source| iscsi_persistent(source, "a");
    let long: fn(&Cursor<'_, '_>) = |source| iscsi_persistent(source, &"a".repeat(61));
    let right = r#"{"targetPortal":"p:1","iqn":"iqn.2001-04.com.example:disk","lun":255,"initiatorName":"iqn.2001-04.com.example:node","chapAuthSession":true,"secretRef":{"name":"a"}}"#;
    check(&[
        (iscsi, right, &[]),
        (persistent, right, &[]),
        (
            iscsi,
            r#"{"lun":-1,"chapAuthDiscovery":true,"initiatorName":""}"#,
            &[
                "s.targetPortal: Required value",
                "s.iqn: Required value",
                "s.lun: Invalid value: -1: must be between 0 and 255, inclusive",
                "s.secretRef: Required value",
                r#"s.initiatorname: Invalid value: "": must be valid format starting with iqn, eui, or naa"#,
            ],
        ),
        (
            iscsi,
            r#"{"targetPortal":"p","iqn":"x","initiatorName":"eui.1","chapAuthSession":true,"secretRef":{}}"#,
            &[
                r#"s.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa"#,
                r#"s.initiatorname: Invalid value: "eui.1": must be valid format"#,
            ],
        ),
        (
            persistent,
            r#"{"iqn":"x","initiatorName":"naa.1","lun":256,"secretRef":{}}"#,
            &[
                "s.targetPortal: Required value",
                r#"s.iqn: Invalid value: "x": must be valid format"#,
                "s.lun: Invalid value: 256: must be between 0 and 255, inclusive",
                "s.secretRef.name: Required value",
                r#"s.initiatorname: Invalid value: "naa.1": must be valid format"#,
            ],
        ),
        (
            long,
            r#"{"targetPortal":"abc","chapAuthDiscovery":true,"initiatorName":"iqn.2001-04.com.example:node"}"#,
            &[
                &format!(r#"s.targetportal: Invalid value: "abc": {NAME_TOO_LONG}"#),
                "s.iqn: Required value",
                "s.secretRef: Required value",
            ],
        ),
        (long, r#"{"targetPortal":"abc","iqn":"eui.0123456789abcdef"}"#, &[]),
    ]);
}

#[test]
fn file_systems_of_the_network() {
    check(&[
        (nfs, r#"{"server":"a","path":"/a/.."}"#, &[]),
        (
            nfs,
            "{}",
            &[
                "s.server: Required value",
                "s.path: Required value",
                r#"s.path: Invalid value: "": must be an absolute path"#,
            ],
        ),
        (glusterfs, r#"{"endpoints":"a","path":"b"}"#, &[]),
        (glusterfs, "{}", &["s.endpoints: Required value", "s.path: Required value"]),
        (glusterfs_persistent, r#"{"endpoints":"a","path":"b","endpointsNamespace":"n"}"#, &[]),
        (
            glusterfs_persistent,
            r#"{"path":"b","endpointsNamespace":""}"#,
            &[
                "s.endpoints: Required value",
                r#"s.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name"#,
            ],
        ),
        (
            glusterfs_persistent,
            r#"{"endpoints":"a","path":"b","endpointsNamespace":"N"}"#,
            &[
                r#"s.endpointsNamespace: Invalid value: "N": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"#,
            ],
        ),
        (flocker, r#"{"datasetUUID":"a"}"#, &[]),
        (flocker, "{}", &["s: Required value: one of datasetName and datasetUUID is required"]),
        (
            flocker,
            r#"{"datasetUUID":"a","datasetName":"b/c"}"#,
            &[
                r#"s: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously"#,
                r#"s.datasetName: Invalid value: "b/c": must not contain '/'"#,
            ],
        ),
        (rbd, r#"{"monitors":["a"],"image":"b"}"#, &[]),
        (rbd, "{}", &["s.monitors: Required value", "s.image: Required value"]),
        (cephfs, r#"{"monitors":["a"]}"#, &[]),
        (cephfs, "{}", &["s.monitors: Required value"]),
        (azure_file, r#"{"secretName":"a","shareName":"b"}"#, &[]),
        (azure_file, "{}", &["s.secretName: Required value", "s.shareName: Required value"]),
        (azure_file_persistent, r#"{"secretName":"a","shareName":"b","secretNamespace":"n"}"#, &[]),
        (
            azure_file_persistent,
            r#"{"secretName":"a","shareName":"b","secretNamespace":""}"#,
            &["s.secretNamespace: Required value"],
        ),
    ]);
}

#[test]
fn storage_services() {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let label = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    check(&[
        (quobyte, r#"{"registry":"a:1,b:2","volume":"v"}"#, &[]),
        (quobyte, "{}", &[&format!("s.registry: Required value: {PAIRS}"), "s.volume: Required value"]),
        (
            quobyte,
            r#"{"registry":"a,b:1,c","volume":"v"}"#,
            &[
                &format!(r#"s.registry: Invalid value: "a,b:1,c": {PAIRS}"#),
                &format!(r#"s.registry: Invalid value: "a,b:1,c": {PAIRS}"#),
            ],
        ),
        (
            quobyte,
            &format!(r#"{{"registry":"a","volume":"v","tenant":"{}"}}"#, "a".repeat(65)),
            &["s.tenant: Required value: must be a UUID and may not exceed a length of 64 characters"],
        ),
        (scale_io, r#"{"gateway":"a","system":"b","volumeName":"c"}"#, &[]),
        (
            scale_io,
            "{}",
            &["s.gateway: Required value", "s.system: Required value", "s.volumeName: Required value"],
        ),
        (storage_os, r#"{"volumeName":"a","volumeNamespace":"b","secretRef":{"name":"c"}}"#, &[]),
        (
            storage_os,
            r#"{"volumeNamespace":"B","secretRef":{}}"#,
            &[
                "s.volumeName: Required value",
                &format!(r#"s.volumeNamespace: Invalid value: "B": {label}"#),
                "s.secretRef.name: Required value",
            ],
        ),
        (storage_os_persistent, r#"{"volumeName":"a","secretRef":{"name":"c","namespace":"d"}}"#, &[]),
        (
            storage_os_persistent,
            r#"{"volumeName":"A","secretRef":{}}"#,
            &[
                &format!(r#"s.volumeName: Invalid value: "A": {label}"#),
                "s.secretRef.name: Required value",
                "s.secretRef.namespace: Required value",
            ],
        ),
    ]);
}

#[test]
fn drivers_outside_the_tree() {
    let label = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    let subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    check(&[
        (csi, r#"{"driver":"CSI.example.com","nodePublishSecretRef":{"name":"a"}}"#, &[]),
        (
            csi,
            r#"{"nodePublishSecretRef":{}}"#,
            &["s.driver: Required value", "s.nodePublishSecretRef.name: Required value"],
        ),
        (
            csi,
            r#"{"driver":"A_b","nodePublishSecretRef":{"name":"A"}}"#,
            &[
                &format!(r#"s.driver: Invalid value: "A_b": {subdomain}"#),
                &format!(r#"s.name: Invalid value: "A": {subdomain}"#),
            ],
        ),
        (
            csi,
            &format!(r#"{{"driver":"{}"}}"#, "a".repeat(64)),
            &["s.driver: Too long: may not be more than 63 bytes"],
        ),
        (csi, r#"{"driver":"a b"}"#, &[&format!(r#"s.driver: Invalid value: "a b": {subdomain}"#)]),
        (
            csi_persistent,
            r#"{"driver":"a","volumeHandle":"h","nodeExpandSecretRef":{"name":"a","namespace":"b"}}"#,
            &[],
        ),
        (
            csi_persistent,
            r#"{"controllerPublishSecretRef":{},"nodePublishSecretRef":{"name":"A","namespace":"B"}}"#,
            &[
                "s.driver: Required value",
                "s.volumeHandle: Required value",
                "s.controllerPublishSecretRef.name: Required value",
                "s.controllerPublishSecretRef.namespace: Required value",
                &format!(r#"s.nodePublishSecretRef.name: Invalid value: "A": {subdomain}"#),
                &format!(r#"s.nodePublishSecretRef.namespace: Invalid value: "B": {label}"#),
            ],
        ),
        (flex, r#"{"driver":"a/b","options":{"a":"b","notk8s.io/a":"b","k8s.io.example.com":"c"}}"#, &[]),
        (
            flex,
            r#"{"options":{"Kubernetes.io/a":"","a.k8s.io":""}}"#,
            &[
                "s.driver: Required value",
                r#"s.options[Kubernetes.io/a]: Invalid value: "Kubernetes.io/a": kubernetes.io and k8s.io namespaces are reserved"#,
                r#"s.options[a.k8s.io]: Invalid value: "a.k8s.io": kubernetes.io and k8s.io namespaces are reserved"#,
            ],
        ),
    ]);
}
