use super::super::Options;
use crate::framework::strategy::Settings;
use crate::framework::validation::testing::Base;
use crate::framework::validation::{Cursor, Errors};

pub(super) const POD: &str = r#"{
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {"serviceAccountName": "s", "containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", "emptyDir": {}}]}
}"#;
const ONE: &str = "may not specify more than 1 volume type";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
pub(super) const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
pub(super) const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

pub(super) fn pods() -> Base {
    Base::new("", "pods", POD)
}

/// Checks that a pod with this volume is refused.
#[track_caller]
pub(super) fn refused(base: &Base, volume: &str, expected: &[&str]) {
    base.refuses(&[(&[("/spec/volumes/0", volume)], expected)]);
}

#[track_caller]
pub(super) fn accepted(base: &Base, volume: &str) {
    base.accepts(&[&[("/spec/volumes/0", volume)]]);
}

#[test]
fn volumes_have_unique_names() {
    let pods = pods();
    pods.refuses(&[
        (&[("/spec/volumes/0/name", "")], &["spec.volumes[0].name: Required value"]),
        (
            &[("/spec/volumes/0/name", r#""A""#)],
            &[&format!(r#"spec.volumes[0].name: Invalid value: "A": {LABEL}"#)],
        ),
        (
            &[("/spec/volumes/-", r#"{"name":"v","hostPath":{"path":"/a"}}"#)],
            &[r#"spec.volumes[1].name: Duplicate value: "v""#],
        ),
        // A name counts only if its volume is right.
        (
            &[
                ("/spec/volumes/0", r#"{"name":"v","secret":{}}"#),
                ("/spec/volumes/-", r#"{"name":"v","emptyDir":{}}"#),
            ],
            &["spec.volumes[0].secret.secretName: Required value"],
        ),
    ]);
}

#[test]
fn volumes_have_one_source() {
    let pods = pods();
    refused(
        &pods,
        r#"{"name":"v","emptyDir":{},"secret":{},"cephfs":{},"downwardAPI":{},"gcePersistentDisk":{},"image":{"reference":"a"}}"#,
        &[
            &format!("spec.volumes[0].gcePersistentDisk: Forbidden: {ONE}"),
            &format!("spec.volumes[0].secret: Forbidden: {ONE}"),
            &format!("spec.volumes[0].cephFS: Forbidden: {ONE}"),
            &format!("spec.volumes[0].downwarAPI: Forbidden: {ONE}"),
            &format!("spec.volumes[0].image: Forbidden: {ONE}"),
        ],
    );
}

#[test]
fn a_source_is_required_where_none_is_defaulted() {
    let object = pintle_codec::json::decode_any(br#"{"v":{"name":"v"}}"#).unwrap().value;
    let errors = Errors::default();
    let options = Options::for_pod(&Settings::default(), &Cursor::root(&object, None, &errors));
    super::source(&Cursor::root(&object, None, &errors).field("v"), "", &options);
    assert_eq!(errors.into_vec()[0].to_string(), "v: Required value: must specify a volume type");
}

#[test]
fn every_type_of_source_is_checked() {
    let pods = pods();
    let cases: &[(&str, &[&str])] = &[
        (
            r#""emptyDir":{"sizeLimit":"-1"}"#,
            &["emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
        ),
        (r#""hostPath":{"path":""}"#, &["hostPath.path: Required value"]),
        (r#""gitRepo":{"repository":""}"#, &["gitRepo.repository: Required value"]),
        (r#""gcePersistentDisk":{"pdName":""}"#, &["persistentDisk.pdName: Required value"]),
        (r#""awsElasticBlockStore":{"volumeID":""}"#, &["awsElasticBlockStore.volumeID: Required value"]),
        (r#""secret":{}"#, &["secret.secretName: Required value"]),
        (
            r#""nfs":{"server":"a","path":"b"}"#,
            &[r#"nfs.path: Invalid value: "b": must be an absolute path"#],
        ),
        (
            r#""iscsi":{"targetPortal":"a","iqn":"b","lun":1}"#,
            &[r#"iscsi.iqn: Invalid value: "b": must be valid format starting with iqn, eui, or naa"#],
        ),
        (r#""glusterfs":{"endpoints":"a","path":""}"#, &["glusterfs.path: Required value"]),
        (r#""flocker":{}"#, &["flocker: Required value: one of datasetName and datasetUUID is required"]),
        (r#""persistentVolumeClaim":{"claimName":""}"#, &["persistentVolumeClaim.claimName: Required value"]),
        (r#""rbd":{"monitors":["a"],"image":""}"#, &["rbd.image: Required value"]),
        (r#""cinder":{"volumeID":""}"#, &["cinder.volumeID: Required value"]),
        (r#""cephfs":{"monitors":[]}"#, &["cephfs.monitors: Required value"]),
        (r#""quobyte":{"registry":"a:1","volume":""}"#, &["quobyte.volume: Required value"]),
        (
            r#""fc":{}"#,
            &["fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"],
        ),
        (r#""flexVolume":{"driver":""}"#, &["flexVolume.driver: Required value"]),
        (r#""configMap":{}"#, &["configMap.name: Required value"]),
        (r#""azureFile":{"secretName":"a","shareName":""}"#, &["azureFile.shareName: Required value"]),
        (r#""vsphereVolume":{"volumePath":""}"#, &["vsphereVolume.volumePath: Required value"]),
        (r#""photonPersistentDisk":{"pdID":""}"#, &["photonPersistentDisk.pdID: Required value"]),
        (r#""portworxVolume":{"volumeID":""}"#, &["portworxVolume.volumeID: Required value"]),
        (
            r#""azureDisk":{"diskName":"","diskURI":"https://a","kind":"Shared"}"#,
            &["azureDisk.diskName: Required value"],
        ),
        (r#""storageos":{}"#, &["storageos.volumeName: Required value"]),
        (
            r#""scaleIO":{"gateway":"a","system":"","secretRef":{"name":"c"},"volumeName":"v"}"#,
            &["scaleIO.system: Required value"],
        ),
        (r#""csi":{"driver":""}"#, &["csi.driver: Required value"]),
    ];
    for (source, expected) in cases {
        let expected: Vec<String> = expected.iter().map(|error| format!("spec.volumes[0].{error}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        refused(&pods, &format!(r#"{{"name":"v",{source}}}"#), &expected);
    }
}

#[test]
fn an_initiator_limits_name_and_portal() {
    let volume = |rest: &str| {
        let portal = "p".repeat(63);
        format!(
            r#"{{"name":"v",{rest}"iscsi":{{"targetPortal":"{portal}","iqn":"eui.0123456789abcdef","lun":1,"initiatorName":"eui.0123456789abcdef"}}}}"#
        )
    };
    let long = r#"spec.volumes[0].name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."#;
    refused(&pods(), &volume(""), &[long]);
    refused(
        &pods(),
        &volume(r#""emptyDir":{},"#),
        &[&format!("spec.volumes[0].iscsi: Forbidden: {ONE}"), long],
    );
}

#[test]
fn images_have_a_reference_in_pods() {
    let pods = pods();
    refused(&pods, r#"{"name":"v","image":{}}"#, &["spec.volumes[0].image.reference: Required value"]);
    refused(
        &pods,
        r#"{"name":"v","image":{"reference":"a","pullPolicy":"x"}}"#,
        &[
            r#"spec.volumes[0].image.pullPolicy: Unsupported value: "x": supported values: "Always", "IfNotPresent", "Never""#,
        ],
    );
    let template = format!(r#"{{"metadata":{{"name":"a","namespace":"n"}},"template":{POD}}}"#);
    let templates = Base::new("", "podtemplates", &template);
    templates.accepts(&[&[("/template/spec/volumes/0", r#"{"name":"v","image":{}}"#)]]);
}

#[test]
fn ephemeral_volumes_have_a_claim_of_the_pods_name() {
    let pods = pods();
    let right = r#"{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}}}}}"#;
    accepted(&pods, right);
    refused(
        &pods,
        r#"{"name":"v","ephemeral":{}}"#,
        &["spec.volumes[0].ephemeral.volumeClaimTemplate: Required value"],
    );
    let template = "spec.volumes[0].ephemeral.volumeClaimTemplate";
    pods.refuses(&[
        (
            &[
                ("/spec/volumes/0", right),
                ("/spec/volumes/0/ephemeral/volumeClaimTemplate/metadata/name", r#""x""#),
                ("/spec/volumes/0/ephemeral/volumeClaimTemplate/spec/accessModes", "[]"),
            ],
            &[
                &format!("{template}.metadata.name: Forbidden: cannot be set"),
                &format!("{template}.spec.accessModes: Required value: at least 1 access mode is required"),
            ],
        ),
        (
            &[
                ("/spec/volumes/0", right),
                ("/spec/volumes/-", r#"{"name":"w","persistentVolumeClaim":{"claimName":"a-v"}}"#),
            ],
            &[
                r#"spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "a-v": must not reference a PVC that gets created for an ephemeral volume"#,
            ],
        ),
        (
            &[("/metadata/name", &format!(r#""{}""#, "a".repeat(252))), ("/spec/volumes/0", right)],
            &[&format!(
                r#"spec.volumes[0].name: Invalid value: "v": PVC name "{}-v": must be no more than 253 characters"#,
                "a".repeat(252)
            )],
        ),
        (
            &[("/spec/volumes/0", right), ("/spec/volumes/0/name", r#""v_""#)],
            &[
                &format!(r#"spec.volumes[0].name: Invalid value: "v_": PVC name "a-v_": {SUBDOMAIN}"#),
                &format!(r#"spec.volumes[0].name: Invalid value: "v_": {LABEL}"#),
            ],
        ),
        (
            &[("/spec/volumes/0", right), ("/spec/volumes/0/name", "")],
            &["spec.volumes[0].name: Required value"],
        ),
    ]);
    pods.accepts(&[&[
        ("/spec/volumes/0", right),
        ("/spec/volumes/-", r#"{"name":"w","persistentVolumeClaim":{"claimName":"a-w"}}"#),
    ]]);
}

#[test]
fn files_of_the_downward_api() {
    let pods = pods();
    let volume = |item: &str| format!(r#"{{"name":"v","downwardAPI":{{"items":[{item}]}}}}"#);
    for reference in [
        r#""fieldRef":{"fieldPath":"metadata.labels"}"#,
        r#""fieldRef":{"fieldPath":"metadata.labels['a']"}"#,
        r#""fieldRef":{"fieldPath":"metadata.annotations['Example.com/A[b']"}"#,
        r#""resourceFieldRef":{"containerName":"c","resource":"limits.cpu","divisor":"1m"}"#,
    ] {
        let item = format!(r#"{{"path":"p","mode":1,{reference}}}"#);
        if !reference.contains("A[b") {
            accepted(&pods, &volume(&item));
        } else {
            refused(
                &pods,
                &volume(&item),
                &[&format!(
                    r#"spec.volumes[0].downwardAPI.fieldRef: Invalid value: "example.com/a[b": {QUALIFIED}"#
                )],
            );
        }
    }
    let refused_item = |item: &str, expected: &[&str]| {
        let expected: Vec<String> =
            expected.iter().map(|error| format!("spec.volumes[0].downwardAPI{error}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        refused(&pods, &volume(item), &expected);
    };
    let name = r#""fieldRef":{"fieldPath":"metadata.name"}"#;
    refused_item(
        r#"{"mode":512}"#,
        &[
            ".path: Required value",
            ": Required value: one of fieldRef and resourceFieldRef is required",
            &format!(".mode: Invalid value: 512: {MODE}"),
        ],
    );
    refused_item(
        &format!(r#"{{"path":"/a",{name},"resourceFieldRef":{{}}}}"#),
        &[
            r#".path: Invalid value: "/a": must be a relative path"#,
            r#": Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously"#,
        ],
    );
    refused_item(
        r#"{"path":"..a","resourceFieldRef":{"resource":"limits.memory","divisor":"3"}}"#,
        &[
            r#".path: Invalid value: "..a": must not start with '..'"#,
            ".resourceFieldRef.containerName: Required value",
            r#".resourceFieldRef.divisor: Invalid value: "limits.memory": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource"#,
        ],
    );
    // Known to environment variables only, here under its oldest name.
    refused_item(
        r#"{"path":"a","fieldRef":{"fieldPath":"spec.host"}}"#,
        &[
            r#".fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid""#,
        ],
    );
    refused(
        &pods,
        r#"{"name":"v","downwardAPI":{"defaultMode":-1}}"#,
        &[&format!("spec.volumes[0].downwardAPI.defaultMode: Invalid value: -1: {MODE}")],
    );
}
