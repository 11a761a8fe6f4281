//! Folders of static manifests, which admission plugins are configured with.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use pintle_admission::{ManifestFile, ManifestFolders, is_manifest};
use rustix::fs::OFlags;

use crate::admission::{read_file, shown};

/// More files than this are not manifests.
const MOST_FILES: usize = 1000;

/// Folders of the file system.
pub(crate) struct Folders;

impl ManifestFolders for Folders {
    fn check(&self, folder: &str) -> Result<(), String> {
        match fs::metadata(folder) {
            Ok(metadata) if metadata.is_dir() => Ok(()),
            Ok(_) => Err("must be a directory".to_owned()),
            Err(error) => {
                // The call is another one than that of reading.
                let why = shown(Path::new(folder), &error);
                Err(format!("unable to read: stat {}", why.strip_prefix("open ").unwrap_or(&why)))
            }
        }
    }

    fn state(&self, folder: &str) -> u64 {
        let mut state = DefaultHasher::new();
        for path in manifests(folder).unwrap_or_default() {
            path.hash(&mut state);
            if let Ok(metadata) = fs::metadata(&path) {
                (metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec()).hash(&mut state);
            }
        }
        state.finish()
    }

    fn read(&self, folder: &str) -> Result<Vec<ManifestFile>, String> {
        let paths = manifests(folder).map_err(|error| {
            format!("failed to read manifest directory {folder:?}: {}", shown(Path::new(folder), &error))
        })?;
        let file = |path: PathBuf| match read_regular(&path) {
            Ok(content) => Ok(ManifestFile { path: path.display().to_string(), content }),
            Err(error) => Err(format!("failed to read file {path:?}: {}", shown(&path, &error))),
        };
        paths.into_iter().map(file).collect()
    }
}

/// Returns the files of a folder that are manifests, by name.
fn manifests(folder: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A folder is not followed: a link to one fails to be read.
        let is_folder = entry.file_type()?.is_dir();
        if !is_folder && entry.file_name().to_str().is_some_and(is_manifest) && !is_special(&entry.path()) {
            found.push(entry.path());
        }
        if found.len() > MOST_FILES {
            return Err(io::Error::other(format!("more than {MOST_FILES} files")));
        }
    }
    found.sort_by(|a, b| name(a).cmp(&name(b)));
    Ok(found)
}

/// Reports whether a path leads to a pipe, a socket or a device, of which reading may never end.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Reads a file, but no pipe that has taken its place since it was found.
fn read_regular(path: &Path) -> io::Result<Bytes> {
    let without_waiting = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    read_file(OpenOptions::new().read(true).custom_flags(without_waiting).open(path)?)
}

fn name(path: &Path) -> Option<&OsStr> {
    path.file_name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_read_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().to_str().unwrap();
        for (name, content) in [("b.yaml", "b"), ("a.JSON", "a"), ("c.txt", "c"), ("d.yml", "")] {
            fs::write(dir.path().join(name), content).unwrap();
        }
        fs::create_dir(dir.path().join("e.yaml")).unwrap();
        let read = || Folders.read(folder);
        let found: Vec<(String, String)> = read()
            .unwrap()
            .into_iter()
            .map(|file| {
                let name = file.path.strip_prefix(&format!("{folder}/")).unwrap().to_owned();
                (name, String::from_utf8(file.content.to_vec()).unwrap())
            })
            .collect();
        let expected = [("a.JSON", "a"), ("b.yaml", "b"), ("d.yml", "")];
        assert_eq!(found, expected.map(|(name, content)| (name.to_owned(), content.to_owned())));

        std::os::unix::fs::symlink("e.yaml", dir.path().join("f.yaml")).unwrap();
        let file = format!("{folder}/f.yaml");
        assert_eq!(read().unwrap_err(), format!("failed to read file {file:?}: read {file}: is a directory"));
        drop(dir);
    }

    #[test]
    fn what_is_no_file_is_no_manifest() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().to_str().unwrap();
        fs::write(dir.path().join("a.yaml"), "a").unwrap();
        let pipe = dir.path().join("b.yaml");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        std::os::unix::fs::symlink(&pipe, dir.path().join("c.yaml")).unwrap();
        let files = Folders.read(folder).unwrap();
        assert_eq!(files.iter().map(|file| &file.content[..]).collect::<Vec<_>>(), [b"a"]);
        assert_eq!(read_regular(&pipe).unwrap(), "", "nor is a reader kept by one that was a file before");
    }

    #[test]
    fn every_change_is_another_state() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().to_str().unwrap();
        let mut states = vec![Folders.state(folder)];
        let mut is_other = |what: &str| {
            let state = Folders.state(folder);
            assert!(!states.contains(&state), "{what}");
            states.push(state);
        };
        fs::write(dir.path().join("a.yaml"), "a").unwrap();
        is_other("a file");
        fs::write(dir.path().join("a.yaml"), "ab").unwrap();
        is_other("its content");
        fs::rename(dir.path().join("a.yaml"), dir.path().join("b.yaml")).unwrap();
        is_other("its name");
        let before = Folders.state(folder);
        fs::write(dir.path().join("notes.txt"), "a").unwrap();
        assert_eq!(Folders.state(folder), before);
    }

    #[test]
    fn a_folder_must_be_one() {
        let dir = tempfile::tempdir().unwrap();
        let (file, missing) = (dir.path().join("file"), dir.path().join("missing"));
        fs::write(&file, "").unwrap();
        let check = |path: &Path| Folders.check(path.to_str().unwrap());
        assert_eq!(check(dir.path()), Ok(()));
        assert_eq!(check(&file), Err("must be a directory".to_owned()));
        let shown = missing.display();
        assert_eq!(check(&missing), Err(format!("unable to read: stat {shown}: no such file or directory")));
        assert_eq!(
            Folders.read(missing.to_str().unwrap()).unwrap_err(),
            format!("failed to read manifest directory {missing:?}: open {shown}: no such file or directory")
        );
    }
}
