//! Annotations of pods that have a meaning to the server.
