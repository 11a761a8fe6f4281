//! All packages of API types in a checkout, with names resolved.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::golang::{self, Field, File, Literal, Shape};

/// Below `staging/src`: folders whose subfolders two levels down are group versions, and single packages.
const GROUPS: [&str; 1] = ["k8s.io/api"];
const PACKAGES: [&str; 9] = [
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1",
    "k8s.io/apimachinery/pkg/api/resource",
    "k8s.io/apimachinery/pkg/apis/meta/v1",
    "k8s.io/apimachinery/pkg/runtime",
    "k8s.io/apimachinery/pkg/types",
    "k8s.io/apimachinery/pkg/util/intstr",
    "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1",
    "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1",
];

/// Where most internal types are imported from; in a checkout it is below the root, without `k8s.io/kubernetes`.
pub(super) const INTERNAL: &str = "k8s.io/kubernetes/pkg/apis/";
const INTERNAL_PACKAGES: [&str; 2] = [
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions",
    "k8s.io/kube-aggregator/pkg/apis/apiregistration",
];

/// Go's own types that data is made of.
pub(super) const BUILTIN: [&str; 15] = [
    "string", "bool", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint32", "uint64",
    "float32", "float64", "byte", "any",
];

/// Every type by its path: `k8s.io/api/core/v1.Pod`.
pub(super) type Types = BTreeMap<String, Declared>;

/// Values of constants by their path.
type Constants = BTreeMap<String, String>;

#[derive(Debug)]
pub(super) struct Declared {
    pub(super) shape: Shape,
    /// It writes its own JSON, so its fields say nothing about it.
    pub(super) own_json: bool,
    /// The values that an enum may have; empty if it is none.
    pub(super) values: BTreeSet<String>,
    /// `+structType=atomic` and the like on the type itself.
    pub(super) atomic: bool,
    /// Only one of its fields is set; one of them may say which.
    pub(super) union: bool,
    /// `type A = B`; gone once all names are resolved.
    alias: bool,
}

pub(super) fn collect(checkout: &Path) -> Result<Types> {
    let source = checkout.join("staging/src");
    if !source.is_dir() {
        bail!("{} is not a Kubernetes source tree: it has no staging/src", checkout.display());
    }
    let mut packages: Vec<String> = Vec::new();
    for group in GROUPS {
        for folder in subfolders(&source.join(group))? {
            for version in subfolders(&folder)? {
                if let Ok(path) = version.strip_prefix(&source) {
                    packages.push(path.to_string_lossy().into_owned());
                }
            }
        }
    }
    packages.extend(PACKAGES.iter().filter(|path| source.join(path).is_dir()).map(|path| (*path).to_owned()));
    let (mut types, mut constants) = (Types::new(), Constants::new());
    for package in packages {
        let folder = source.join(&package);
        package_types(&folder, &package, &mut types, &mut constants).with_context(|| package.clone())?;
    }
    // A name for something that is no data, such as a watch's event in memory, names nothing that we need.
    let known: BTreeSet<String> = types.keys().cloned().collect();
    types.retain(|_, declared| match &declared.shape {
        Shape::Named(of) => BUILTIN.contains(&of.as_str()) || known.contains(of),
        Shape::Other => false,
        _ => true,
    });
    resolve_aliases(&mut types);
    keep_what_is_used(&mut types);
    Ok(types)
}

/// Puts the type itself wherever another name for it stands, as Go does: its messages know no aliases.
fn resolve_aliases(types: &mut Types) {
    let mut aliases: BTreeMap<String, String> = BTreeMap::new();
    types.retain(|path, declared| match &declared.shape {
        Shape::Named(of) if declared.alias => {
            aliases.insert(path.clone(), of.clone());
            false
        }
        _ => true,
    });
    types.values_mut().for_each(|declared| rename(&mut declared.shape, &aliases));
}

fn rename(shape: &mut Shape, names: &BTreeMap<String, String>) {
    match shape {
        Shape::Named(name) => {
            while let Some(of) = names.get(name) {
                name.clone_from(of);
            }
        }
        Shape::Pointer(of) | Shape::Slice(of) => rename(of, names),
        Shape::Map(key, value) => {
            rename(key, names);
            rename(value, names);
        }
        Shape::Struct(fields) => fields.iter_mut().for_each(|field| rename(&mut field.shape, names)),
        Shape::Other => {}
    }
}

/// Packages without a version have types of their own use beside those that objects are made of; only what a versioned
/// package leads to stays.
fn keep_what_is_used(types: &mut Types) {
    let mut used: BTreeSet<String> = types.keys().filter(|path| is_versioned(path)).cloned().collect();
    let mut waiting: Vec<String> = used.iter().cloned().collect();
    while let Some(path) = waiting.pop() {
        let Some(declared) = types.get(&path).filter(|declared| !declared.own_json) else { continue };
        let mut names = Vec::new();
        named(&declared.shape, &mut names);
        waiting.extend(names.into_iter().filter(|name| used.insert(name.clone())));
    }
    types.retain(|path, _| used.contains(path));
}

/// Whether a path is of a package such as `core/v1` or `resource/v1alpha3`.
fn is_versioned(path: &str) -> bool {
    let package = path.rsplit_once('.').map_or(path, |(package, _)| package);
    let version = package.rsplit('/').next().and_then(|last| last.strip_prefix('v')).unwrap_or_default();
    version.starts_with(|character: char| character.is_ascii_digit())
}

/// All names in a shape.
fn named(shape: &Shape, names: &mut Vec<String>) {
    match shape {
        Shape::Named(name) => names.push(name.clone()),
        Shape::Pointer(of) | Shape::Slice(of) => named(of, names),
        Shape::Map(key, value) => {
            named(key, names);
            named(value, names);
        }
        Shape::Struct(fields) => fields.iter().for_each(|field| named(&field.shape, names)),
        Shape::Other => {}
    }
}

fn subfolders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

/// The internal types, which the reference works on and which its messages show: those of `pkg/apis`, and those of the
/// servers that it embeds.
pub(super) fn collect_internal(checkout: &Path) -> Result<Types> {
    let (mut types, mut constants) = (Types::new(), Constants::new());
    for folder in subfolders(&checkout.join("pkg/apis"))? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let package = format!("{INTERNAL}{name}");
        package_types(&folder, &package, &mut types, &mut constants).with_context(|| package.clone())?;
    }
    for package in INTERNAL_PACKAGES {
        let folder = checkout.join("staging/src").join(package);
        if folder.is_dir() {
            package_types(&folder, package, &mut types, &mut constants)
                .with_context(|| package.to_owned())?;
        }
    }
    Ok(types)
}

/// Adds the types of one package.
fn package_types(folder: &Path, package: &str, types: &mut Types, constants: &mut Constants) -> Result<()> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if is_source(&path) {
            files.push(path);
        }
    }
    files.sort();
    let mut own_json = BTreeSet::new();
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in &files {
        let text = fs::read_to_string(path)?;
        if !is_built(&text) {
            continue;
        }
        own_json.extend(json_writers(&text));
        let file = golang::parse(&text).with_context(|| path.display().to_string())?;
        for constant in &file.constants {
            // One of a package that comes later is not found; none that matters is.
            let value = match &constant.value {
                Literal::Text(value) => Some(value.clone()),
                Literal::Same(name) => constants.get(&path_of(name, package, &file)?).cloned(),
            };
            if let Some(value) = value {
                values.entry(constant.of_type.clone()).or_default().insert(value.clone());
                constants.insert(format!("{package}.{}", constant.name), value);
            }
        }
        for declared in &file.types {
            let shape = resolve(&declared.shape, package, &file)?;
            let atomic = declared.markers.value("structType") == Some("atomic")
                || declared.markers.value("mapType") == Some("atomic")
                || declared.markers.value("listType") == Some("atomic");
            let enumerated = declared.markers.has("enum");
            let values = if enumerated { BTreeSet::from([String::new()]) } else { BTreeSet::new() };
            let union = declared.markers.has("union");
            let alias = declared.alias;
            let declared_type = Declared { shape, own_json: false, values, atomic, union, alias };
            types.insert(format!("{package}.{}", declared.name), declared_type);
        }
    }
    // Only now are all files read: constants and methods may stand in another one than their type.
    for (path, declared) in types.iter_mut() {
        let Some(name) = path.strip_prefix(package).and_then(|name| name.strip_prefix('.')) else { continue };
        declared.own_json = own_json.contains(name);
        if !declared.values.is_empty() {
            declared.values = values.remove(name).unwrap_or_default();
        }
        if let Shape::Struct(fields) = &mut declared.shape {
            fields.iter_mut().try_for_each(|field| resolve_default(field, package, constants))?;
        }
    }
    Ok(())
}

/// Puts the value where `+default=ref(NAME)` names a constant.
fn resolve_default(field: &mut Field, package: &str, constants: &Constants) -> Result<()> {
    for marker in &mut field.markers.0 {
        let reference = marker.strip_prefix("default=ref(").and_then(|rest| rest.strip_suffix(')'));
        if let Some(name) = reference {
            let value = constants
                .get(&format!("{package}.{name}"))
                .with_context(|| format!("{name} is no constant"))?;
            *marker = format!("default={value:?}");
        }
    }
    Ok(())
}

/// Not tests, and nothing that was generated from what we read.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".go")
        && !name.ends_with("_test.go")
        && !name.ends_with("_fuzz.go")
        && !name.starts_with("zz_generated")
        && !name.contains("generated")
}

/// Whether a build without any tags includes the file.
fn is_built(text: &str) -> bool {
    let constraint = text.lines().find_map(|line| line.strip_prefix("//go:build "));
    constraint.is_none_or(|constraint| constraint.starts_with('!'))
}

/// The types with a method that writes their JSON.
fn json_writers(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let receiver = line.strip_prefix("func (")?;
        let (receiver, method) = receiver.split_once(") ")?;
        let name = receiver.rsplit([' ', '*']).next()?;
        method.starts_with("MarshalJSON(").then(|| name.to_owned())
    })
}

/// `Name` or `package.Name` with the path of its package.
fn path_of(name: &str, package: &str, file: &File) -> Result<String> {
    Ok(match name.split_once('.') {
        Some((alias, name)) => {
            let path = file.imports.get(alias).with_context(|| format!("{alias} is not imported"))?;
            format!("{path}.{name}")
        }
        None => format!("{package}.{name}"),
    })
}

/// The same shape with every name as a path.
fn resolve(shape: &Shape, package: &str, file: &File) -> Result<Shape> {
    let inner = |shape: &Shape| resolve(shape, package, file).map(Box::new);
    Ok(match shape {
        Shape::Named(name) if BUILTIN.contains(&name.as_str()) => Shape::Named(name.clone()),
        Shape::Named(name) => Shape::Named(path_of(name, package, file)?),
        Shape::Pointer(of) => Shape::Pointer(inner(of)?),
        Shape::Slice(of) => Shape::Slice(inner(of)?),
        Shape::Map(key, value) => Shape::Map(inner(key)?, inner(value)?),
        Shape::Struct(fields) => {
            let mut fields = fields.clone();
            for field in &mut fields {
                field.shape = resolve(&field.shape, package, file)?;
            }
            Shape::Struct(fields)
        }
        Shape::Other => Shape::Other,
    })
}
