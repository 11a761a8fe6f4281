//! Growth: an accepted object gets a further field, so that the rules of that field are met in an object that is otherwise valid.

use pintle_schema::{Shape, Type};
use serde_json::Value as Json;

use crate::author::{Author, Place, is_of_the_server, union_members};

/// A struct in an object: the way to it, and its type.
type Found = (Vec<String>, &'static Type);

impl Author<'_> {
    /// Sets a field that no accepted object had, or else any, somewhere in an object.
    pub(crate) fn grow(&self, kind: &'static Type, object: &mut Json) {
        self.refresh(self.below(2) == 0);
        let mut structs = Vec::new();
        collect(Shape::Named(kind), object, &mut Vec::new(), &mut structs);
        let mut places: Vec<(&[String], Place)> = Vec::new();
        let mut wanted = Vec::new();
        for (path, of) in &structs {
            let is_root = path.is_empty();
            for field in of.structure().into_iter().flat_map(|of| of.flat) {
                if is_of_the_server(of, field.name)
                    || is_root && ["kind", "apiVersion", "metadata", "status"].contains(&field.name)
                {
                    continue;
                }
                let place = Place { shape: field.shape, parent: of.name, field: field.name };
                if self.may_insist(of, field.name) {
                    wanted.push((path.as_slice(), place, *of));
                }
                places.push((path.as_slice(), place));
            }
        }
        let (path, place) = if wanted.is_empty() || self.below(8) == 0 {
            if places.is_empty() {
                return;
            }
            self.one_of(&places)
        } else {
            let (path, place, of) = self.one_of(&wanted);
            self.is_wanted(of, place.field);
            (path, place)
        };
        let value = self.value(place, path.len());
        let at = path.iter().try_fold(&mut *object, |value, step| match value {
            Json::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
            other => other.get_mut(step.as_str()),
        });
        if let Some(Json::Object(fields)) = at {
            let of = structs.iter().find(|(known, _)| known == path).map(|(_, of)| *of);
            let members = of.and_then(union_members).unwrap_or_default();
            if members.contains(&place.field) {
                fields.retain(|name, _| !members.contains(&name.as_str()));
            }
            fields.insert(place.field.into(), value);
        }
    }
}

fn collect(shape: Shape, value: &Json, path: &mut Vec<String>, found: &mut Vec<Found>) {
    let mut below = |step: String, shape: Shape, value: &Json| {
        path.push(step);
        collect(shape, value, path, found);
        path.pop();
    };
    match (shape.underlying(), value) {
        (Shape::Pointer(of), _) => collect(*of, value, path, found),
        (Shape::List(of), Json::Array(items)) => {
            items.iter().enumerate().for_each(|(index, item)| below(index.to_string(), *of, item));
        }
        (Shape::Map(_, of), Json::Object(entries)) => {
            entries.iter().for_each(|(key, value)| below(key.clone(), *of, value));
        }
        (Shape::Named(of), Json::Object(fields)) => {
            let Some(structure) = of.structure() else { return };
            for field in structure.flat {
                if let Some(value) = fields.get(field.name) {
                    below(field.name.to_owned(), field.shape, value);
                }
            }
            found.push((path.clone(), of));
        }
        _ => {}
    }
}
