//! The suite that every backend runs.
