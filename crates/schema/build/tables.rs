//! Writes the types as Rust tables, which need no initialization.

use std::fmt::Write;

use crate::facts::{Field, Shape, Type, TypeKind};

pub(crate) fn write(types: &[Type]) -> Result<String, String> {
    let mut text = String::new();
    for (type_index, found) in types.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = write_type(&mut text, types, type_index, found)?;
    }
    let all: String = (0..types.len()).map(|type_index| format!("&T{type_index},")).collect();
    let _ = writeln!(text, "pub(crate) static TYPES: [&Type; {}] = [{all}];", types.len());
    Ok(text)
}

fn write_type(
    text: &mut String,
    types: &[Type],
    type_index: usize,
    found: &Type,
) -> Result<std::fmt::Result, String> {
    let name = &found.name;
    let kind = match &found.kind {
        TypeKind::Opaque => {
            let own = name.rsplit('.').next().unwrap_or_default();
            format!("TypeKind::Opaque(Opaque::{own})")
        }
        TypeKind::Alias { of, values, atomic } => {
            format!("TypeKind::Alias {{ of: {}, values: &{values:?}, atomic: {atomic} }}", shape(of))
        }
        TypeKind::Struct { fields, atomic, union } => {
            let mut flat_indexes = Vec::new();
            let mut flat = Vec::new();
            for (index, field) in fields.iter().enumerate() {
                flat_indexes.push(flat.len());
                flatten(types, type_index, index, field, &mut flat)?;
            }
            let declared: String = fields
                .iter()
                .zip(&flat_indexes)
                .map(|(field, flat_index)| self::field(field, *flat_index))
                .collect();
            let _ = writeln!(text, "static F{type_index}: [Field; {}] = [{declared}];", fields.len());
            structure(types, type_index, fields, &flat, (*atomic, *union))
        }
    };
    Ok(writeln!(
        text,
        "static T{type_index}: Type = Type {{ name: {name:?}, index: {type_index}, kind: {kind} }};"
    ))
}

/// Appends a field in JSON's view: an inline field is replaced by its own fields.
fn flatten(
    types: &[Type],
    owner: usize,
    index: usize,
    field: &Field,
    flat: &mut Vec<(usize, usize)>,
) -> Result<(), String> {
    if !field.name.is_empty() {
        flat.push((owner, index));
        return Ok(());
    }
    let mut shape = field.shape.as_ref();
    while let Some(Shape::Named(named)) = shape
        && let TypeKind::Alias { of, .. } = &types[*named].kind
    {
        shape = Some(of);
    }
    let Some(Shape::Named(inline)) = shape else {
        return Err(format!("{} has an inline field that is no struct", types[owner].name));
    };
    let inline = *inline;
    let TypeKind::Struct { fields, .. } = &types[inline].kind else {
        return Err(format!("{} is inline and no struct", types[inline].name));
    };
    fields.iter().enumerate().try_for_each(|(index, field)| flatten(types, inline, index, field, flat))
}

fn structure(
    types: &[Type],
    type_index: usize,
    fields: &[Field],
    flat: &[(usize, usize)],
    (atomic, union): (bool, bool),
) -> String {
    let name_of = |(owner, index): &(usize, usize)| match &types[*owner].kind {
        TypeKind::Struct { fields, .. } => fields[*index].name.as_str(),
        _ => "",
    };
    let names: Vec<&str> = flat.iter().map(name_of).collect();
    let mut by_name: Vec<usize> = (0..flat.len()).collect();
    by_name.sort_by_key(|index| names[*index]);
    let mut by_number: Vec<usize> =
        (0..fields.len()).filter(|index| fields[*index].number.is_some()).collect();
    by_number.sort_by_key(|index| fields[*index].number);
    let flat: String = flat.iter().map(|(owner, index)| format!("&F{owner}[{index}],")).collect();
    format!(
        "TypeKind::Struct(Struct {{ fields: &F{type_index}, flat: &[{flat}], layout: Layout {{ names: &{names:?} }}, \
         by_name: &{by_name:?}, by_number: &{by_number:?}, atomic: {atomic}, union: {union}, zero: OnceLock::new() }})"
    )
}

fn field(field: &Field, flat_index: usize) -> String {
    let Field { name, number, omit_empty, omit_zero, optional, keys, atomic, granular, .. } = field;
    let Field { discriminator, default, .. } = field;
    let required = field.required || !(*optional || *omit_empty || *omit_zero);
    let shape = field.shape.as_ref().map(shape).unwrap_or_default();
    let list = match field.list.as_deref() {
        Some("atomic") => "Some(ListType::Atomic)",
        Some("set") => "Some(ListType::Set)",
        Some("map") => "Some(ListType::Map)",
        _ => "None",
    };
    let patch = match &field.patch {
        Some((strategies, key)) => {
            format!("Some(Patch {{ strategies: &{strategies:?}, merge_key: {key:?} }})")
        }
        None => "None".into(),
    };
    let more = if keys.is_empty() && field.patch.is_none() && default.is_none() {
        "None".to_owned()
    } else {
        format!("Some(&More {{ keys: &{keys:?}, patch: {patch}, default: {default:?} }})")
    };
    format!(
        "Field {{ name: {name:?}, number: {number:?}, shape: {shape}, omit_empty: {omit_empty}, omit_zero: {omit_zero}, \
         optional: {optional}, required: {required}, discriminator: {discriminator}, list: {list}, atomic: {atomic}, \
         granular: {granular}, more: {more}, flat_index: {flat_index} }},"
    )
}

fn shape(of: &Shape) -> String {
    match of {
        Shape::Scalar(name) => format!("Shape::Scalar(Scalar::{name})"),
        Shape::Bytes => "Shape::Bytes".into(),
        Shape::Named(type_index) => format!("Shape::Named(&T{type_index})"),
        Shape::Pointer(of) => format!("Shape::Pointer(&{})", shape(of)),
        Shape::List(of) => format!("Shape::List(&{})", shape(of)),
        Shape::Map(key, value) => format!("Shape::Map(&{}, &{})", shape(key), shape(value)),
    }
}
