//! A version of a custom resource as clients see it.

use std::sync::Arc;

use pintle_admission::{Equivalent, ObjectConversion};
use pintle_cache::{BodyFormat, Feed};
use pintle_codec::Error;
use pintle_codec::kind::{self, Unreadable};
use pintle_codec::negotiate::Encoding;
use pintle_definitions::object::Coercion;
use pintle_meta::gvk::{GroupVersion, GroupVersionKind};
use pintle_meta::{Object, Status, Value, quote};
use pintle_patch::managed::Converter;
use pintle_patch::typed::TypeRef;
use pintle_registry::{Received, Result, Served, Submitted, Table};
use pintle_schema::Type;

use crate::columns::Columns;
use crate::schemas::{Cached, VersionSchema, VersionSchemas};

/// One served version.
pub(crate) struct ServedVersion {
    pub(crate) kind: GroupVersionKind,
    pub(crate) list_kind: String,
    pub(crate) namespaced: bool,
    pub(crate) schemas: Arc<VersionSchemas>,
    pub(crate) place: usize,
    pub(crate) columns: Columns,
    pub(crate) deprecation: Option<String>,
    /// Follows the store as long as this lives, where versions are converted.
    pub(crate) _feed: Option<Arc<Feed>>,
}

impl ServedVersion {
    fn schema(&self) -> &VersionSchema {
        &self.schemas.versions[self.place]
    }

    /// Brings what a client sent into the form of the schema; adds what strict readers mind.
    fn coerce(&self, object: &mut Value, strict: &mut Vec<String>) -> std::result::Result<(), String> {
        // An object of another kind is refused later, and not by this one's schema.
        let is_own = object.kind() == self.kind.kind && object.api_version() == self.schema().api_version;
        let unknown = if is_own {
            self.schemas.coerce(self.place, object, Coercion::default())?
        } else {
            pintle_definitions::object::coerce_metadata(object, false)?
        };
        strict.extend(unknown.iter().map(|path| format!("unknown field \"{path}\"")));
        Ok(())
    }
}

impl Served for ServedVersion {
    fn kind(&self) -> &GroupVersionKind {
        &self.kind
    }

    fn read(&self, encoding: Encoding, body: &[u8]) -> Result<Submitted> {
        let refuse = |unreadable: Unreadable| Box::new(unreadable.status(&self.kind.kind, body));
        if encoding == Encoding::Protobuf {
            return Err(refuse(kind::untyped_protobuf(body, &self.kind)));
        }
        let untyped = kind::decode_untyped(encoding, body).map_err(refuse)?;
        let (mut object, mut strict) = (untyped.decoded.value, untyped.decoded.strict);
        if let Err(reason) = self.coerce(&mut object, &mut strict) {
            return Err(refuse(Unreadable { kind: Some(untyped.kind), error: Error::new(reason) }));
        }
        let (found, expected) = (untyped.kind.group_version(), self.kind.group_version());
        let object = if found == expected {
            Ok(with_metadata(object))
        } else {
            Err(Box::new(kind::wrong_version(&found, &expected)))
        };
        Ok(Submitted { kind: untyped.kind, object, strict })
    }

    fn parse(&self, text: &[u8]) -> std::result::Result<Received, String> {
        let untyped = kind::decode_untyped(Encoding::Json, text).map_err(|error| error.to_string())?;
        let (mut object, mut strict) = (untyped.decoded.value, untyped.decoded.strict);
        self.coerce(&mut object, &mut strict)?;
        Ok(Received { object: with_metadata(object), strict })
    }

    fn to_stored(&self, mut object: Value) -> std::result::Result<Value, String> {
        if object.kind() == self.kind.kind && object.api_version() == self.schema().api_version {
            self.schemas.set_defaults(self.place, &mut object);
        }
        Ok(object)
    }

    fn to_served(&self, object: Value) -> Result<Value> {
        Ok(object)
    }

    fn body_format(&self, encoding: Encoding) -> Option<BodyFormat> {
        Cached::body_format(self.place, encoding)
    }

    fn write_protobuf(&self, _: &Value, _: &mut Vec<u8>) -> std::result::Result<(), String> {
        Err("custom resources have no protobuf form".into())
    }

    fn zero(&self) -> Value {
        let mut object = Object::new();
        object.insert("apiVersion", self.schema().api_version.as_str());
        object.insert("kind", self.kind.kind.as_str());
        object.insert("metadata", Object::new());
        object.into()
    }

    fn field_label(&self, label: &str, value: &str) -> std::result::Result<(String, String), String> {
        let is_known = match label {
            "metadata.name" => true,
            "metadata.namespace" => self.namespaced,
            label => self.schema().selectable.names().any(|known| known == label),
        };
        if is_known {
            Ok((label.to_owned(), value.to_owned()))
        } else {
            Err(format!("field label not supported: {label}"))
        }
    }

    fn field_place(&self, label: &str) -> Option<usize> {
        self.schema().field_place(label)
    }

    fn managed_type(&self) -> TypeRef<'_> {
        self.schemas.managed_type(self.place)
    }

    fn managed_versions(&self) -> &dyn Converter {
        self
    }

    fn strategic_type(&self) -> Option<&'static Type> {
        None
    }

    fn table(&self) -> Option<&dyn Table> {
        Some(&self.columns)
    }

    fn is_custom(&self) -> bool {
        true
    }

    fn list_kind(&self) -> String {
        self.list_kind.clone()
    }

    fn internal_name(&self) -> String {
        "unstructured.Unstructured".into()
    }

    fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }
}

/// The served versions of a custom resource, for admission. A request's objects are processed in the version of its endpoint, which
/// plays the part of the storage version here.
pub(crate) struct EquivalentVersions {
    pub(crate) schemas: Arc<VersionSchemas>,
    /// The version of the endpoint.
    pub(crate) place: usize,
    /// The resource in all served versions.
    pub(crate) equivalents: Vec<Equivalent>,
}

impl EquivalentVersions {
    fn converted(&self, object: Value, to: usize) -> Result<Value> {
        self.schemas.converted(object, to).map_err(|reason| Box::new(Status::internal(reason)))
    }

    fn find(&self, kind: &GroupVersionKind) -> Result<usize> {
        let is_served = self.equivalents.iter().any(|found| found.kind == *kind);
        let place = is_served.then(|| self.schemas.place_of(&kind.api_version())).flatten();
        place.ok_or_else(|| {
            let (api_version, kind) = (kind.api_version(), &kind.kind);
            Box::new(Status::internal(format_args!("{api_version} {kind} is not served here")))
        })
    }
}

impl ObjectConversion for EquivalentVersions {
    fn to_version(&self, object: Value, kind: &GroupVersionKind) -> Result<Value> {
        self.converted(object, self.find(kind)?)
    }

    fn to_storage(&self, object: Value, kind: &GroupVersionKind) -> Result<Value> {
        self.find(kind)?;
        let mut object = self.converted(object, self.place)?;
        self.schemas.set_defaults(self.place, &mut object);
        Ok(object)
    }

    fn parse(&self, text: &[u8], kind: &GroupVersionKind) -> std::result::Result<Value, String> {
        let place = self.find(kind).map_err(|status| status.message)?;
        let untyped = kind::decode_untyped(Encoding::Json, text).map_err(|error| error.to_string())?;
        if untyped.kind != *kind {
            return Err(format!("the patched object is of kind {}, not {kind}", untyped.kind));
        }
        let mut object = untyped.decoded.value;
        self.schemas.coerce(place, &mut object, Coercion::default())?;
        Ok(with_metadata(object))
    }

    fn managed_type(&self, kind: &GroupVersionKind) -> Option<TypeRef<'_>> {
        Some(self.schemas.managed_type(self.find(kind).ok()?))
    }

    fn equivalents(&self) -> &[Equivalent] {
        &self.equivalents
    }
}

/// Adds empty metadata to an object without any, since the server sets some.
fn with_metadata(mut object: Value) -> Value {
    if object.metadata().is_none()
        && let Some(object) = object.as_object_mut()
    {
        object.insert("metadata", Object::new());
    }
    object
}

impl Converter for ServedVersion {
    /// Errors: a version that the definition does not have (any more), which makes the reference refuse every apply to an
    /// object that a manager of that version is noted in; a failure of the webhook.
    fn convert(
        &self,
        _: TypeRef<'_>,
        object: &Value,
        api_version: &str,
    ) -> std::result::Result<Option<(TypeRef<'_>, Value)>, String> {
        let wanted = GroupVersion::parse(api_version)?;
        if wanted.group != self.kind.group {
            let (from, to) = (object.group_version_kind(), quote(api_version));
            return Err(format!("{from} is unstructured and is not suitable for converting to {to}"));
        }
        let Some(to) = self.schemas.place_of(api_version) else {
            return Err(format!("request to convert CR to an invalid group/version: {api_version}"));
        };
        let of = self.schemas.managed_type(to);
        if object.is_null() {
            return Ok(Some((of, Value::NULL)));
        }
        // By way of the version that the request is for.
        let own = self.schemas.converted(object.clone(), self.place)?;
        Ok(Some((of, self.schemas.converted(own, to)?)))
    }
}
