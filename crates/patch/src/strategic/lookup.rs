//! What the types say about a field: what it holds, how a patch treats it, and by what its items are told apart.

use pintle_schema::{Field, Kind, Scalar, Shape, Struct, Type};

use super::Error;

/// A field of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// What the field holds, or what the items of its list are.
    pub(super) shape: Shape,
    /// Empty where none is declared, which for objects means merging and for lists replacing.
    pub(super) strategy: &'static str,
    /// Empty where none is declared.
    pub(super) merge_key: &'static str,
}

/// A field that holds an object.
pub(super) fn object(of: Shape, name: &str) -> Result<Found, Error> {
    let of = match of {
        Shape::Pointer(to) => *to,
        other => other,
    };
    let Some(structure) = of.structure() else {
        return Err(match of.opaque() {
            Some(_) => missing(of, name),
            None => Error::Failed(format!(
                "merging an object in json but data type is not struct, instead is: {}",
                kind(of)
            )),
        });
    };
    let field = find(structure, name).ok_or_else(|| missing(of, name))?;
    let patch = field.patch();
    let strategies = patch.map(|patch| patch.strategies).unwrap_or_default();
    // `retainKeys` only tells clients what patches to make.
    let strategy = strategies.iter().find(|strategy| **strategy != "retainKeys");
    Ok(Found {
        shape: field.shape,
        strategy: strategy.copied().unwrap_or_default(),
        merge_key: patch.and_then(|patch| patch.merge_key).unwrap_or_default(),
    })
}

/// A field that holds a list.
pub(super) fn list(of: Shape, name: &str) -> Result<Found, Error> {
    let found = object(of, name)?;
    let shape = match found.shape.underlying() {
        Shape::List(item) if matches!(item.underlying(), Shape::List(_) | Shape::Bytes) => {
            return Err(Error::Failed("unexpected slice of slice".into()));
        }
        Shape::List(item) => *item,
        Shape::Bytes => found.shape,
        Shape::Pointer(to) => match to.underlying() {
            Shape::List(item) => *item,
            _ => *to,
        },
        _ => {
            return Err(Error::Failed(format!("expected slice or array type, but got: {}", kind(of))));
        }
    };
    Ok(Found { shape, ..found })
}

fn missing(of: Shape, name: &str) -> Error {
    let own = match of {
        Shape::Named(named) => named.go_name().rsplit('.').next().unwrap_or_default(),
        _ => "",
    };
    let name = pintle_meta::quote(name);
    Error::Failed(format!("unable to find api field in struct {own} for the json field {name}"))
}

/// The field of a name, or the first whose name differs only in case.
fn find(structure: &'static Struct, name: &str) -> Option<&'static Field> {
    let folded = || structure.flat.iter().copied().find(|field| is_same_name(field.name, name));
    structure.field(name).or_else(folded)
}

/// Names of fields are ASCII, of which two letters have relatives elsewhere.
fn is_same_name(field: &str, name: &str) -> bool {
    let plain = |letter: char| match letter {
        '\u{017f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    field.chars().map(plain).eq(name.chars().map(plain))
}

/// What Go calls the kind of a type.
pub(super) fn kind(of: Shape) -> &'static str {
    match of.underlying() {
        Shape::Scalar(Scalar::Any) => "interface",
        Shape::Scalar(scalar) => scalar.go_name(),
        Shape::Bytes | Shape::List(_) => "slice",
        Shape::Map(..) => "map",
        Shape::Pointer(_) => "ptr",
        Shape::Named(Type { kind: Kind::Struct(_) | Kind::Opaque(_) | Kind::Alias { .. }, .. }) => "struct",
    }
}
