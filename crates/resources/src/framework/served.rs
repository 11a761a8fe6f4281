//! Built-in kinds as clients see them: one served version of a resource, or what a subresource speaks.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use pintle_cache::BodyFormat;
use pintle_codec::kind::{self, Unreadable};
use pintle_codec::negotiate::Encoding;
use pintle_codec::protobuf;
use pintle_codec::table::{Column, Completed, Empty};
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::time::Time;
use pintle_meta::{Status, Value};
use pintle_patch::managed::Converter;
use pintle_patch::typed::TypeRef;
use pintle_registry::{Received, Result, Served, Submitted, Table};
use pintle_schema::normal::zero_struct;
use pintle_schema::{Resource, Type, find, find_kind};

use super::{conversion, defaults, deprecation, field_labels};
use crate::framework::builtin::{Body, Builtin};
use crate::framework::columns::{self, Columns};

/// A version of a built-in kind.
#[derive(Debug)]
pub struct Version {
    kind: GroupVersionKind,
    of: &'static Type,
    /// The stored type; the type itself for objects that are not stored.
    stored: &'static Type,
    builtin: Option<Arc<Builtin>>,
    columns: Option<Printed>,
    /// Printed in place of the kind's own columns.
    table: Option<OtherTable>,
    deprecation: Option<String>,
    /// The labels of field selectors, in the order in which the cache reads them.
    fields: Vec<&'static str>,
    /// Other versions that clients may send.
    also: Vec<&'static Type>,
    /// For objects that are not stored; a stored kind has its own.
    defaults: defaults::Settings,
}

#[derive(Debug)]
struct Printed {
    columns: &'static Columns,
    stored: &'static Type,
    /// The type that cells are read from.
    reads: &'static Type,
}

/// Columns of a custom resource's scale.
struct OtherTable(Arc<dyn Table>);

impl fmt::Debug for OtherTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.columns().iter().map(|column| column.name)).finish()
    }
}

impl Version {
    /// Of a resource or subresource. `builtin` is how its objects are stored, if what it speaks is what is stored.
    pub fn new(resource: &Resource, builtin: Option<Arc<Builtin>>) -> Version {
        let of = resource.kind;
        let stored = builtin.as_ref().map_or(of, |builtin| builtin.stored());
        let columns = columns::of_resource(resource).map(|columns| {
            let reads = columns.reads.and_then(find).unwrap_or(stored);
            Printed { columns, stored, reads }
        });
        let fields = match &builtin {
            Some(_) => field_labels::fields(stored, &Value::NULL).iter().map(|(label, _)| *label).collect(),
            None => Vec::new(),
        };
        let kind = GroupVersionKind::from_api_version(&of.api_version(), of.kind_name());
        let deprecation = deprecation::warning(&kind);
        let (table, also, defaults) = (None, Vec::new(), defaults::Settings::default());
        Version { kind, of, stored, builtin, columns, table, deprecation, fields, also, defaults }
    }

    /// With something that every request for it is warned of.
    #[must_use]
    pub fn deprecated(mut self, warning: &str) -> Version {
        self.deprecation = Some(warning.to_owned());
        self
    }

    /// With other columns than the kind has elsewhere.
    #[must_use]
    pub fn shown_by(mut self, table: Arc<dyn Table>) -> Version {
        self.table = Some(OtherTable(table));
        self
    }

    /// With these settings for the defaults of objects that are not stored.
    #[must_use]
    pub fn with_defaults(mut self, settings: defaults::Settings) -> Version {
        self.defaults = settings;
        self
    }

    /// With another version that clients may send in place of this one.
    #[must_use]
    pub fn or(mut self, other: &str) -> Version {
        self.also.extend(find(other));
        self
    }
}

fn internal(reason: impl fmt::Display) -> Box<Status> {
    Box::new(Status::internal(reason))
}

impl Served for Version {
    fn kind(&self) -> &GroupVersionKind {
        &self.kind
    }

    fn read(&self, encoding: Encoding, body: &[u8]) -> Result<Submitted> {
        let refuse = |unreadable: Unreadable| Box::new(unreadable.status(&self.kind.kind, body));
        let typed = kind::decode(encoding, body, Some(&self.kind)).map_err(refuse)?;
        let (value, strict) = (typed.decoded.value, typed.decoded.strict);
        let object = match typed.of {
            of if of == self.of => Ok(value),
            of if conversion::hub(of) != conversion::hub(self.of) => {
                let error = kind::not_convertible(of, self.of);
                return Err(refuse(Unreadable { kind: Some(typed.kind), error }));
            }
            of if self.also.contains(&of) => conversion::convert_from(of, self.of, value).map_err(internal),
            _ => {
                let (found, expected) = (typed.kind.group_version(), self.kind.group_version());
                Err(Box::new(kind::wrong_version(&found, &expected)))
            }
        };
        Ok(Submitted { kind: typed.kind, object, strict })
    }

    fn parse(&self, text: &[u8]) -> std::result::Result<Received, String> {
        let typed =
            kind::decode(Encoding::Json, text, Some(&self.kind)).map_err(|error| error.to_string())?;
        if typed.of != self.of {
            return Err(kind::not_convertible(typed.of, self.of).to_string());
        }
        Ok(Received { object: typed.decoded.value, strict: typed.decoded.strict })
    }

    fn to_stored(&self, mut object: Value) -> std::result::Result<Value, String> {
        match &self.builtin {
            Some(builtin) => builtin.from_version(self.of, object),
            None => {
                defaults::apply(self.of, &mut object, &self.defaults);
                Ok(object)
            }
        }
    }

    fn to_served(&self, object: Value) -> Result<Value> {
        match &self.builtin {
            Some(builtin) => builtin.to_version(self.of, object).map_err(internal),
            None => Ok(object),
        }
    }

    fn body_format(&self, encoding: Encoding) -> Option<BodyFormat> {
        let body = match encoding {
            Encoding::Json => Body::Json,
            Encoding::Protobuf => Body::Protobuf,
            Encoding::Yaml | Encoding::Cbor => return None,
        };
        self.builtin.as_ref()?.body_format(self.of, body)
    }

    fn write_protobuf(&self, object: &Value, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        protobuf::encode(self.of, object, out).map_err(|error| error.to_string())
    }

    fn zero(&self) -> Value {
        let mut object = self.of.structure().map_or(Value::NULL, zero_struct);
        if let Some(object) = object.as_object_mut() {
            object.insert("kind", self.kind.kind.as_str());
            object.insert("apiVersion", self.kind.api_version());
        }
        object
    }

    fn field_label(&self, label: &str, value: &str) -> std::result::Result<(String, String), String> {
        let GroupVersionKind { group, version, kind } = &self.kind;
        field_labels::convert(group, version, kind, label, value)
    }

    fn field_place(&self, label: &str) -> Option<usize> {
        self.fields.iter().position(|known| *known == label)
    }

    fn managed_type(&self) -> TypeRef<'_> {
        self.of.into()
    }

    fn managed_versions(&self) -> &dyn Converter {
        self
    }

    fn strategic_type(&self) -> Option<&'static Type> {
        Some(self.of)
    }

    fn table(&self) -> Option<&dyn Table> {
        match &self.table {
            Some(OtherTable(table)) => Some(&**table),
            None => self.columns.as_ref().map(|shown| shown as &dyn Table),
        }
    }

    fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }

    fn removed_release(&self) -> Option<&str> {
        deprecation::removed_release(&self.kind)
    }

    fn internal_name(&self) -> String {
        let group = self.of.name.split('/').next().unwrap_or_default();
        format!("{group}.{}", self.kind.kind)
    }
}

impl Converter for Version {
    fn convert(
        &self,
        of: TypeRef<'_>,
        object: &Value,
        api_version: &str,
    ) -> std::result::Result<Option<(TypeRef<'_>, Value)>, String> {
        let kind = GroupVersionKind::from_api_version(api_version, &self.kind.kind);
        let Some(to) = find_kind(&kind.group, &kind.version, &kind.kind) else { return Ok(None) };
        if conversion::hub(to) != conversion::hub(self.stored) {
            return Ok(None);
        }
        let from = of.named().unwrap_or(self.of);
        let converted =
            conversion::convert_from(from, to, object.clone()).map_err(|error| error.to_string())?;
        Ok(Some((to.into(), converted)))
    }
}

impl Table for Printed {
    fn columns(&self) -> Cow<'_, [Column<'_>]> {
        self.columns.definitions.into()
    }

    fn empty(&self) -> Empty {
        self.columns.empty
    }

    fn always_defined(&self) -> bool {
        self.columns.always_defined
    }

    fn cells(&self, object: &Value, now: Time, cells: &mut Vec<Value>) -> Result<Option<Completed>> {
        let converted;
        let object = if self.reads == self.stored {
            object
        } else {
            let object = conversion::convert_from(self.stored, self.reads, object.clone());
            converted = object.map_err(internal)?;
            &converted
        };
        self.columns.cells(object, &columns::Context { now }, cells);
        Ok(self.columns.completed(object))
    }

    fn order(&self) -> Option<fn(&Value, &Value) -> Ordering> {
        self.columns.order()
    }
}

#[cfg(test)]
mod tests {
    use pintle_features::Feature;
    use pintle_schema::Resources;

    use super::*;
    use crate::framework::strategy::{self, Settings};

    /// Returns a client's JSON as a control plane with one gate set stores it.
    fn stored(group: &str, name: &str, gate: (Feature, bool), text: &str) -> Value {
        let resources = Resources::builtin().unwrap();
        let resource = resources.find(group, "v1", name).unwrap();
        let mut settings = Settings::default();
        settings.features = settings.features.with(gate.0, gate.1);
        let strategy = strategy::of(group, name, &settings).unwrap();
        let kind = resource.storage.unwrap().kind;
        let builtin =
            Builtin::decorated_by(strategy, settings.defaults(), Encoding::Protobuf, kind, &resources);
        let version = Version::new(resource, Some(builtin));
        let object = version.read(Encoding::Json, text.as_bytes()).unwrap().object.unwrap();
        version.to_stored(object).unwrap()
    }

    #[test]
    fn feature_gates_decide_on_defaults() {
        let pod = |is_on| {
            let text = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{
                "resources":{"limits":{"cpu":"1"}},
                "containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"250m"}}}]}}"#;
            let pod = stored("", "pods", (Feature::PodLevelResources, is_on), text);
            pod.text_at(&["spec", "resources", "requests", "cpu"]).to_owned()
        };
        assert_eq!((pod(true), pod(false)), ("250m".to_owned(), String::new()));

        let set = |is_on| {
            let text = r#"{"kind":"StatefulSet","apiVersion":"apps/v1","metadata":{"name":"a"},"spec":{
                "serviceName":"s","selector":{},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#;
            let set = stored("apps", "statefulsets", (Feature::MaxUnavailableStatefulSet, is_on), text);
            set.at(&["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"]).and_then(Value::as_i64)
        };
        assert_eq!((set(true), set(false)), (Some(1), None));

        let driver = |is_on| {
            let text =
                r#"{"kind":"CSIDriver","apiVersion":"storage.k8s.io/v1","metadata":{"name":"a"},"spec":{}}"#;
            let driver = stored("storage.k8s.io", "csidrivers", (Feature::VolumeLimitScaling, is_on), text);
            driver.at(&["spec", "preventPodSchedulingIfMissing"]).and_then(Value::as_bool)
        };
        assert_eq!((driver(true), driver(false)), (Some(false), None));
    }
}
