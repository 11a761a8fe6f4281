//! Whether a definition may be as it is.
