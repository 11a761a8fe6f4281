use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_schema::structural::Structural;
pub(crate) struct Validator;
impl Validator {
    pub(crate) fn new(_: &Structural) -> Validator {
        Validator
    }
    pub(crate) fn validate(&self, _: &Value) -> Vec<Error> {
        Vec::new()
    }
    pub(crate) fn validate_update(&self, _: &Value, _: &Value) -> Vec<Error> {
        Vec::new()
    }
    pub(crate) fn validate_update_at(&self, _: &Path<'_>, _: &Value, _: Option<&Value>) -> Vec<Error> {
        Vec::new()
    }
}
pub(crate) mod embedded {
    use super::*;
    pub(crate) fn validate(_: &Structural, _: &Value) -> Vec<Error> {
        Vec::new()
    }
}
pub(crate) mod lists {
    use super::*;
    pub(crate) fn validate(_: &Structural, _: &Value) -> Vec<Error> {
        Vec::new()
    }
}
