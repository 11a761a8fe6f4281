//! A pod, or the template of one, as checks see it.

use pintle_meta::Value;

/// The metadata and spec of a pod.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Pod<'a> {
    object: &'a Value,
    spec: &'a Value,
}

impl<'a> Pod<'a> {
    /// Takes a Pod or a PodTemplateSpec.
    pub(in super::super) fn new(object: &'a Value) -> Pod<'a> {
        Pod { object, spec: object.get("spec").unwrap_or(&Value::NULL) }
    }

    /// Returns the runtime class that the pod names.
    pub(in super::super) fn runtime_class(&self) -> &'a str {
        self.spec.text_at(&["runtimeClassName"])
    }

    pub(super) fn spec(&self) -> &'a Value {
        self.spec
    }

    /// Returns the security context of the pod.
    pub(super) fn security_context(&self) -> Option<&'a Value> {
        self.spec.get("securityContext")
    }

    /// Returns the init containers, the containers and the ephemeral containers.
    pub(super) fn containers(&self) -> impl Iterator<Item = Container<'a>> + use<'a> {
        let spec = self.spec;
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(move |field| spec.items_at(&[field]))
            .map(Container)
    }

    pub(super) fn volumes(&self) -> &'a [Value] {
        self.spec.items_at(&["volumes"])
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&'a str> {
        self.object.annotation(key)
    }

    pub(super) fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.object.annotations()
    }

    /// Returns whether the pod is for Windows, where some settings of Linux cannot be made.
    pub(super) fn is_for_windows(&self) -> bool {
        self.spec.text_at(&["os", "name"]) == "windows"
    }

    /// Returns whether users of the pod are not those of the host.
    pub(super) fn has_user_namespace(&self) -> bool {
        self.spec.get("hostUsers").and_then(Value::as_bool) == Some(false)
    }
}

/// A container of any kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container<'a>(&'a Value);

impl<'a> Container<'a> {
    pub(super) fn name(self) -> &'a str {
        self.0.text_at(&["name"])
    }

    pub(super) fn get(self, field: &str) -> Option<&'a Value> {
        self.0.get(field)
    }

    pub(super) fn security_context(self) -> Option<&'a Value> {
        self.get("securityContext")
    }

    /// Returns a field of the security context.
    pub(super) fn setting(self, field: &str) -> Option<&'a Value> {
        self.security_context()?.get(field)
    }

    /// Returns a field of the security context that is true, false or not set.
    pub(super) fn flag(self, field: &str) -> Option<bool> {
        self.setting(field)?.as_bool()
    }
}
