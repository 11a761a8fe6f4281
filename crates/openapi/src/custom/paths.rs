//! The operations of custom resources. The reference writes these paths with code of their own, and it shows: there are
//! no paths for watching, other media types, and other parameters than built-in resources have.

use crate::Options;
use crate::json::title;
use crate::operations::{Answer, Body, Media, Operation, Path, Reference, answer, body, plain};
use crate::parameters::{self, Parameter};

use super::names::Names;

/// The differences between resources besides their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) namespaced: bool,
    pub(crate) status: bool,
    pub(crate) scale: bool,
}

impl Shape {
    pub(crate) const COUNT: usize = 8;

    /// A number below [`Shape::COUNT`].
    pub(crate) fn index(self) -> usize {
        usize::from(self.namespaced) | usize::from(self.status) << 1 | usize::from(self.scale) << 2
    }
}

/// The paths of a resource.
pub(crate) fn paths(names: &Names, shape: Shape, options: &Options<'_>) -> Vec<Path> {
    let writer = Writer { names, shape, options };
    let base = format!("/apis/{}/{}", names.group(), names.version());
    let scoped = if shape.namespaced { "namespaces/{namespace}/" } else { "" };
    let collection = format!("{base}/{scoped}{}", names.plural());
    let one = format!("{collection}/{{name}}");
    let mut paths = Vec::new();
    if shape.namespaced {
        paths.push((format!("{base}/{}", names.plural()), vec![writer.list(true)]));
    }
    paths.push((collection, vec![writer.list(false), writer.create(), writer.delete_collection()]));
    let mut operations = writer.of_one("");
    operations.push(writer.delete());
    paths.push((one.clone(), operations));
    for (there, sub) in [(shape.status, "status"), (shape.scale, "scale")] {
        if there {
            paths.push((format!("{one}/{sub}"), writer.of_one(sub)));
        }
    }
    paths.into_iter().map(|(path, operations)| Path { path, operations }).collect()
}

struct Writer<'a> {
    names: &'a Names,
    shape: Shape,
    options: &'a Options<'a>,
}

impl Writer<'_> {
    fn operation(
        &self,
        method: &'static str,
        action: &'static str,
        id: (&str, &str),
        description: String,
        parameters: Vec<Parameter>,
    ) -> Operation {
        let names = self.names;
        let mut parameters = parameters;
        parameters.push(parameters::pretty());
        let (verb, rest) = id;
        let own = [names.group(), names.version(), names.kind()].map(str::to_owned);
        Operation {
            method,
            action: Some((action, own)),
            parameters,
            produces: Media::Custom,
            answer: self.object(),
            ..plain(&format!("{verb}{}{rest}", names.camel()), &description, names.tag())
        }
    }

    /// With what stands in the path.
    fn placed(&self, mut operation: Operation, on_one: bool) -> Operation {
        if self.shape.namespaced {
            operation.parameters.push(parameters::namespace());
        }
        if on_one {
            operation.parameters.push(parameters::object_name(self.names.kind()));
        }
        operation
    }

    fn object(&self) -> Answer {
        Answer::Object(Reference::Custom(self.names.definition().to_owned()))
    }

    fn own_body(&self) -> Option<Body> {
        let of = Reference::Custom(self.names.definition().to_owned());
        Some(Body { of, patch: false, required: true })
    }

    /// The kind as identifiers have it.
    fn kind(&self, before: &str, after: &str) -> String {
        let namespaced = if self.shape.namespaced { "Namespaced" } else { "" };
        format!("{before}{namespaced}{}{after}", self.names.identifier())
    }

    fn list(&self, all: bool) -> Operation {
        let rest =
            if all { format!("{}ForAllNamespaces", self.names.identifier()) } else { self.kind("", "") };
        let description = format!("list objects of kind {}", self.names.kind());
        let parameters = parameters::list(self.options, true);
        let operation = self.operation("get", "list", ("list", &rest), description, parameters);
        let answer = Answer::Object(Reference::Custom(self.names.list_definition().to_owned()));
        let operation = Operation { answer, ..operation };
        if all { operation } else { self.placed(operation, false) }
    }

    fn create(&self) -> Operation {
        let description = format!("create{}", self.names.noun());
        let parameters = parameters::create(self.options);
        let id = ("create", &*self.kind("", ""));
        let operation = self.operation("post", "post", id, description, parameters);
        Operation { body: self.own_body(), codes: &[200, 201, 202], ..self.placed(operation, false) }
    }

    fn delete_collection(&self) -> Operation {
        let description = format!("delete collection of {}", self.names.kind());
        let parameters = parameters::list(self.options, true);
        let id = ("delete", &*self.kind("Collection", ""));
        let operation = self.operation("delete", "deletecollection", id, description, parameters);
        Operation { answer: answer("meta/v1.Status"), ..self.placed(operation, false) }
    }

    fn delete(&self) -> Operation {
        let description = format!("delete{}", self.names.noun());
        let parameters = parameters::delete(self.options);
        let id = ("delete", &*self.kind("", ""));
        let operation = self.operation("delete", "delete", id, description, parameters);
        Operation {
            body: body("meta/v1.DeleteOptions", false),
            answer: answer("meta/v1.Status"),
            codes: &[200, 202],
            ..self.placed(operation, true)
        }
    }

    /// Reading and writing of one object or a subresource of it.
    fn of_one(&self, sub: &str) -> Vec<Operation> {
        let of = if sub.is_empty() { String::new() } else { format!(" {sub} of") };
        let rest = self.kind("", &title(sub));
        let noun = format!("{of} the specified {}", self.names.kind());
        let (object, own) = match sub {
            "scale" => {
                let scale = answer("autoscaling/v1.Scale");
                let body = match &scale {
                    Answer::Object(of) => Some(Body { of: of.clone(), patch: false, required: true }),
                    _ => None,
                };
                (scale, body)
            }
            _ => (self.object(), self.own_body()),
        };
        let operation = |method, action, verb: &str, says: &str, parameters| {
            let operation =
                self.operation(method, action, (verb, &rest), format!("{says}{noun}"), parameters);
            Operation { answer: object.clone(), ..self.placed(operation, true) }
        };
        let get = operation("get", "get", "read", "read", parameters::get(self.options));
        let put = operation("put", "put", "replace", "replace", parameters::update(self.options));
        let patch = operation("patch", "patch", "patch", "partially update", parameters::patch(self.options));
        vec![
            get,
            Operation { body: own, codes: &[200, 201], ..put },
            Operation { body: body("meta/v1.Patch", true), ..patch },
        ]
    }
}
