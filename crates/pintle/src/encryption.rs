//! `--encryption-provider-config`: the file that says which resources are encrypted at rest, and with which keys.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use pintle_control_plane::Config;
use pintle_encryption::{Encryption, Metrics, Setup, Source};
use pintle_server::WatchedFiles;

use crate::options::Options;

/// Loads the file, if there is one, and notices when it changes. KMS plugins that do not answer delay the start by their timeouts.
pub(crate) async fn load(options: &Options, plane: &Config) -> anyhow::Result<Option<Arc<Encryption>>> {
    let given = &options.encryption;
    let Some(path) = given.config.clone() else { return Ok(None) };
    let watched = WatchedFiles::new(vec![path.clone()]);
    let source = Source {
        path: path.display().to_string(),
        read: Box::new(move || std::fs::read(&path).map_err(|error| explain(&path, &error))),
        reloads: given.reloads,
    };
    let setup = Setup {
        clock: plane.clock.clone(),
        random: plane.random.clone(),
        metrics: Metrics::new(&plane.registry, &options.peers.server_id, &plane.clock)?,
        kms_v1: given.kms_v1,
    };
    let encryption = Encryption::load(source, setup).await;
    let encryption = Arc::new(encryption.map_err(|error| anyhow!("--encryption-provider-config: {error}"))?);
    if given.reloads {
        let noticing = encryption.clone();
        plane.spawner().spawn_until_stop(watched.watch(move || noticing.file_changed()));
    }
    Ok(Some(encryption))
}

/// The error of a file as Go writes it.
fn explain(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("open {path}: no such file or directory"),
        io::ErrorKind::PermissionDenied => format!("open {path}: permission denied"),
        io::ErrorKind::IsADirectory => format!("read {path}: is a directory"),
        _ => format!("open {path}: {error}"),
    }
}
