//! Values of Kubernetes' opaque types: URLs, addresses, quantities, authorizers.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::types::Type;

/// Value that expressions can only pass on, compare, and pass to its functions.
pub trait Opaque: fmt::Debug + Send + Sync + 'static {
    fn type_of(&self) -> Type;

    /// Compares with another value of any type.
    fn equal(&self, other: &dyn Opaque) -> bool;

    /// Size for the cost model of functions that traverse it.
    fn size(&self) -> Option<usize> {
        None
    }

    /// Formats the value as messages do.
    fn show(&self) -> String;

    fn as_any(&self) -> &dyn Any;
}

/// Opaque value; clones share.
#[derive(Clone, Debug)]
pub struct Other(Arc<dyn Opaque>);

impl Other {
    pub fn new(value: impl Opaque) -> Other {
        Other(Arc::new(value))
    }

    pub(crate) fn type_of(&self) -> Type {
        self.0.type_of()
    }

    pub(crate) fn size(&self) -> Option<usize> {
        self.0.size()
    }

    pub(crate) fn equal(&self, other: &Other) -> bool {
        self.0.equal(&*other.0)
    }

    pub(crate) fn downcast<T: 'static>(&self) -> Option<&T> {
        self.0.as_any().downcast_ref()
    }
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.show())
    }
}

/// Implements [`Opaque`] for a type with `==`.
macro_rules! opaque {
    ($name:ty, $of:expr) => {
        opaque!($name, $of, |_| None);
    };
    ($name:ty, $of:expr, $size:expr) => {
        impl $crate::value::Opaque for $name {
            fn type_of(&self) -> $crate::types::Type {
                $of
            }

            fn equal(&self, other: &dyn $crate::value::Opaque) -> bool {
                other.as_any().downcast_ref::<$name>().is_some_and(|other| self == other)
            }

            fn size(&self) -> Option<usize> {
                let size: fn(&$name) -> Option<usize> = $size;
                size(self)
            }

            fn show(&self) -> String {
                self.to_string()
            }

            fn as_any(&self) -> &dyn std::any::Any {
                self
            }
        }
    };
}

pub(crate) use opaque;
