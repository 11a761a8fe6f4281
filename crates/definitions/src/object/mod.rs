//! What a schema makes of an object: pruned, with its defaults, valid or not.
