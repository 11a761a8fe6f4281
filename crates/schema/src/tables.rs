//! The tables of the built-in types, written by the build script from `data/types.facts`.

use std::sync::OnceLock;

use pintle_meta::value::Layout;

use crate::graph::{Field, Kind, ListType, More, Opaque, Patch, Scalar, Shape, Struct, Type};

include!(concat!(env!("OUT_DIR"), "/types.rs"));
