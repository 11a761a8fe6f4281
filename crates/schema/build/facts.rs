//! Parses `types.facts`. Its format is described where it is written (`xtask/src/schema/render.rs`).

use std::collections::BTreeMap;

pub(crate) struct Type {
    pub(crate) name: String,
    pub(crate) kind: TypeKind,
}

#[derive(Debug, PartialEq)]
pub(crate) enum TypeKind {
    Struct { fields: Vec<Field>, atomic: bool, union: bool },
    Alias { of: Shape, values: Vec<String>, atomic: bool },
    Opaque,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Field {
    /// Empty for an inline field.
    pub(crate) name: String,
    pub(crate) number: Option<u32>,
    pub(crate) shape: Option<Shape>,
    pub(crate) omit_empty: bool,
    pub(crate) omit_zero: bool,
    pub(crate) optional: bool,
    /// Marked as required although its tags allow it to be absent.
    pub(crate) required: bool,
    pub(crate) discriminator: bool,
    pub(crate) list: Option<String>,
    pub(crate) keys: Vec<String>,
    pub(crate) atomic: bool,
    pub(crate) granular: bool,
    pub(crate) patch: Option<(Vec<String>, Option<String>)>,
    pub(crate) default: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Scalar(&'static str),
    Bytes,
    /// Index of a type in the list.
    Named(usize),
    Pointer(Box<Shape>),
    List(Box<Shape>),
    Map(Box<Shape>, Box<Shape>),
}

/// Parses all types, sorted by name. Types may refer to later ones, so the text is read twice.
pub(crate) fn parse(text: &str) -> Result<Vec<Type>, String> {
    let mut names = BTreeMap::new();
    for (line, text) in text.lines().enumerate() {
        if let Some(name) = declared_name(text)
            && names.insert(name, 0).is_some()
        {
            return Err(format!("line {}: {name} is declared twice", line + 1));
        }
    }
    for (index, found) in names.values_mut().enumerate() {
        *found = index;
    }
    let mut types: Vec<Type> =
        names.keys().map(|name| Type { name: (*name).into(), kind: TypeKind::Opaque }).collect();
    let mut current = None;
    for (line, text) in text.lines().enumerate() {
        read(text, &names, &mut types, &mut current)
            .map_err(|reason| format!("line {}: {reason}", line + 1))?;
    }
    Ok(types)
}

type Names<'a> = BTreeMap<&'a str, usize>;

fn read(
    line: &str,
    names: &Names<'_>,
    types: &mut [Type],
    current: &mut Option<usize>,
) -> Result<(), String> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(());
    }
    if let Some(text) = line.strip_prefix("  ") {
        let field = field(text, names)?;
        let open = current.map(|index| &mut types[index].kind);
        let Some(TypeKind::Struct { fields, .. }) = open else {
            return Err("a field stands outside a struct".into());
        };
        fields.push(field);
        return Ok(());
    }
    let mut words = line.split(' ');
    let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let index = *names.get(name).ok_or("a declaration has no name")?;
    types[index].kind = match kind {
        "opaque" => TypeKind::Opaque,
        "struct" => {
            let facts: Vec<&str> = words.collect();
            let (atomic, union) = (facts.contains(&"atomic"), facts.contains(&"union"));
            TypeKind::Struct { fields: Vec::new(), atomic, union }
        }
        "alias" => {
            let of = shape(words.next().unwrap_or_default(), names)?;
            // The values come last and may contain spaces.
            let rest = words.collect::<Vec<_>>().join(" ");
            let (rest, values) = match rest.split_once("enum=") {
                // The empty string may be one of the values.
                Some((rest, values)) => (rest, values.split(',').map(Into::into).collect()),
                None => (&*rest, Vec::new()),
            };
            TypeKind::Alias { of, values, atomic: rest.split(' ').any(|word| word == "atomic") }
        }
        other => return Err(format!("{other:?} is not a kind of declaration")),
    };
    *current = Some(index);
    Ok(())
}

fn field(text: &str, names: &Names<'_>) -> Result<Field, String> {
    // The default comes last and may contain spaces.
    let (text, default) = match text.split_once(" default=") {
        Some((text, default)) => (text, Some(default.into())),
        None => (text, None),
    };
    let mut words = text.split(' ');
    let name = words.next().unwrap_or_default();
    let number = match words.next().unwrap_or_default() {
        "-" => None,
        number => Some(number.parse().map_err(|_| format!("{number:?} is not a number"))?),
    };
    let shape = Some(shape(words.next().unwrap_or_default(), names)?);
    let name = if name == "." { String::new() } else { name.into() };
    let mut field = Field { name, number, shape, default, ..Field::default() };
    let list = |text: &str| text.split(',').map(Into::into).collect();
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            // An inline field with a name is an ordinary field in JSON.
            ("inline", _) => {}
            ("omitempty", _) => field.omit_empty = true,
            ("omitzero", _) => field.omit_zero = true,
            ("optional", _) => field.optional = true,
            ("required", _) => field.required = true,
            ("discriminator", _) => field.discriminator = true,
            ("list", kind) => field.list = Some(kind.into()),
            ("keys", keys) => field.keys = list(keys),
            ("map" | "struct", kind) => {
                (field.atomic, field.granular) = (kind == "atomic", kind == "granular");
            }
            ("patch", patch) => {
                let (strategies, key) = patch.split_once(':').unwrap_or((patch, ""));
                let key = (!key.is_empty()).then(|| key.into());
                field.patch = Some((list(strategies), key));
            }
            (other, _) => return Err(format!("{other:?} is not known of a field")),
        }
    }
    Ok(field)
}

fn shape(text: &str, names: &Names<'_>) -> Result<Shape, String> {
    if let Some(of) = text.strip_prefix('*') {
        return Ok(Shape::Pointer(Box::new(shape(of, names)?)));
    }
    if text == "[]byte" {
        return Ok(Shape::Bytes);
    }
    if let Some(of) = text.strip_prefix("[]") {
        return Ok(Shape::List(Box::new(shape(of, names)?)));
    }
    if let Some(rest) = text.strip_prefix("map[") {
        let (key, value) = rest.split_once(']').ok_or_else(|| format!("{text:?} is not a map"))?;
        return Ok(Shape::Map(Box::new(shape(key, names)?), Box::new(shape(value, names)?)));
    }
    let scalar = match text {
        "string" => "String",
        "bool" => "Bool",
        "int32" => "Int32",
        "int" | "int64" => "Int64",
        "float64" => "Float64",
        "any" => "Any",
        _ => {
            let index = names.get(text).ok_or_else(|| format!("there is no type {text:?}"))?;
            return Ok(Shape::Named(*index));
        }
    };
    Ok(Shape::Scalar(scalar))
}

fn declared_name(line: &str) -> Option<&str> {
    if line.starts_with([' ', '#']) {
        return None;
    }
    line.split(' ').nth(1)
}
