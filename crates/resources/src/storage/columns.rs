//! The columns of storage classes, CSI drivers and attachments. Capacities have none of their own.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, boolean, cell, integer, named, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "CSIDriver" => &CSI_DRIVER,
        "CSINode" => &CSI_NODE,
        "StorageClass" => &STORAGE_CLASS,
        "VolumeAttachment" => &VOLUME_ATTACHMENT,
        "VolumeAttributesClass" => &VOLUME_ATTRIBUTES_CLASS,
        _ => return None,
    })
}

static CSI_DRIVER: Columns = Columns::new(
    "storage/v1.CSIDriver",
    &[
        NAME,
        boolean("AttachRequired", doc::CSI_DRIVER_SPEC_ATTACH_REQUIRED),
        boolean("PodInfoOnMount", doc::CSI_DRIVER_SPEC_POD_INFO_ON_MOUNT),
        boolean("StorageCapacity", doc::CSI_DRIVER_SPEC_STORAGE_CAPACITY),
        text("TokenRequests", doc::CSI_DRIVER_SPEC_TOKEN_REQUESTS),
        boolean("RequiresRepublish", doc::CSI_DRIVER_SPEC_REQUIRES_REPUBLISH),
        text("Modes", doc::CSI_DRIVER_SPEC_VOLUME_LIFECYCLE_MODES),
        AGE,
    ],
    |object, context, cells| {
        let flag = |field, absent| Value::from(cell::flag(object, &["spec", field], absent));
        let tokens = match object.at(&["spec", "tokenRequests"]).and_then(Value::as_list) {
            None => cell::UNSET.into(),
            Some(requests) => {
                let audiences = requests.iter().map(|request| request.text_at(&["audience"]));
                audiences.collect::<Vec<_>>().join(",")
            }
        };
        let modes = cell::texts(object, &["spec", "volumeLifecycleModes"]).collect::<Vec<_>>().join(",");
        cells.extend([
            cell::name(object),
            flag("attachRequired", true),
            flag("podInfoOnMount", false),
            flag("storageCapacity", false),
            tokens.into(),
            flag("requiresRepublish", false),
            if modes.is_empty() { Value::literal(cell::NONE) } else { modes.into() },
            context.age(object),
        ]);
    },
);

static CSI_NODE: Columns = Columns::new(
    "storage/v1.CSINode",
    &[NAME, integer("Drivers", "Drivers indicates the number of CSI drivers registered on the node"), AGE],
    |object, context, cells| {
        let drivers = cell::count(object, &["spec", "drivers"]);
        cells.extend([cell::name(object), drivers.into(), context.age(object)]);
    },
);

static STORAGE_CLASS: Columns = Columns::new(
    "storage/v1.StorageClass",
    &[
        NAME,
        text("Provisioner", doc::STORAGE_CLASS_PROVISIONER),
        text("ReclaimPolicy", doc::STORAGE_CLASS_RECLAIM_POLICY),
        text("VolumeBindingMode", doc::STORAGE_CLASS_VOLUME_BINDING_MODE),
        text("AllowVolumeExpansion", doc::STORAGE_CLASS_ALLOW_VOLUME_EXPANSION),
        AGE,
    ],
    |object, context, cells| {
        let annotations = [
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ];
        let is_default = annotations.iter().any(|key| object.annotation(key) == Some("true"));
        cells.extend([
            match is_default {
                true => format!("{} (default)", object.name()).into(),
                false => cell::name(object),
            },
            cell::text(object, &["provisioner"]),
            cell::text_or(object, &["reclaimPolicy"], "Delete"),
            cell::text_or(object, &["volumeBindingMode"], "Immediate"),
            cell::flag(object, &["allowVolumeExpansion"], false).into(),
            context.age(object),
        ]);
    },
);

static VOLUME_ATTACHMENT: Columns = Columns::new(
    "storage/v1.VolumeAttachment",
    &[
        NAME,
        named(text("Attacher", doc::VOLUME_ATTACHMENT_SPEC_ATTACHER)),
        text("PV", doc::VOLUME_ATTACHMENT_SOURCE_PERSISTENT_VOLUME_NAME),
        text("Node", doc::VOLUME_ATTACHMENT_SPEC_NODE_NAME),
        boolean("Attached", doc::VOLUME_ATTACHMENT_STATUS_ATTACHED),
        AGE,
    ],
    |object, context, cells| {
        cells.extend([
            cell::name(object),
            cell::text(object, &["spec", "attacher"]),
            cell::text(object, &["spec", "source", "persistentVolumeName"]),
            cell::text(object, &["spec", "nodeName"]),
            cell::flag(object, &["status", "attached"], false).into(),
            context.age(object),
        ]);
    },
);

static VOLUME_ATTRIBUTES_CLASS: Columns = Columns::new(
    "storage/v1.VolumeAttributesClass",
    &[NAME, text("DriverName", doc::VOLUME_ATTRIBUTES_CLASS_DRIVER_NAME), AGE],
    |object, context, cells| {
        cells.extend([cell::name(object), cell::text(object, &["driverName"]), context.age(object)]);
    },
);

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn a_driver_shows_what_it_wants() {
        let kind = "storage/v1.CSIDriver";
        let cells = r#"["d",true,false,false,"<unset>",false,"<none>","<unknown>"]"#;
        check(kind, r#"{"metadata":{"name":"d"}}"#, cells);
        let object = r#"{"metadata":{"name":"d"},"spec":{"attachRequired":false,"podInfoOnMount":true,
            "storageCapacity":true,"tokenRequests":[{"audience":""},{"audience":"a"}],"requiresRepublish":true,
            "volumeLifecycleModes":["Persistent","Ephemeral"]}}"#;
        check(kind, object, r#"["d",false,true,true,",a",true,"Persistent,Ephemeral","<unknown>"]"#);
    }

    #[test]
    fn a_node_counts_its_drivers() {
        let object = r#"{"metadata":{"name":"n"},"spec":{"drivers":[{"name":"a"},{"name":"b"}]}}"#;
        check("storage/v1.CSINode", object, r#"["n",2,"<unknown>"]"#);
    }

    #[test]
    fn a_class_says_whether_it_is_the_default() {
        let kind = "storage/v1.StorageClass";
        let object = r#"{"metadata":{"name":"c"},"provisioner":"p"}"#;
        check(kind, object, r#"["c","p","Delete","Immediate",false,"<unknown>"]"#);
        for prefix in ["storageclass", "storageclass.beta"] {
            let object = format!(
                r#"{{"metadata":{{"name":"c","annotations":{{"{prefix}.kubernetes.io/is-default-class":"true"}}}},
                    "provisioner":"p","reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer",
                    "allowVolumeExpansion":true}}"#
            );
            let cells = r#"["c (default)","p","Retain","WaitForFirstConsumer",true,"<unknown>"]"#;
            check(kind, &object, cells);
        }
    }

    #[test]
    fn attachments_and_attributes() {
        let object = r#"{"metadata":{"name":"a"},"spec":{"attacher":"x","nodeName":"n",
            "source":{"persistentVolumeName":"pv"}},"status":{"attached":true}}"#;
        check("storage/v1.VolumeAttachment", object, r#"["a","x","pv","n",true,"<unknown>"]"#);
        let object = r#"{"metadata":{"name":"a"},"driverName":"d"}"#;
        check("storage/v1.VolumeAttributesClass", object, r#"["a","d","<unknown>"]"#);
    }

    #[test]
    fn capacities_show_when_they_were_made() {
        let object = r#"{"metadata":{"name":"c","creationTimestamp":"2026-01-01T00:00:00Z"}}"#;
        check("storage/v1.CSIStorageCapacity", object, r#"["c","2026-01-01T00:00:00Z"]"#);
    }
}
