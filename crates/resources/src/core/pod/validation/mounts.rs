//! Mounts and devices of a container.
