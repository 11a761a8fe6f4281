//! Lookup of a field's type, patch strategy and merge key.

use pintle_schema::{Field, Scalar, Shape, Struct, Type, TypeKind};

use super::Error;

/// Field of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Shape of the field, or of its list's items.
    pub(super) shape: Shape,
    /// Empty if undeclared, which means merge for objects and replace for lists.
    pub(super) strategy: &'static str,
    /// Empty if undeclared.
    pub(super) merge_key: &'static str,
}

/// Looks up a field of an object's type.
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
                go_kind(of)
            )),
        });
    };
    let field = find(structure, name).ok_or_else(|| missing(of, name))?;
    let patch = field.patch();
    let strategies = patch.map(|patch| patch.strategies).unwrap_or_default();
    // `retainKeys` only concerns clients that create patches.
    let strategy = strategies.iter().find(|strategy| **strategy != "retainKeys");
    Ok(Found {
        shape: field.shape,
        strategy: strategy.copied().unwrap_or_default(),
        merge_key: patch.and_then(|patch| patch.merge_key).unwrap_or_default(),
    })
}

/// Looks up a field of a list's type.
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
            return Err(Error::Failed(format!("expected slice or array type, but got: {}", go_kind(of))));
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

/// Returns the field of a name, or the first whose name differs only in case.
fn find(structure: &'static Struct, name: &str) -> Option<&'static Field> {
    let folded = || structure.flat.iter().copied().find(|field| is_same_name(field.name, name));
    structure.field(name).or_else(folded)
}

/// Compares case-insensitively. Field names are ASCII; two of its letters fold to non-ASCII ones.
fn is_same_name(field: &str, name: &str) -> bool {
    let plain = |letter: char| match letter {
        '\u{017f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    field.chars().map(plain).eq(name.chars().map(plain))
}

/// Returns Go's reflect kind of a type.
pub(super) fn go_kind(of: Shape) -> &'static str {
    match of.underlying() {
        Shape::Scalar(Scalar::Any) => "interface",
        Shape::Scalar(scalar) => scalar.go_name(),
        Shape::Bytes | Shape::List(_) => "slice",
        Shape::Map(..) => "map",
        Shape::Pointer(_) => "ptr",
        Shape::Named(Type {
            kind: TypeKind::Struct(_) | TypeKind::Opaque(_) | TypeKind::Alias { .. },
            ..
        }) => "struct",
    }
}
