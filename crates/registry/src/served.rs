//! A resource as clients see it: the objects of one served version, read from them and shown to them.

use std::borrow::Cow;
use std::cmp::Ordering;

use pintle_cache::BodyFormat;
use pintle_codec::negotiate::Encoding;
use pintle_codec::table::{Column, Completed, Empty};
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::time::Time;
use pintle_patch::managed::Converter;
use pintle_patch::typed::TypeRef;
use pintle_schema::Type;

use crate::Result;

/// A client's input as an object of the served version, in normal form and without defaults.
#[derive(Debug)]
pub struct Received {
    pub object: Value,
    /// Unknown and duplicate fields, which `fieldValidation` decides about.
    pub strict: Vec<String>,
}

/// A whole request body, which says what kind it is.
#[derive(Debug)]
pub struct Submitted {
    pub kind: GroupVersionKind,
    /// As [`Received::object`]; or why it is not taken although it could be read, which clients are told after what is wrong
    /// with its fields.
    pub object: Result<Value>,
    /// As [`Received::strict`].
    pub strict: Vec<String>,
}

/// One per served version of a resource, and per kind that a subresource speaks.
pub trait Served: Send + Sync + 'static {
    fn kind(&self) -> &GroupVersionKind;

    /// Reads a request's body. What is wrong with it is answered in the reference's words.
    fn read(&self, encoding: Encoding, body: &[u8]) -> Result<Submitted>;

    /// Reads the JSON of an object, without telling a client anything; the error is what is wrong with it.
    fn parse(&self, text: &[u8]) -> std::result::Result<Received, String>;

    /// An object of the served version as the stored one, with its defaults. The error is what the stored version cannot hold.
    fn to_stored(&self, object: Value) -> std::result::Result<Value, String>;

    /// An object of the stored version as the served one, saying what it is.
    fn to_served(&self, object: Value) -> Result<Value>;

    /// The format in which the cache keeps bodies for an encoding; `None` where it keeps none.
    fn body_format(&self, encoding: Encoding) -> Option<BodyFormat>;

    /// Writes an object of the served version as a bare protobuf message; an error if the kind has none.
    fn write_protobuf(&self, object: &Value, out: &mut Vec<u8>) -> std::result::Result<(), String>;

    /// An object of the served version of which nothing is known.
    fn zero(&self) -> Value;

    /// A term of a field selector as the stored version has it; or what the client is told.
    fn field_label(&self, label: &str, value: &str) -> std::result::Result<(String, String), String>;

    /// The place of a field in what the cache reads of an object.
    fn field_place(&self, label: &str) -> Option<usize>;

    /// The type that managed fields are recorded by...
    fn managed_type(&self) -> TypeRef<'_>;

    /// ...and the types of the other versions.
    fn managed_versions(&self) -> &dyn Converter;

    /// The type that strategic merge patches go by; `None` if there are none of this kind.
    fn strategic_type(&self) -> Option<&'static Type>;

    /// How the objects are shown in a table; `None` if asking for one is not acceptable.
    fn table(&self) -> Option<&dyn Table>;

    /// Whether bodies in JSON say what they are, as do the items of lists: custom resources, whose fields are sorted by name
    /// and which have no protobuf form.
    fn is_custom(&self) -> bool {
        false
    }

    /// The kind of a list of these.
    fn list_kind(&self) -> String {
        format!("{}List", self.kind().kind)
    }

    /// As messages call the internal type: `core.Pod`.
    fn internal_name(&self) -> String;

    /// The warning that every request for this version gets.
    fn deprecation(&self) -> Option<&str> {
        None
    }

    /// The release (`1.38`) that does not serve this version any more, if that is settled.
    fn removed_release(&self) -> Option<&str> {
        None
    }
}

/// How objects of the stored version are shown in a table.
pub trait Table: Send + Sync {
    fn columns(&self) -> Cow<'_, [Column<'_>]>;

    /// The rows of an empty table.
    fn empty(&self) -> Empty;

    /// Whether every event of a watch says the columns again.
    fn always_defined(&self) -> bool {
        false
    }

    /// The cells of an object, and whether it has come to its end.
    fn cells(&self, object: &Value, now: Time, cells: &mut Vec<Value>) -> Result<Option<Completed>>;

    /// The order of a list's rows, where it is not that of the list.
    fn order(&self) -> Option<fn(&Value, &Value) -> Ordering> {
        None
    }
}
