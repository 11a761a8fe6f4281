//! Measurement of admission.

use std::time::Duration;

use crate::Operation;

/// The two parts of admission, `type` in metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionType {
    /// Mutating plugins, before the object is validated.
    Admit,
    /// Validating plugins, in the attempt that stores the object.
    Validate,
}

impl AdmissionType {
    pub fn as_str(self) -> &'static str {
        match self {
            AdmissionType::Admit => "admit",
            AdmissionType::Validate => "validate",
        }
    }
}

/// One run of a plugin or of a whole part of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    pub admission: AdmissionType,
    pub operation: Operation,
    pub rejected: bool,
    pub duration: Duration,
}

/// Takes the measurements of a chain. Called within requests, so it must not block.
pub trait Observer: Send + Sync + 'static {
    /// Called once for each part of admission of an attempt, whether or not a plugin ran.
    fn step(&self, observation: Observation);

    /// Called for each run of a plugin that handles the operation and resource.
    fn plugin(&self, name: &'static str, observation: Observation);
}
