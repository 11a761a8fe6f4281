//! Sources whose files come from the node or from objects of the API: hostPath, local, emptyDir, gitRepo, secret, configMap.

use super::{paths, require};
use crate::framework::validation::Cursor;

const HOST_PATH_TYPES: &[&str] =
    &["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

pub(crate) fn host_path(source: &Cursor<'_, '_>) {
    let path = source.field("path");
    if path.is_empty() {
        return path.required("");
    }
    paths::no_backsteps(&path);
    let kind = source.field("type");
    if kind.is_set() {
        kind.one_of(HOST_PATH_TYPES);
    }
}

pub(crate) fn local(source: &Cursor<'_, '_>) {
    let path = source.field("path");
    if path.is_empty() {
        return path.required("");
    }
    paths::no_backsteps(&path);
}

pub(crate) fn empty_dir(source: &Cursor<'_, '_>) {
    let limit = source.field("sizeLimit");
    if limit.quantity().is_some_and(|limit| limit.signum() < 0) {
        limit.forbidden("SizeLimit field must be a valid resource quantity");
    }
}

pub(crate) fn git_repo(source: &Cursor<'_, '_>) {
    require(source, &["repository"]);
    paths::local_descending(&source.field("directory"));
}

pub(crate) fn secret(source: &Cursor<'_, '_>) {
    require(source, &["secretName"]);
    file_mode(&source.field("defaultMode"));
    source.field("items").each(key_to_path);
}

pub(crate) fn config_map(source: &Cursor<'_, '_>) {
    require(source, &["name"]);
    file_mode(&source.field("defaultMode"));
    source.field("items").each(key_to_path);
}

/// Checks an item: a key, and the file that holds its value.
pub(crate) fn key_to_path(item: &Cursor<'_, '_>) {
    require(item, &["key", "path"]);
    paths::local_non_reserved(&item.field("path"));
    file_mode(&item.field("mode"));
}

/// Checks permission bits; none may be set.
pub(crate) fn file_mode(mode: &Cursor<'_, '_>) {
    if !(0..=0o777).contains(&mode.integer()) {
        mode.invalid(mode.integer(), "must be a number between 0 and 0777 (octal), both inclusive");
    }
}
