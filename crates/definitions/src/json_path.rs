//! Paths into objects, as `kubectl` and printer columns spell them.
