//! The configuration of admission plugins: `--admission-control-config-file` and the files that it names.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use anyhow::anyhow;
use bytes::Bytes;
use pintle_admission::{ConfigurationSource, Configurations, configuration_sources};
use pintle_outbound::configuration::LARGEST;

/// Reads the configurations of these plugins, if there is a file.
pub(crate) fn configurations(
    path: Option<&Path>,
    plugins: &[&'static str],
) -> anyhow::Result<Configurations> {
    let Some(path) = path else { return Ok(Configurations::default()) };
    let failed = |why: String| anyhow!("failed to apply admission: failed to read plugin config: {why}");
    let text = read(path).map_err(|error| {
        failed(format!(
            "unable to read admission control configuration from {path:?} [{}]",
            shown(path, &error)
        ))
    })?;
    let sources = configuration_sources(&text, path, plugins.iter().copied()).map_err(failed)?;
    let content = |(plugin, source): (&str, ConfigurationSource)| {
        let content = match source {
            ConfigurationSource::Embedded(json) => json,
            ConfigurationSource::File(path) => read(&path).map_err(|error| {
                let (file, why) = (path.display(), shown(&path, &error));
                anyhow!("Couldn't open admission plugin configuration {file} of {plugin}: {why}")
            })?,
        };
        anyhow::Ok((plugin.to_owned(), content))
    };
    Ok(Configurations::new(sources.into_iter().map(content).collect::<anyhow::Result<Vec<_>>>()?))
}

/// Reads a file, but not one without an end.
fn read(path: &Path) -> io::Result<Bytes> {
    read_file(fs::File::open(path)?)
}

/// Reads an open file, but not one without an end.
pub(crate) fn read_file(file: fs::File) -> io::Result<Bytes> {
    let mut content = Vec::new();
    let longest = u64::try_from(LARGEST).unwrap_or(u64::MAX);
    file.take(longest.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() > LARGEST {
        return Err(io::Error::other(format!("longer than {LARGEST} bytes")));
    }
    Ok(content.into())
}

/// Returns an error in Go's words: `open /a: no such file or directory`.
pub(crate) fn shown(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("open {path}: no such file or directory"),
        io::ErrorKind::PermissionDenied => format!("open {path}: permission denied"),
        io::ErrorKind::IsADirectory => format!("read {path}: is a directory"),
        _ => format!("open {path}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(path: &Path, plugins: &[&'static str]) -> String {
        configurations(Some(path), plugins).unwrap_err().to_string()
    }

    #[test]
    fn files_of_plugins_are_read_beside_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("admission.yaml");
        let text = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n\
                    - {name: PodSecurity, path: security.yaml}\n- {name: ResourceQuota, path: missing.yaml}\n";
        fs::write(&path, text).unwrap();
        fs::write(dir.path().join("security.yaml"), "a: b").unwrap();
        let read = configurations(Some(&path), &["PodSecurity", "LimitRanger"]).unwrap();
        assert_eq!(read.of("PodSecurity").map(|content| &content[..]), Some(&b"a: b"[..]));
        assert_eq!(read.of("LimitRanger"), None);
        // The file of a plugin that is off is not read.
        let missing = dir.path().join("missing.yaml");
        let missing = missing.display();
        assert_eq!(
            error(&path, &["ResourceQuota"]),
            format!(
                "Couldn't open admission plugin configuration {missing} of ResourceQuota: open {missing}: no such file or \
                 directory"
            )
        );
        assert!(configurations(None, &["PodSecurity"]).unwrap().of("PodSecurity").is_none());
    }

    #[test]
    fn an_unusable_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let (missing, shown) = (dir.path().join("a"), dir.path().join("a").display().to_string());
        assert_eq!(
            error(&missing, &[]),
            format!(
                "failed to apply admission: failed to read plugin config: unable to read admission control configuration from \
                 {shown:?} [open {shown}: no such file or directory]"
            )
        );
        assert!(error(dir.path(), &[]).ends_with(": is a directory]"));
        fs::write(&missing, "a: b").unwrap();
        assert_eq!(
            error(&missing, &[]),
            "failed to apply admission: failed to read plugin config: Object 'Kind' is missing in 'a: b'"
        );
    }
}
