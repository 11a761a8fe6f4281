//! Facts about the internal types: the Go structs that the reference works on, and that its messages show.
//!
//! ```text
//! struct core.PodSpec core/v1.PodSpec
//!   Volumes []core.Volume volumes
//!   SecurityContext *core.PodSecurityContext securityContext set
//!
//! struct core.PodSecurityContext core/v1.PodSecurityContext
//!   HostNetwork bool ^hostNetwork
//!
//! alias core.ResourceList map[core.ResourceName]resource.Quantity
//! ```
//!
//! Behind a struct's name stands the versioned type that it is kept as. Of a field there are the Go name, the shape, and
//! where an object of the versioned type has it: under a JSON name, `^` under one of the object around it, `.` in the same
//! object (an embedded struct), `@` the value itself if it is a list, an object or a bool, `-` nowhere. A `*` before the Go
//! name says that the field is embedded. `set` is a pointer that is never nil.
//!
//! Which versioned type an internal one is kept as is found by walking both from the kinds that are stored or served, field
//! by field of the same Go name. What that does not find must stand in [`ELSEWHERE`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::{Result, bail};

use super::collect::{BUILTIN, Types};
use super::golang::{Field, Shape};
use super::render::{expression, short};

/// Fields that conversion fills from somewhere else than a field of the same name.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("apiextensions.JSONSchemaPropsOrArray", "Schema", "@object"),
    ("apiextensions.JSONSchemaPropsOrArray", "JSONSchemas", "@list"),
    ("apiextensions.JSONSchemaPropsOrBool", "Allows", "@bool"),
    ("apiextensions.JSONSchemaPropsOrBool", "Schema", "@object"),
    ("apiextensions.JSONSchemaPropsOrStringArray", "Schema", "@object"),
    ("apiextensions.JSONSchemaPropsOrStringArray", "Property", "@list"),
    // Both are kept in annotations.
    ("apps.DaemonSetSpec", "TemplateGeneration", "-"),
    ("apps.DeploymentSpec", "RollbackTo", "-"),
    ("core.PodSecurityContext", "HostIPC", "^hostIPC"),
    ("core.PodSecurityContext", "HostNetwork", "^hostNetwork"),
    ("core.PodSecurityContext", "HostPID", "^hostPID"),
    ("core.PodSecurityContext", "HostUsers", "^hostUsers"),
    ("core.PodSecurityContext", "ShareProcessNamespace", "^shareProcessNamespace"),
];

/// Pointers that conversion always sets.
const ALWAYS_SET: &[(&str, &str)] = &[("core.PodSpec", "SecurityContext")];

/// The facts of all internal types that the kinds lead to. `kinds` are names of versioned types such as `apps/v1.Deployment`,
/// those that matter more first.
pub(super) fn render(internal: &Types, versioned: &Types, kinds: &[String]) -> Result<String> {
    let by_name = |types: &Types| types.keys().map(|path| (short(path), path.clone())).collect();
    let mut walk = Walk {
        internal,
        versioned,
        internal_paths: by_name(internal),
        versioned_paths: by_name(versioned),
        found: BTreeMap::new(),
        waiting: Vec::new(),
        seen: BTreeSet::new(),
    };
    for kind in kinds {
        walk.start(kind);
        walk.finish()?;
    }
    let mut text = String::from(
        "# Written by `cargo xtask schema`. Facts of the internal types, one field to a line.\n",
    );
    for (name, facts) in &walk.found {
        let _ = match facts {
            Facts::Struct { kept_as, fields } => writeln!(text, "\nstruct {name} {kept_as}{fields}"),
            Facts::Alias(of) => writeln!(text, "\nalias {name} {of}"),
        };
    }
    Ok(text)
}

enum Facts {
    Struct { kept_as: String, fields: String },
    Alias(String),
}

struct Walk<'a> {
    internal: &'a Types,
    versioned: &'a Types,
    /// Paths by short name.
    internal_paths: BTreeMap<String, String>,
    versioned_paths: BTreeMap<String, String>,
    found: BTreeMap<String, Facts>,
    /// Internal and versioned paths of pairs to be looked at, and of those that were.
    waiting: Vec<(String, String)>,
    seen: BTreeSet<(String, String)>,
}

impl Walk<'_> {
    /// A kind's internal type has the name of its group's folder and no version. Of a kind's versions the first counts.
    fn start(&mut self, kind: &str) {
        let Some((group_version, name)) = kind.split_once('.') else { return };
        let group = group_version.split('/').next().unwrap_or_default();
        let internal = format!("{group}.{name}");
        if self.found.contains_key(&internal) {
            return;
        }
        if let (Some(internal), Some(versioned)) =
            (self.internal_paths.get(&internal), self.versioned_paths.get(kind))
        {
            self.waiting.push((internal.clone(), versioned.clone()));
        }
    }

    fn finish(&mut self) -> Result<()> {
        while let Some((internal, versioned)) = self.waiting.pop() {
            if !self.seen.insert((internal.clone(), versioned.clone())) {
                continue;
            }
            let Some(Shape::Struct(declared)) = self.internal.get(&internal).map(|declared| &declared.shape)
            else {
                bail!("{internal} is no struct");
            };
            let (name, kept_as) = (short(&internal), short(&versioned));
            let mut fields = String::new();
            for field in declared.iter().filter(|field| is_exported(field)) {
                fields.push_str(&self.field(&name, field, &versioned)?);
            }
            // Kinds that are stored in different versions may share an internal type.
            match self.found.get(&name) {
                Some(Facts::Struct { kept_as: other, fields: others }) if *others != fields => {
                    bail!("{name} is kept as {other} and as {kept_as}, which differ:{others}\n{fields}");
                }
                Some(_) => {}
                None => drop(self.found.insert(name, Facts::Struct { kept_as, fields })),
            }
        }
        Ok(())
    }

    fn field(&mut self, owner: &str, field: &Field, versioned: &str) -> Result<String> {
        let name = go_name(field);
        let elsewhere = ELSEWHERE.iter().find(|(of, field, _)| *of == owner && *field == name);
        let found = self.counterpart(versioned, &name);
        let source = match (&elsewhere, &found) {
            (Some((_, _, source)), _) => (*source).to_owned(),
            // Decoding into an internal type leaves kind and version out.
            (None, Some(_)) if name == "TypeMeta" => "-".to_owned(),
            (None, Some(found)) => found.source.clone(),
            (None, None) if field.name.is_none() => ".".to_owned(),
            (None, None) => {
                bail!("{owner} has a field {name} that {versioned} has not: where does it come from?")
            }
        };
        let same_object = Shape::Named(versioned.to_owned());
        let counterpart = match &found {
            Some(found) => Some(&found.shape),
            None if source == "." => Some(&same_object),
            None => None,
        };
        self.visit(&field.shape, counterpart)?;
        let embedded = if field.name.is_none() { "*" } else { "" };
        let pointer_of_value =
            matches!((&field.shape, counterpart), (Shape::Pointer(_), Some(Shape::Named(_))));
        let set = if ALWAYS_SET.contains(&(owner, &name)) || pointer_of_value { " set" } else { "" };
        Ok(format!("\n  {embedded}{name} {} {source}{set}", expression(&field.shape)))
    }

    /// The field of a versioned struct that has a Go name, also in one of its inline structs.
    fn counterpart(&self, versioned: &str, name: &str) -> Option<Counterpart> {
        let fields = self.fields(versioned)?;
        let same = |field: &&Field| go_name(field).eq_ignore_ascii_case(name);
        if let Some(field) = fields.iter().find(same) {
            let source = json_name(field)?;
            let source = if source.is_empty() { "." } else { source };
            return Some(Counterpart { source: source.to_owned(), shape: field.shape.clone() });
        }
        let inline = fields.iter().filter(|field| json_name(field) == Some(""));
        inline.filter_map(|field| named(&field.shape)).find_map(|inline| self.counterpart(inline, name))
    }

    fn fields(&self, versioned: &str) -> Option<&[Field]> {
        match &self.versioned.get(versioned)?.shape {
            Shape::Struct(fields) => Some(fields),
            Shape::Named(of) => self.fields(of),
            _ => None,
        }
    }

    /// Notes every name in an internal shape, with what stands at the same place of the versioned one.
    fn visit(&mut self, internal: &Shape, versioned: Option<&Shape>) -> Result<()> {
        let versioned = versioned.map(|shape| self.resolved(shape));
        match internal {
            Shape::Named(path) if BUILTIN.contains(&path.as_str()) => {}
            Shape::Named(path) => return self.visit_named(path, versioned.as_ref()),
            Shape::Pointer(of) => {
                let versioned = versioned.map(|shape| match shape {
                    Shape::Pointer(of) => *of,
                    other => other,
                });
                self.visit(of, versioned.as_ref())?;
            }
            Shape::Slice(of) => match versioned {
                Some(Shape::Slice(versioned)) => self.visit(of, Some(&versioned))?,
                _ => self.visit(of, None)?,
            },
            Shape::Map(key, value) => {
                self.visit(key, None)?;
                match versioned {
                    Some(Shape::Map(_, versioned)) => self.visit(value, Some(&versioned))?,
                    _ => self.visit(value, None)?,
                }
            }
            Shape::Struct(_) => bail!("a struct without a name"),
            Shape::Other => {}
        }
        Ok(())
    }

    fn visit_named(&mut self, path: &str, versioned: Option<&Shape>) -> Result<()> {
        let Some(declared) = self.internal.get(path) else { return Ok(()) };
        match &declared.shape {
            Shape::Struct(_) => {
                let versioned = match versioned {
                    Some(Shape::Pointer(of)) => Some(&**of),
                    other => other,
                };
                if let Some(Shape::Named(versioned)) = versioned {
                    self.waiting.push((path.to_owned(), versioned.clone()));
                }
            }
            of => {
                let of = if *of == Shape::Other { Shape::Named("any".into()) } else { of.clone() };
                if self.found.insert(short(path), Facts::Alias(expression(&of))).is_none() {
                    self.visit(&of, versioned)?;
                }
            }
        }
        Ok(())
    }

    /// Without names for names of shapes.
    fn resolved(&self, shape: &Shape) -> Shape {
        match shape {
            Shape::Named(path) => match self.versioned.get(path) {
                Some(declared) if !declared.own_json && !matches!(declared.shape, Shape::Struct(_)) => {
                    self.resolved(&declared.shape)
                }
                _ => shape.clone(),
            },
            _ => shape.clone(),
        }
    }
}

struct Counterpart {
    /// Where an object has it.
    source: String,
    shape: Shape,
}

/// A field's name; an embedded one has that of its type.
fn go_name(field: &Field) -> String {
    match &field.name {
        Some(name) => name.clone(),
        None => named(&field.shape).and_then(|path| path.rsplit('.').next()).unwrap_or_default().to_owned(),
    }
}

fn is_exported(field: &Field) -> bool {
    go_name(field).starts_with(char::is_uppercase)
}

/// The name in JSON, empty for an inline field; `None` where JSON does not have it.
fn json_name(field: &Field) -> Option<&str> {
    let tag = field.tags.get("json")?;
    let name = tag.split(',').next().unwrap_or_default();
    (tag != "-").then_some(name)
}

/// The name that a shape is, perhaps behind a pointer.
fn named(shape: &Shape) -> Option<&str> {
    match shape {
        Shape::Named(path) => Some(path),
        Shape::Pointer(of) => named(of),
        _ => None,
    }
}
