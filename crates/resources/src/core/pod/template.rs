//! PodTemplates: pods that controllers of other projects may make.

use super::disabled;
use super::validation::{self, Options};
use super::warnings;
use crate::core::strategy::NAMESPACED;
use crate::framework::strategy::Rules;

pub(in crate::core) const POD_TEMPLATES: Rules = Rules {
    generation_fields: &[&["template"]],
    returns_deleted_object: true,
    on_create: |settings, _, template| {
        disabled::drop_from_template(&settings.features, template, None, &["template"]);
    },
    on_update: |settings, _, new, old| {
        disabled::drop_from_template(&settings.features, new, Some(old), &["template"]);
    },
    validate: |settings, object| {
        let template = object.field("template");
        validation::template(&template, &Options::for_template(settings, &template));
    },
    validate_update: |settings, object| {
        let template = object.field("template");
        validation::template(&template, &Options::for_template(settings, &template));
    },
    warnings: |_, template, old| {
        let is_same = old.is_some_and(|old| old.generation() == template.generation());
        if is_same { Vec::new() } else { warnings::of_template(template, &["template"]) }
    },
    ..NAMESPACED
};

#[cfg(test)]
mod tests;
