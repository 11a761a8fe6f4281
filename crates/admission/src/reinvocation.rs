//! The second run of mutating plugins.
//!
//! A plugin that changed the object after others had seen it asks for a second run (`reinvocationPolicy: IfNeeded`). There is
//! at most one per attempt. In it, built-in plugins run again as they are; webhooks decide by their own record of the first
//! run, which they keep here.

use std::any::Any;
use std::collections::HashMap;

/// The reinvocation context of one attempt.
#[derive(Debug, Default)]
pub struct Reinvocation {
    is_requested: bool,
    is_second_run: bool,
    records: HashMap<&'static str, Box<dyn Any + Send + Sync>>,
}

impl Reinvocation {
    /// Asks for a second run of all mutating plugins. Without effect in the second run.
    pub fn request(&mut self) {
        self.is_requested = true;
    }

    pub fn is_second_run(&self) -> bool {
        self.is_second_run
    }

    /// Returns the record that a plugin keeps from the first run to the second, made by `T::default` on first use.
    pub fn record<T: Any + Default + Send + Sync>(&mut self, plugin: &'static str) -> Option<&mut T> {
        self.records.entry(plugin).or_insert_with(|| Box::new(T::default())).downcast_mut()
    }

    /// Begins the second run if one was requested in the first.
    pub(crate) fn begin_second_run(&mut self) -> bool {
        let begins = self.is_requested && !self.is_second_run;
        self.is_second_run |= begins;
        begins
    }
}
