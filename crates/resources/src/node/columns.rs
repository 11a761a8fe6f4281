//! The columns of `RuntimeClass`.

use crate::framework::columns::{AGE, Columns, NAME, cell, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    (kind == "RuntimeClass").then_some(&RUNTIME_CLASS)
}

static RUNTIME_CLASS: Columns =
    Columns::new("node/v1.RuntimeClass", &[NAME, text("Handler", ""), AGE], |object, context, cells| {
        cells.extend([cell::name(object), cell::text(object, &["handler"]), context.age(object)]);
    });

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn a_runtime_class_shows_its_handler() {
        let object = r#"{"metadata":{"name":"r"},"handler":"h"}"#;
        check("node/v1.RuntimeClass", object, r#"["r","h","<unknown>"]"#);
    }
}
