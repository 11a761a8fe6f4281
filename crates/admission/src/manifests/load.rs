//! From documents to the objects of a plugin.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::{Value, quote};

use super::files::{ManifestFolders, documents, hash};

/// The end of names of objects that are files. The API takes no such names.
pub(crate) const STATIC_SUFFIX: &str = ".static.k8s.io";

/// The API version of the kinds that manifests have.
const VERSION: (&str, &str) = ("admissionregistration.k8s.io", "v1");

/// Lists within lists that are followed.
const DEEPEST: usize = 32;

/// A decoded document.
#[derive(Clone, Debug)]
pub enum Manifest {
    /// An object, or a list of objects of one kind, without defaults.
    Object { kind: GroupVersionKind, object: Value },
    /// The JSON of each item of a `List`, which may have items of any kind.
    List(Vec<Bytes>),
}

/// Decodes manifests. Implemented by the control plane: admission knows no kinds.
pub trait ManifestDecoder: Send + Sync + 'static {
    /// Decodes a document, JSON or YAML, of the API group of admission. Errors are those of a strict decoder of the reference,
    /// whose scheme messages call `scheme`.
    fn decode(&self, document: &[u8], scheme: &str) -> Result<Manifest, String>;

    /// Returns an object of version v1 of a kind as it would be stored, with its defaults. The error lists the invalid fields.
    fn complete(&self, kind: &str, object: Value) -> Result<Value, String>;
}

/// The manifests that a plugin takes.
pub(crate) struct ManifestRules {
    pub(crate) plugin: &'static str,
    /// The kinds, in version v1 of their group.
    pub(crate) kinds: &'static [&'static str],
    /// The name of the reference's decoder in messages.
    pub(crate) scheme: &'static str,
    /// Checks a valid object: its kind, itself, and the path of its file.
    pub(crate) check: fn(&str, &Value, &str) -> Result<(), String>,
    /// Checks all of them together.
    pub(crate) check_all: fn(&Objects) -> Result<(), String>,
}

/// The objects of a folder in the storage version.
#[derive(Default)]
pub(crate) struct Objects(BTreeMap<&'static str, Vec<Value>>);

impl Objects {
    /// Returns the objects of a kind, by name.
    pub(crate) fn of(&self, kind: &str) -> &[Value] {
        self.0.get(kind).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of objects.
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

/// The content of a folder.
pub(super) struct Loaded {
    pub(super) objects: Objects,
    pub(super) hash: String,
}

/// Loads the manifests of a folder: all of them, or the first error.
pub(super) fn load(
    folders: &dyn ManifestFolders,
    folder: &str,
    decoder: &dyn ManifestDecoder,
    rules: &'static ManifestRules,
) -> Result<Loaded, String> {
    let files = folders.read(folder)?;
    let mut loader = Loader { decoder, rules, names: HashMap::new(), objects: Objects::default() };
    // Before any document is decoded, as in the reference.
    let split = files.iter().map(|file| Ok((&*file.path, documents(file)?)));
    for (path, documents) in split.collect::<Result<Vec<_>, String>>()? {
        for document in documents {
            let added = loader.add(&document, path);
            added.map_err(|why| format!("error loading {path}: {why}"))?;
        }
    }
    for objects in loader.objects.0.values_mut() {
        objects.sort_by(|a, b| a.name().cmp(b.name()));
    }
    (rules.check_all)(&loader.objects)?;
    Ok(Loaded { objects: loader.objects, hash: hash(&files) })
}

struct Loader<'a> {
    decoder: &'a dyn ManifestDecoder,
    rules: &'static ManifestRules,
    /// The files of names, by kind.
    names: HashMap<(&'static str, String), String>,
    objects: Objects,
}

impl Loader<'_> {
    fn add(&mut self, document: &[u8], path: &str) -> Result<(), String> {
        let manifest = self.decoder.decode(document, self.rules.scheme)?;
        self.add_decoded(manifest, path, 0)
    }

    fn add_decoded(&mut self, manifest: Manifest, path: &str, depth: usize) -> Result<(), String> {
        let (kind, object) = match manifest {
            Manifest::Object { kind, object } => (kind, object),
            Manifest::List(_) if depth == DEEPEST => return Err("too many lists within lists".to_owned()),
            Manifest::List(items) => {
                for item in items {
                    let decoded = self.decoder.decode(&item, self.rules.scheme);
                    let decoded = decoded.map_err(|why| format!("failed to decode list item: {why}"))?;
                    self.add_decoded(decoded, path, depth + 1)?;
                }
                return Ok(());
            }
        };
        let unsupported = || format!("unsupported resource type *{}.{}", kind.version, kind.kind);
        if (kind.group.as_str(), kind.version.as_str()) != VERSION {
            return Err(unsupported());
        }
        let of = |name: &str| self.rules.kinds.iter().copied().find(|known| *known == name);
        if let Some(of) = of(&kind.kind) {
            let object = self.complete(of, object)?;
            return self.accept(of, object, path);
        }
        let Some(of) = kind.kind.strip_suffix("List").and_then(of) else { return Err(unsupported()) };
        let items = object.items_at(&["items"]).iter();
        let items = items.map(|item| self.complete(of, item.clone())).collect::<Result<Vec<_>, _>>()?;
        items.into_iter().try_for_each(|item| self.accept(of, item, path))
    }

    fn complete(&self, kind: &'static str, object: Value) -> Result<Value, String> {
        let name = object.name().to_owned();
        self.decoder.complete(kind, object).map_err(|why| format!("{kind} {}: {why}", quote(&name)))
    }

    /// Adds a valid object, if it may be a file.
    fn accept(&mut self, kind: &'static str, object: Value, path: &str) -> Result<(), String> {
        let name = object.name();
        let (shown, file) = (quote(name), quote(path));
        if name.is_empty() {
            return Err(format!("resource in file {file} must have a name"));
        }
        if !name.ends_with(STATIC_SUFFIX) {
            return Err(format!(
                "{shown} in file {file} must have a name ending with {}",
                quote(STATIC_SUFFIX)
            ));
        }
        if let Some(before) = self.names.insert((kind, name.to_owned()), path.to_owned()) {
            let before = quote(&before);
            return Err(format!("duplicate name {shown} found in file {file} (previously seen in {before})"));
        }
        (self.rules.check)(kind, &object, path)?;
        self.objects.0.entry(kind).or_default().push(object);
        Ok(())
    }
}
