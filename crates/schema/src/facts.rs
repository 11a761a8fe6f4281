//! Reads the facts. Their form is described where they are written (`xtask/src/schema/render.rs`).
//!
//! Types may refer to ones that come later, so the file is gone through twice: for names, then for what they are.

use crate::graph::{Field, Graph, ListType, Patch, Scalar, Shape, Struct, Type, TypeId};

const BUILTIN: &str = include_str!("../data/types.facts");

/// The facts are not of the form they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the facts: {reason}")]
pub struct Error {
    pub line: usize,
    pub reason: String,
}

impl Graph {
    /// Every built-in type.
    pub fn builtin() -> Result<Graph, Error> {
        Graph::parse(BUILTIN)
    }

    /// Reads facts from a text that lives as long as the program.
    pub fn parse(text: &'static str) -> Result<Graph, Error> {
        let mut graph = Graph::default();
        for (line, text) in text.lines().enumerate() {
            if let Some(name) = declared_name(text) {
                let id = TypeId(graph.types.len() as u32);
                if graph.names.insert(name, id).is_some() {
                    return Err(Error { line: line + 1, reason: format!("{name} is declared twice") });
                }
                graph.types.push((name, Type::Opaque));
            }
        }
        let mut current = None;
        for (line, text) in text.lines().enumerate() {
            graph.read(text, &mut current).map_err(|reason| Error { line: line + 1, reason })?;
        }
        Ok(graph)
    }

    fn read(&mut self, line: &'static str, current: &mut Option<TypeId>) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if let Some(field) = line.strip_prefix("  ") {
            let field = self.read_field(field)?;
            let open = current.and_then(|id| self.types.get_mut(id.0 as usize));
            let Some((_, Type::Struct(open))) = open else {
                return Err("a field stands outside a struct".into());
            };
            open.fields.push(field);
            return Ok(());
        }
        let mut words = line.split(' ');
        let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let id = self.find(name).ok_or("a declaration has no name")?;
        let found = match kind {
            "opaque" => Type::Opaque,
            "struct" => {
                Type::Struct(Struct { fields: Vec::new(), atomic: words.any(|word| word == "atomic") })
            }
            "alias" => {
                let of = self.shape(words.next().unwrap_or_default())?;
                let mut alias = (Vec::new(), false);
                for word in words {
                    match word.strip_prefix("enum=") {
                        Some(values) => alias.0 = values.split(',').collect(),
                        None => alias.1 |= word == "atomic",
                    }
                }
                Type::Alias { of, values: alias.0, atomic: alias.1 }
            }
            other => return Err(format!("{other:?} is not a kind of declaration")),
        };
        self.types[id.0 as usize].1 = found;
        *current = Some(id);
        Ok(())
    }

    fn read_field(&self, text: &'static str) -> Result<Field, String> {
        // The default comes last and may have spaces in it.
        let (text, default) = match text.split_once(" default=") {
            Some((text, default)) => (text, Some(default)),
            None => (text, None),
        };
        let mut words = text.split(' ');
        let name = words.next().unwrap_or_default();
        let number = match words.next().unwrap_or_default() {
            "-" => None,
            number => Some(number.parse().map_err(|_| format!("{number:?} is not a number"))?),
        };
        let mut field = Field {
            name: if name == "." { "" } else { name },
            number,
            shape: self.shape(words.next().unwrap_or_default())?,
            omit_empty: false,
            omit_zero: false,
            optional: false,
            list: None,
            keys: Vec::new(),
            atomic: false,
            patch: None,
            default,
        };
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                // An inline field with a name is one like any other to JSON.
                ("inline", _) => {}
                ("omitempty", _) => field.omit_empty = true,
                ("omitzero", _) => field.omit_zero = true,
                ("optional", _) => field.optional = true,
                ("list", kind) => field.list = Some(list_type(kind)?),
                ("keys", keys) => field.keys = keys.split(',').collect(),
                ("map" | "struct", kind) => field.atomic = kind == "atomic",
                ("patch", patch) => field.patch = Some(patch_of(patch)),
                (other, _) => return Err(format!("{other:?} is not known of a field")),
            }
        }
        Ok(field)
    }

    fn shape(&self, text: &str) -> Result<Shape, String> {
        if let Some(of) = text.strip_prefix('*') {
            return Ok(Shape::Pointer(Box::new(self.shape(of)?)));
        }
        if text == "[]byte" {
            return Ok(Shape::Bytes);
        }
        if let Some(of) = text.strip_prefix("[]") {
            return Ok(Shape::List(Box::new(self.shape(of)?)));
        }
        if let Some(rest) = text.strip_prefix("map[") {
            let (key, value) = rest.split_once(']').ok_or_else(|| format!("{text:?} is not a map"))?;
            return Ok(Shape::Map(Box::new(self.shape(key)?), Box::new(self.shape(value)?)));
        }
        if let Some(scalar) = scalar(text) {
            return Ok(Shape::Scalar(scalar));
        }
        self.find(text).map(Shape::Named).ok_or_else(|| format!("there is no type {text:?}"))
    }
}

fn declared_name(line: &'static str) -> Option<&'static str> {
    if line.starts_with([' ', '#']) {
        return None;
    }
    line.split(' ').nth(1)
}

fn scalar(text: &str) -> Option<Scalar> {
    Some(match text {
        "string" => Scalar::String,
        "bool" => Scalar::Bool,
        "int8" | "int16" | "int32" => Scalar::Int32,
        "int" | "int64" => Scalar::Int64,
        "byte" | "uint8" | "uint16" | "uint32" => Scalar::Uint32,
        "uint" | "uint64" => Scalar::Uint64,
        "float32" => Scalar::Float32,
        "float64" => Scalar::Float64,
        "any" => Scalar::Any,
        _ => return None,
    })
}

fn list_type(text: &str) -> Result<ListType, String> {
    match text {
        "atomic" => Ok(ListType::Atomic),
        "set" => Ok(ListType::Set),
        "map" => Ok(ListType::Map),
        other => Err(format!("{other:?} is not a list type")),
    }
}

fn patch_of(text: &'static str) -> Patch {
    let (strategies, merge_key) = match text.split_once(':') {
        Some((strategies, key)) => (strategies, Some(key)),
        None => (text, None),
    };
    Patch { strategies: strategies.split(',').collect(), merge_key }
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
