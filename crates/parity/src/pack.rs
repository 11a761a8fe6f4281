//! How recordings are kept: gzipped, so that the same text always makes the same bytes.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use flate2::{Compression, GzBuilder};
use pintle_published::recorded::{self, Part};

/// Writes the document of an area into a folder of recordings.
pub fn write(folder: &Path, part: Part, area: &str, text: &str) -> anyhow::Result<()> {
    let file = recorded::file(folder, part, area);
    let what = || format!("cannot write {}", file.display());
    fs::create_dir_all(folder.join(part.folder())).with_context(what)?;
    let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes())?;
    fs::write(&file, packed.finish()?).with_context(what)
}

/// Packs `cases/*.json` and `golden/*.json` of a folder into a folder of recordings.
pub fn pack(from: &Path, folder: &Path) -> anyhow::Result<()> {
    for part in Part::ALL {
        let source = from.join(part.folder());
        for entry in source.read_dir().with_context(|| format!("cannot read {}", source.display()))? {
            let path = entry?.path();
            let area = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json"));
            let Some(area) = area else { continue };
            write(folder, part, area, &fs::read_to_string(&path)?)?;
        }
    }
    Ok(())
}

/// Writes the documents of a folder of recordings as plain JSON files, for reading and editing.
pub fn unpack(folder: &Path, into: &Path) -> anyhow::Result<()> {
    for area in recorded::areas(folder)? {
        for part in Part::ALL {
            let text = recorded::read(folder, part, &area)?;
            let target = into.join(part.folder());
            fs::create_dir_all(&target)?;
            fs::write(target.join(format!("{area}.json")), text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_reversible_and_deterministic() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "{\"é\": 1}\n".repeat(1000);
        let mut packed = Vec::new();
        for _ in 0..2 {
            write(folder.path(), Part::Cases, "some", &text).expect("written");
            packed.push(fs::read(recorded::file(folder.path(), Part::Cases, "some")).expect("read"));
        }
        assert_eq!(packed[0], packed[1]);
        assert_eq!(recorded::areas(folder.path()).expect("areas"), ["some"]);
        assert_eq!(recorded::read(folder.path(), Part::Cases, "some").expect("read"), text);
    }
}
