//! The compiled schemas of a definition: how objects of its versions are stored, cached and converted.
//!
//! A stored value is of the version that was the storage version when it was written. It is brought into the form of that
//! version by its schema (pruned, with its defaults), then into the version that is asked for. Where versions differ
//! in their name only, all of them share one cache; where a webhook converts, the store below delivers one version.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use pintle_cache::{BodyFormat, Entry, Kind, Read};
use pintle_codec::json;
use pintle_codec::negotiate::Encoding;
use pintle_definitions::object::{self, Coercion, Validator};
use pintle_definitions::paths::Selectable;
use pintle_definitions::rules::Rules;
use pintle_meta::Value;
use pintle_patch::typed::TypeRef;
use pintle_registry::Stored;
use pintle_runtime::Stopwatch;
use pintle_schema::structural::Structural;

use crate::conversion::{self, Converter};
use crate::definition::{Summary, VersionSpec};
use crate::encoding::{self, StoredAs};

/// All versions of a kind.
pub(crate) struct VersionSchemas {
    pub(crate) group: String,
    pub(crate) kind: String,
    /// Nothing is pruned: only what older releases stored is so.
    pub(crate) preserves_unknown: bool,
    /// The place of the version that objects are stored in.
    pub(crate) storage: usize,
    pub(crate) versions: Vec<VersionSchema>,
    /// Number of fields that objects can be selected by, of all versions together.
    fields: usize,
    /// Where versions differ in more than their name.
    converter: Option<Arc<dyn Converter>>,
}

/// One version.
pub(crate) struct VersionSchema {
    pub(crate) name: String,
    /// `group/version`
    pub(crate) api_version: String,
    /// Knows nothing where the definition has none.
    pub(crate) schema: Structural,
    validator: OnceLock<Validator>,
    rules: OnceLock<Rules>,
    /// Fields for field selectors, such as `spec.color`, and the index of the first among those of all versions.
    pub(crate) selectable: Selectable,
    first_field: usize,
}

/// Fields that every kind has: name and namespace.
const METADATA_FIELDS: usize = 2;

impl VersionSchemas {
    pub(crate) fn compile(
        summary: &Summary,
        specs: &[VersionSpec<'_>],
        preserves_unknown: bool,
    ) -> Result<VersionSchemas, String> {
        let mut fields = METADATA_FIELDS;
        let mut versions = Vec::with_capacity(specs.len());
        for spec in specs {
            let schema = match spec.schema.map(pintle_definitions::compile) {
                None => Structural::default(),
                Some(Ok(mut schema)) => {
                    object::prune_defaults(&mut schema)?;
                    schema
                }
                // Without structure, everything is kept.
                Some(Err(_)) if preserves_unknown => Structural::default(),
                Some(Err(reason)) => return Err(reason),
            };
            versions.push(VersionSchema {
                name: spec.name.to_owned(),
                api_version: format!("{}/{}", summary.group, spec.name),
                schema,
                validator: OnceLock::new(),
                rules: OnceLock::new(),
                selectable: Selectable::compile(spec.selectable),
                first_field: fields,
            });
            fields += spec.selectable.len();
        }
        let storage = specs.iter().position(|spec| spec.storage).ok_or("there is no storage version")?;
        Ok(VersionSchemas {
            group: summary.group.clone(),
            kind: summary.accepted.kind.clone(),
            preserves_unknown,
            storage,
            versions,
            fields,
            converter: None,
        })
    }

    pub(crate) fn place_of(&self, api_version: &str) -> Option<usize> {
        self.versions.iter().position(|version| version.api_version == api_version)
    }

    /// A stored value in the form of its own version, and the place of that.
    fn read_stored(&self, stored: &[u8]) -> Result<(Value, usize), String> {
        let mut object = encoding::decode(stored)?;
        let api_version = object.api_version().to_owned();
        let Some(place) = self.place_of(&api_version) else {
            return Err(format!("request to convert CR from an invalid group/version: {api_version}"));
        };
        self.coerce(place, &mut object, Coercion::STORED)?;
        self.set_defaults(place, &mut object);
        Ok((object, place))
    }

    /// A value that was converted, or need not be, and has its form already.
    fn read_converted(&self, value: &[u8]) -> Result<(Value, usize), String> {
        let object = encoding::decode(value)?;
        let place = self.place_of(object.api_version()).ok_or("there is no such version")?;
        Ok((object, place))
    }

    /// Brings an object into the form of its version's schema, without defaults. Returns the unknown fields.
    pub(crate) fn coerce(
        &self,
        place: usize,
        object: &mut Value,
        how: Coercion,
    ) -> Result<Vec<String>, String> {
        let how = Coercion { preserve_unknown: self.preserves_unknown, ..how };
        object::coerce(&self.versions[place].schema, object, how)
    }

    pub(crate) fn set_defaults(&self, place: usize, object: &mut Value) {
        object::default(&self.versions[place].schema, object);
    }

    /// An object of one version as one of another, where they differ in their name only.
    pub(crate) fn renamed(&self, mut object: Value, from: usize, to: usize) -> Result<Value, String> {
        if from == to {
            return Ok(object);
        }
        if let Some(object) = object.as_object_mut() {
            object.insert("apiVersion", self.versions[to].api_version.as_str());
        }
        self.coerce(to, &mut object, Coercion::default())?;
        Ok(object)
    }

    pub(crate) fn converted_by(mut self, converter: Option<Arc<dyn Converter>>) -> VersionSchemas {
        self.converter = converter;
        self
    }

    /// An object in another version as the converter gives it, for field managers that refer to that version: fields that
    /// its schema does not have are kept, unlike in what is read from the store, so that field management refuses them.
    /// The caller waits where a webhook is asked.
    pub(crate) fn converted(&self, mut object: Value, to: usize) -> Result<Value, String> {
        let to_version = &self.versions[to].api_version;
        let Some(converter) = self.converter.as_ref().filter(|_| object.api_version() != to_version) else {
            conversion::rename(&mut object, to_version);
            return Ok(object);
        };
        let converter = converter.clone();
        let ask = async { converter.convert(vec![object], to_version).await };
        let wait = || tokio::runtime::Handle::current().block_on(ask);
        let converted =
            pintle_work::wait(|| tokio::task::block_in_place(wait)).map_err(|failure| failure.to_string())?;
        Ok(converted.into_iter().next().ok_or("nothing was converted")?)
    }

    /// The type by which the fields of a version are managed.
    pub(crate) fn managed_type(&self, place: usize) -> TypeRef<'_> {
        TypeRef::custom(&self.versions[place].schema)
    }
}

impl VersionSchema {
    /// The place of a field that objects of this version can be selected by.
    pub(crate) fn field_place(&self, label: &str) -> Option<usize> {
        match label {
            "metadata.name" => Some(0),
            "metadata.namespace" => Some(1),
            label => {
                let place = self.selectable.names().position(|known| known == label)?;
                Some(self.first_field + place)
            }
        }
    }

    pub(crate) fn validator(&self) -> &Validator {
        self.validator.get_or_init(|| Validator::new(&self.schema))
    }

    /// Says how long it took, if they are compiled only now.
    pub(crate) fn rules(&self, compiled: impl FnOnce(Duration)) -> &Rules {
        self.rules.get_or_init(|| {
            let stopwatch = Stopwatch::start();
            let rules = Rules::compile(&self.schema);
            if !rules.is_empty() {
                compiled(stopwatch.elapsed());
            }
            rules
        })
    }
}

impl conversion::ObjectSchemas for VersionSchemas {
    fn read(&self, stored: &[u8]) -> Result<Value, String> {
        self.read_stored(stored).map(|(object, _)| object)
    }

    fn coerce_converted(&self, mut converted: Value) -> Result<Value, String> {
        let place = self.place_of(converted.api_version()).ok_or("there is no such version")?;
        self.coerce(place, &mut converted, Coercion::default())?;
        Ok(converted)
    }
}

/// Objects of one version, on their way to and from the store.
pub(crate) struct StoredVersion {
    pub(crate) schemas: Arc<VersionSchemas>,
    pub(crate) place: usize,
    pub(crate) write: Write,
    pub(crate) stored_as: StoredAs,
}

/// In which version objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// In the one that is to be stored, which differs in its name only.
    Renamed,
    /// In the served version, and read so; the backend below converts it.
    AsServed,
    /// In the one that they were in. Nor are they read in another.
    AsItIs,
}

impl Stored for StoredVersion {
    fn decode(&self, stored: &[u8]) -> Result<Value, String> {
        match self.write {
            Write::AsItIs => Ok(self.schemas.read_stored(stored)?.0),
            Write::AsServed => Ok(self.schemas.read_converted(stored)?.0),
            Write::Renamed => {
                let (object, from) = self.schemas.read_stored(stored)?;
                self.schemas.renamed(object, from, self.place)
            }
        }
    }

    fn encode(&self, object: &Value) -> Result<Bytes, String> {
        let renamed;
        let object = if self.write == Write::Renamed && self.place != self.schemas.storage {
            renamed = self.schemas.renamed(object.clone(), self.place, self.schemas.storage)?;
            &renamed
        } else {
            object
        };
        Ok(self.stored_as.encode(object).into())
    }
}

/// How the cache reads the objects. The index of a version is its form.
pub(crate) struct Cached {
    pub(crate) schemas: Arc<VersionSchemas>,
    /// The backend below has converted them to the served version.
    pub(crate) converted: bool,
}

impl Cached {
    pub(crate) fn body_format(place: usize, encoding: Encoding) -> Option<BodyFormat> {
        match encoding {
            Encoding::Json => u16::try_from(place).ok().map(BodyFormat),
            Encoding::Yaml | Encoding::Cbor | Encoding::Protobuf => None,
        }
    }
}

impl Kind for Cached {
    fn read(&self, _: &str, stored: &Bytes) -> Result<Read, String> {
        let schemas = &self.schemas;
        let (object, place) =
            if self.converted { schemas.read_converted(stored)? } else { schemas.read_stored(stored)? };
        let labels = object.labels().map(|(key, value)| (key.into(), value.into())).collect();
        let mut fields = Vec::with_capacity(schemas.fields);
        fields.push(object.name().into());
        fields.push(object.namespace().into());
        for (to, version) in schemas.versions.iter().enumerate() {
            if version.selectable.names().next().is_some() {
                let seen = schemas.renamed(object.clone(), place, to)?;
                let values = version.selectable.values(&seen)?;
                fields.extend(values.iter().map(|value| value.as_str().into()));
            }
        }
        // In the encoding that it has, so that what is stored is mostly kept as it is and once.
        let value = StoredAs::detect(stored).encode(&object);
        let value = if value == **stored { stored.clone() } else { value.into() };
        Ok(Read { value, labels, fields: fields.into() })
    }

    fn encode(&self, entry: &Entry, format: BodyFormat) -> Result<Bytes, String> {
        let schemas = &self.schemas;
        let value = encoding::decode(entry.read()?.value())?;
        let from = schemas.place_of(value.api_version()).ok_or("there is no such version")?;
        let mut object = schemas.renamed(value, from, usize::from(format.0))?;
        if let Some(metadata) = object.metadata_mut() {
            metadata.insert("resourceVersion", entry.revision().to_string());
        }
        let mut out = Vec::with_capacity(entry.stored().len() + 64);
        json::encode(&object, &mut out);
        Ok(out.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With two versions: the first is stored, and objects can be selected by their color.
    fn schemas() -> Arc<VersionSchemas> {
        let version = |name: &str, storage: bool| {
            format!(
                r#"{{"name":"{name}","served":true,"storage":{storage},
                    "selectableFields":[{{"jsonPath":".spec.color"}}],
                    "schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object",
                        "properties":{{"color":{{"type":"string"}},"size":{{"type":"number","default":2}}}}}}}}}}}}}}"#
            )
        };
        let text = format!(
            r#"{{"metadata":{{"name":"boats.x.io"}},"spec":{{"group":"x.io","versions":[{},{}]}},
                "status":{{"acceptedNames":{{"plural":"boats","kind":"Boat"}}}}}}"#,
            version("v1", true),
            version("v2", false)
        );
        let definition = json::decode_untyped(text.as_bytes()).unwrap().value;
        let specs = crate::definition::versions(&definition);
        Arc::new(VersionSchemas::compile(&Summary::read(&definition), &specs, false).unwrap())
    }

    fn boat(version: &str, spec: &str) -> Value {
        let text = format!(
            r#"{{"apiVersion":"x.io/{version}","kind":"Boat","spec":{spec},
                "metadata":{{"generation":1,"labels":{{"a":"b"}},"name":"n"}}}}"#
        );
        json::decode_untyped(text.as_bytes()).unwrap().value
    }

    #[test]
    fn objects_are_written_as_told_and_read_whatever_they_are() {
        let whole = r#"{"color":"red","size":2}"#;
        for stored_as in [StoredAs::Json, StoredAs::Cbor] {
            let v2 = StoredVersion { schemas: schemas(), place: 1, write: Write::Renamed, stored_as };
            assert_eq!(v2.encode(&boat("v2", whole)).unwrap(), stored_as.encode(&boat("v1", whole)));
            for found in [StoredAs::Json, StoredAs::Cbor] {
                let stored = found.encode(&boat("v1", r#"{"color":"red","odd":1}"#));
                assert_eq!(v2.decode(&stored), Ok(boat("v2", whole)), "{found:?}");
            }
        }
    }

    #[test]
    fn the_cache_keeps_values_in_the_encoding_that_they_have() {
        let cached = Cached { schemas: schemas(), converted: false };
        let normal = boat("v1", r#"{"color":"red","size":2}"#);
        for stored_as in [StoredAs::Json, StoredAs::Cbor] {
            let value = stored_as.encode(&normal);
            let sparse = stored_as.encode(&boat("v1", r#"{"color":"red","odd":1}"#));
            for stored in [value.clone(), sparse] {
                let read = cached.read("n", &stored.into()).unwrap();
                assert_eq!(read.value, value);
                assert_eq!(*read.labels, [("a".into(), "b".into())]);
                assert_eq!(*read.fields, ["n", "", "red", "red"]);
            }
        }
        let cut_off = StoredAs::Cbor.encode(&normal)[..9].to_vec();
        let told = "unable to determine group/version/kind: unexpected EOF";
        assert_eq!(cached.read("n", &cut_off.into()).unwrap_err(), told);
    }
}
