//! The objects of a built-in resource: how they are stored, cached, read from clients and written to them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use pintle_cache::{BodyFormat, Entry, Kind, Read};
use pintle_codec::negotiate::Encoding;
use pintle_codec::protobuf::transcode;
use pintle_codec::{Error, cbor, json, kind, protobuf, yaml};
use pintle_meta::Value;
use pintle_registry::{Stored, Strategy};
use pintle_schema::{Resource, Resources, Type};

use super::{conversion, defaults, field_labels};

/// Groups that are stored as JSON and not as protobuf: those of the reference's two other servers.
const STORED_AS_JSON: &[&str] = &["apiextensions.k8s.io", "apiregistration.k8s.io"];

/// Fields that lists and watches select by so often that the cache has an index: each kubelet asks for its pods.
const INDEXED: &[(&str, &str)] = &[("core/v1.Pod", "spec.nodeName")];

/// Kinds with objects in them that say their own kind in JSON (the claims of a stateful set) and cannot in protobuf, whose
/// messages have no place for it. It is put in on the way through the internal type, so their JSON is made of a tree.
const WITH_KINDS_INSIDE: &[&str] = &["apps/v1.StatefulSet"];

/// In which encoding a body is. A form is an encoding of a served version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// The object without kind and apiVersion, which a frame puts in where they belong.
    Json,
    /// A bare message.
    Protobuf,
}

/// One stored kind and the versions that it is served in.
#[derive(Debug)]
pub struct Builtin {
    stored: &'static Type,
    /// The encoding of new values. Values in any encoding are read.
    encoding: Encoding,
    /// The cache's values are JSON, not protobuf.
    as_json: bool,
    /// The number of a version is its place here.
    versions: Vec<&'static Type>,
    /// Of each of them, whether it differs from the stored one in its name only. Found out when first asked.
    direct: OnceLock<Vec<bool>>,
    /// The places of [`INDEXED`] fields.
    indexed: Vec<usize>,
    /// Decorates the objects that are read.
    strategy: Option<Arc<dyn Strategy>>,
    defaults: defaults::Settings,
}

impl Builtin {
    /// Of a kind that is stored, with all versions of the table that are stored as it.
    pub fn new(stored: &'static Type, resources: &Resources) -> Arc<Builtin> {
        Builtin::stored_as(Encoding::Protobuf, stored, resources)
    }

    /// The same, with new values in another encoding; those that are always JSON stay so.
    pub fn stored_as(encoding: Encoding, stored: &'static Type, resources: &Resources) -> Arc<Builtin> {
        Arc::new(Builtin::make(encoding, stored, resources))
    }

    /// The same, with objects shown as the resource's strategy decorates them, and defaults as the control plane's features
    /// say.
    pub fn decorated_by(
        strategy: Arc<dyn Strategy>,
        defaults: defaults::Settings,
        encoding: Encoding,
        stored: &'static Type,
        resources: &Resources,
    ) -> Arc<Builtin> {
        Arc::new(Builtin { strategy: Some(strategy), defaults, ..Builtin::make(encoding, stored, resources) })
    }

    fn make(encoding: Encoding, stored: &'static Type, resources: &Resources) -> Builtin {
        let of_version = |resource: &Resource| {
            resource.storage.filter(|storage| storage.kind == stored).map(|_| resource.kind)
        };
        let all = resources.versions().iter().flat_map(|version| version.resources.iter());
        let versions = all.filter_map(of_version).collect();
        let as_json = STORED_AS_JSON.contains(&&*stored.group());
        let encoding = if as_json { Encoding::Json } else { encoding };
        let is_indexed = |label: &str| INDEXED.contains(&(stored.name, label));
        let labels = field_labels::fields(stored, &Value::NULL).into_iter().enumerate();
        let indexed = labels.filter(|(_, (label, _))| is_indexed(label)).map(|(place, _)| place).collect();
        Builtin {
            stored,
            encoding,
            as_json,
            versions,
            direct: OnceLock::new(),
            indexed,
            strategy: None,
            defaults: defaults::Settings::default(),
        }
    }

    /// The kind that is stored.
    pub fn stored(&self) -> &'static Type {
        self.stored
    }

    /// The form of a served version in an encoding.
    pub fn body_format(&self, version: &'static Type, body: Body) -> Option<BodyFormat> {
        let number = self.versions.iter().position(|known| *known == version)?;
        Some(BodyFormat(number as u16 * 2 + u16::from(body == Body::Protobuf)))
    }

    fn meaning(&self, format: BodyFormat) -> Option<(&'static Type, Body)> {
        let version = self.versions.get(usize::from(format.0 / 2))?;
        Some((version, if format.0.is_multiple_of(2) { Body::Json } else { Body::Protobuf }))
    }

    /// Whether stored bytes are what the cache keeps of them: of the stored version, canonical to the byte, with all
    /// defaults, and as the way through the internal types leaves them. The first two need no tree, and refuse most of
    /// what is not.
    pub fn is_normal(&self, stored: &[u8]) -> bool {
        if self.as_json {
            self.decode(stored).and_then(|object| self.normal(&object)).is_ok_and(|again| again == stored)
        } else {
            self.normal_object(stored).is_some()
        }
    }

    /// The object of stored protobuf that is normal.
    fn normal_object(&self, stored: &[u8]) -> Option<Value> {
        let envelope = protobuf::envelope::open(stored).ok()?;
        let is_ours = envelope.kind == self.stored.kind_name()
            && envelope.api_version == self.stored.api_version()
            && protobuf::envelope::length(envelope.api_version, envelope.kind, envelope.raw.len())
                == stored.len();
        if !is_ours || !transcode::is_normal(self.stored, envelope.raw) {
            return None;
        }
        let object = protobuf::decode(self.stored, envelope.raw).ok()?;
        self.is_canonical(&object).then_some(object)
    }

    /// Whether an object has all its defaults, and comes as it is from the way through the internal types.
    fn is_canonical(&self, object: &Value) -> bool {
        let mut through = object.clone();
        conversion::round_trip(self.stored, &mut through).is_ok()
            && through.is_same(object)
            && defaults::is_defaulted(self.stored, object, &self.defaults)
    }

    /// The bytes of an object as the cache keeps it.
    fn normal(&self, object: &Value) -> Result<Bytes, String> {
        self.write(if self.as_json { Encoding::Json } else { Encoding::Protobuf }, object)
    }

    fn write(&self, encoding: Encoding, object: &Value) -> Result<Bytes, String> {
        let mut out = Vec::new();
        match encoding {
            Encoding::Json => {
                json::encode(object, &mut out);
                // As the reference's encoder ends a document.
                out.push(b'\n');
            }
            Encoding::Yaml => yaml::encode(object, &mut out),
            Encoding::Cbor => cbor::encode(object, &mut out),
            Encoding::Protobuf => {
                let (version, kind) = (self.stored.api_version(), self.stored.kind_name());
                let mut message = Vec::new();
                protobuf::encode(self.stored, object, &mut message).map_err(|error| error.to_string())?;
                protobuf::envelope::write(&version, kind, &message, &mut out);
            }
        }
        Ok(out.into())
    }

    /// An object of the stored version as a served one.
    pub fn to_version(&self, version: &'static Type, object: Value) -> Result<Value, String> {
        conversion::convert_from(self.stored, version, object).map_err(|error| error.to_string())
    }

    /// An object of a served version as it will be stored: with its defaults, converted.
    pub fn from_version(&self, version: &'static Type, mut object: Value) -> Result<Value, String> {
        defaults::apply(version, &mut object, &self.defaults);
        conversion::convert_from(version, self.stored, object).map_err(|error| error.to_string())
    }
}

impl Stored for Builtin {
    fn decode(&self, stored: &[u8]) -> Result<Value, String> {
        let typed =
            kind::decode(kind::recognize(stored), stored, None).map_err(|error| error.error.to_string())?;
        let mut object = typed.decoded.value;
        defaults::apply(typed.of, &mut object, &self.defaults);
        // Also where the version is the stored one: the way through the internal types changes some objects.
        object =
            conversion::convert_from(typed.of, self.stored, object).map_err(|error| error.to_string())?;
        if typed.of != self.stored {
            defaults::apply(self.stored, &mut object, &self.defaults);
        }
        Ok(object)
    }

    fn encode(&self, object: &Value) -> Result<Bytes, String> {
        self.write(self.encoding, object)
    }

    fn decode_again(&self, object: Value, stored: &[u8]) -> Result<Value, String> {
        let kept = self.encoding == Encoding::Protobuf
            && protobuf::round_trips(self.stored, &object)
            && self.is_canonical(&object);
        if kept { Ok(object) } else { self.decode(stored) }
    }
}

impl Kind for Builtin {
    fn read(&self, _: &str, stored: &Bytes) -> Result<Read, String> {
        // Mostly the bytes are normal already, and then there is one copy of them.
        let (object, value) = match self.normal_object(stored) {
            Some(object) => (object, stored.clone()),
            None => {
                let object = self.decode(stored)?;
                let normal = self.normal(&object)?;
                let value = if normal == *stored { stored.clone() } else { normal };
                (object, value)
            }
        };
        let labels = object.labels().map(|(key, value)| (key.into(), value.into())).collect();
        let fields = field_labels::fields(self.stored, &object);
        let fields = fields.into_iter().map(|(_, value)| value.as_ref().into()).collect();
        // Selectors are about what is stored.
        let value = match self.strategy.as_ref().and_then(|strategy| strategy.decorated(&object)) {
            Some(shown) => self.normal(&shown)?,
            None => value,
        };
        Ok(Read { value, labels, fields })
    }

    fn indexed_fields(&self) -> &[usize] {
        &self.indexed
    }

    fn body_length(&self, entry: &Entry, format: BodyFormat) -> Option<usize> {
        let (version, Body::Protobuf) = self.meaning(format)? else { return None };
        if !self.is_direct(version) {
            return None;
        }
        // Values of the cache are in normal form.
        let message = protobuf::envelope::message(entry.read().ok()?.value())?;
        protobuf::length_with_resource_version(message, &entry.revision().to_string())
    }

    fn write_body(&self, entry: &Entry, format: BodyFormat, out: &mut Vec<u8>) -> Result<(), String> {
        let (version, body) = self.meaning(format).ok_or("there is no such form")?;
        let (value, revision) = (entry.read()?.value(), entry.revision().to_string());
        self.write_body_of(version, body, value, &revision, out).map_err(|error| error.to_string())
    }

    fn encode(&self, entry: &Entry, format: BodyFormat) -> Result<Bytes, String> {
        let (version, body) = self.meaning(format).ok_or("there is no such form")?;
        let (value, revision) = (entry.read()?.value(), entry.revision().to_string());
        self.body(version, body, value, &revision).map_err(|error| error.to_string()).map(Bytes::from)
    }
}

impl Builtin {
    /// The body of a normal stored value in a version, at a revision.
    fn body(
        &self,
        version: &'static Type,
        body: Body,
        value: &[u8],
        revision: &str,
    ) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.write_body_of(version, body, value, revision, &mut out)?;
        Ok(out)
    }

    /// Whether a version differs from the stored one in its name only, so that no tree is needed.
    fn is_direct(&self, version: &'static Type) -> bool {
        let find = || self.versions.iter().map(|version| conversion::is_same(self.stored, version)).collect();
        let direct: &Vec<bool> = self.direct.get_or_init(find);
        let place = self.versions.iter().position(|known| *known == version);
        !self.as_json && place.is_some_and(|place| direct[place])
    }

    fn write_body_of(
        &self,
        version: &'static Type,
        body: Body,
        value: &[u8],
        revision: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let is_whole = body == Body::Protobuf || !WITH_KINDS_INSIDE.contains(&self.stored.name);
        if is_whole && self.is_direct(version) {
            let message = match protobuf::envelope::message(value) {
                Some(message) => message,
                None => protobuf::envelope::open(value)?.raw,
            };
            match body {
                Body::Json => {
                    let options = transcode::Options { type_meta: None, resource_version: Some(revision) };
                    transcode::to_json(version, message, &options, out)?;
                }
                Body::Protobuf => {
                    protobuf::with_resource_version(version, message, revision, out)?;
                }
            }
            return Ok(());
        }
        let mut object =
            self.decode(value).and_then(|object| self.to_version(version, object)).map_err(Error::new)?;
        if let Some(metadata) = object.metadata_mut() {
            metadata.insert("resourceVersion", revision);
        }
        match body {
            Body::Protobuf => protobuf::encode(version, &object, out)?,
            Body::Json => {
                if let Some(object) = object.as_object_mut() {
                    object.remove("kind");
                    object.remove("apiVersion");
                }
                json::encode(&object, out);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use pintle_schema::Shape;

    use super::*;

    #[test]
    fn bodies_of_any_version_carry_the_revision_and_no_kind() {
        let resources = Resources::builtin().unwrap();
        let find = |name: &str| pintle_schema::find(name).unwrap();
        let (v1, v2) =
            (find("autoscaling/v1.HorizontalPodAutoscaler"), find("autoscaling/v2.HorizontalPodAutoscaler"));
        let autoscalers = Builtin::new(v2, &resources);
        let text =
            br#"{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2","metadata":{"name":"a"},
            "spec":{"scaleTargetRef":{"kind":"D","name":"d"},"maxReplicas":3,"metrics":[{"type":"Resource",
            "resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}}"#;
        let stored = Stored::encode(&*autoscalers, &json::decode(v2, text).unwrap().value).unwrap();
        let json = |version| {
            let body = autoscalers.body(version, Body::Json, &stored, "7").unwrap();
            String::from_utf8(body).unwrap()
        };
        assert!(
            json(v2)
                .starts_with(r#"{"metadata":{"name":"a","resourceVersion":"7"},"spec":{"scaleTargetRef""#)
        );
        assert!(json(v1).contains(r#""targetCPUUtilizationPercentage":50"#), "{}", json(v1));
        for version in [v1, v2] {
            let message = autoscalers.body(version, Body::Protobuf, &stored, "7").unwrap();
            let mut text = Vec::new();
            json::encode(&protobuf::decode(version, &message).unwrap(), &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), json(version));
            assert!(autoscalers.body_format(version, Body::Json).is_some());
        }
        assert_eq!(autoscalers.body_format(find("core/v1.Pod"), Body::Json), None);
    }

    #[test]
    fn only_what_a_strategy_decorates_is_kept_twice() {
        let resources = Resources::builtin().unwrap();
        let service = pintle_schema::find("core/v1.Service").unwrap();
        let strategy = crate::framework::strategy::of("", "services", &Default::default()).unwrap();
        let services =
            Builtin::decorated_by(strategy, Default::default(), Encoding::Protobuf, service, &resources);
        let stored = |spec: &str| {
            let text = format!(
                r#"{{"kind":"Service","apiVersion":"v1","metadata":{{"name":"a"}},"spec":{{"clusterIP":"10.0.0.1"{spec}}}}}"#
            );
            let object = json::decode(service, text.as_bytes()).unwrap().value;
            let object = services.from_version(service, object).unwrap();
            Stored::encode(&*services, &object).unwrap()
        };
        let whole =
            stored(r#","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack""#);
        let old = stored("");
        assert_ne!(old, whole);
        assert!(services.is_normal(&old) && services.is_normal(&whole));
        assert_eq!(services.read("n/a", &whole).unwrap().value.as_ptr(), whole.as_ptr());
        assert_eq!(services.read("n/a", &old).unwrap().value, whole);
    }

    #[test]
    fn claims_of_a_stateful_set_say_their_kind_in_json() {
        let resources = Resources::builtin().unwrap();
        let of = pintle_schema::find("apps/v1.StatefulSet").unwrap();
        let sets = Builtin::new(of, &resources);
        let text = br#"{"kind":"StatefulSet","apiVersion":"apps/v1","metadata":{"name":"a"},
            "spec":{"volumeClaimTemplates":[{"metadata":{"name":"c"}}]}}"#;
        let object = sets.from_version(of, json::decode(of, text).unwrap().value).unwrap();
        let stored = Stored::encode(&*sets, &object).unwrap();
        // Also what was stored by a server that did not say it.
        let read = sets.read("n/a", &stored).unwrap();
        assert_eq!(read.value, stored);
        let body = String::from_utf8(sets.body(of, Body::Json, &stored, "7").unwrap()).unwrap();
        let claim = r#""volumeClaimTemplates":[{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"c"},"#;
        assert!(body.contains(claim), "{body}");
        assert!(body.starts_with(r#"{"metadata":{"name":"a","resourceVersion":"7"}"#), "{body}");
        let message = sets.body(of, Body::Protobuf, &stored, "7").unwrap();
        assert!(!String::from_utf8_lossy(&message).contains("PersistentVolumeClaim"));
    }

    /// Other kinds than those of the table are written to JSON without a tree, which would lose such kinds.
    #[test]
    fn all_kinds_with_kinds_inside_are_known() {
        fn has_inside(shape: Shape, seen: &mut HashSet<&'static str>) -> bool {
            match shape.underlying() {
                Shape::Pointer(of) | Shape::List(of) | Shape::Map(_, of) => has_inside(*of, seen),
                Shape::Named(of) => {
                    let Some(known) = of.structure().filter(|_| seen.insert(of.name)) else { return false };
                    known.fields.iter().any(|field| field.name.is_empty() && field.number.is_none())
                        || known.fields.iter().any(|field| has_inside(field.shape, seen))
                }
                Shape::Scalar(_) | Shape::Bytes => false,
            }
        }
        let resources = Resources::builtin().unwrap();
        let all = resources.versions().iter().flat_map(|version| version.resources.iter());
        let mut stored: Vec<&'static Type> =
            all.filter_map(|resource| Some(resource.storage.as_ref()?.kind)).collect();
        stored.sort_by_key(|of| of.name);
        stored.dedup();
        stored.retain(|of| !STORED_AS_JSON.contains(&&*of.group()));
        let found: Vec<&str> = stored
            .into_iter()
            .filter(|of| {
                let fields = of.structure().unwrap().fields.iter().filter(|field| !field.name.is_empty());
                fields.into_iter().any(|field| has_inside(field.shape, &mut HashSet::new()))
            })
            .map(|of| of.name)
            .collect();
        assert_eq!(found, WITH_KINDS_INSIDE);
    }

    #[test]
    fn pods_are_indexed_by_their_node() {
        let resources = Resources::builtin().unwrap();
        let of = |name: &str| Builtin::new(pintle_schema::find(name).unwrap(), &resources);
        let pods = of("core/v1.Pod");
        let text = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"nodeName":"n1"}}"#;
        let pod = json::decode(pods.stored(), text).unwrap().value;
        let read = pods.read("n/a", &Stored::encode(&*pods, &pod).unwrap()).unwrap();
        let values: Vec<_> = pods.indexed_fields().iter().map(|place| read.fields[*place].as_str()).collect();
        assert_eq!(values, ["n1"]);
        assert!(of("core/v1.Secret").indexed_fields().is_empty());
    }

    #[test]
    fn bytes_are_normal_if_nothing_would_be_written_otherwise() {
        let resources = Resources::builtin().unwrap();
        let pod = pintle_schema::find("core/v1.Pod").unwrap();
        let pods = Builtin::new(pod, &resources);
        let text = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;
        let sparse = json::decode(pod, text).unwrap().value;
        let without_defaults = Stored::encode(&*pods, &sparse).unwrap();
        assert!(!pods.is_normal(&without_defaults));
        let read = pods.read("n/a", &without_defaults).unwrap();
        assert!(pods.is_normal(&read.value));
        assert_ne!(read.value, without_defaults);
        assert_eq!(pods.read("n/a", &read.value).unwrap().value, read.value);
        // Of another version, with something behind the envelope, or not canonical.
        let message = protobuf::envelope::open(&read.value).unwrap().raw.to_vec();
        let wrapped = |api_version: &str, message: &[u8]| {
            let mut out = Vec::new();
            protobuf::envelope::write(api_version, "Pod", message, &mut out);
            out
        };
        assert!(pods.is_normal(&wrapped("v1", &message)));
        assert!(!pods.is_normal(&wrapped("v2", &message)));
        assert!(!pods.is_normal(&[&wrapped("v1", &message)[..], &[0x22, 0]].concat()));
        assert!(!pods.is_normal(&wrapped("v1", &[&message[..], &[0xf8, 0x3f, 1]].concat())));
        assert!(!pods.is_normal(b"k8s\0") && !pods.is_normal(b""));
    }

    #[test]
    fn what_is_stored_in_another_encoding_is_kept_and_shown_the_same() {
        let resources = Resources::builtin().unwrap();
        let pod = pintle_schema::find("core/v1.Pod").unwrap();
        let text = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"a":"yes"}},
            "spec":{"containers":[{"name":"c","image":"i","command":["sh","-c","echo 1\n"]}]}}"#;
        let protobuf = Builtin::new(pod, &resources);
        let object = protobuf.from_version(pod, json::decode(pod, text).unwrap().value).unwrap();
        let normal = Stored::encode(&*protobuf, &object).unwrap();
        let begins = [
            (Encoding::Json, &b"{\"kind\":\"Pod\","[..]),
            (Encoding::Yaml, b"apiVersion: v1\nkind: Pod\n"),
            (Encoding::Cbor, b"\xd9\xd9\xf7"),
        ];
        for (encoding, begin) in begins {
            let other = Builtin::stored_as(encoding, pod, &resources);
            let stored = Stored::encode(&*other, &object).unwrap();
            assert!(stored.starts_with(begin), "{encoding:?}: {}", String::from_utf8_lossy(&stored));
            assert_eq!(other.decode(&stored).unwrap(), object, "{encoding:?}");
            // In whichever encoding it was written.
            for reader in [&protobuf, &other] {
                assert_eq!(reader.read("n/a", &stored).unwrap().value, normal, "{encoding:?}");
                assert_eq!(reader.read("n/a", &normal).unwrap().value, normal, "{encoding:?}");
            }
        }
    }
}
