//! `cargo xtask layout --map MAP --start PROFILE ... --requests PROFILE ...` writes down which functions of the program a start needs
//! and which ones requests need, so that the linker can put them next to each other (`crates/pintle/build.rs`).
//!
//! A profile is callgrind's, with addresses of instructions (`--dump-instr=yes --compress-pos=no`). The linker's map says which
//! section each address is of; a function has one of its own. `scripts/layout.sh` makes both.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};

/// The object that a profile is of, beside the libraries that it uses.
const PROGRAM: &str = "/pintle";

pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let (mut map, mut start, mut requests) = (Vec::new(), Vec::new(), Vec::new());
    for pair in arguments.chunks(2) {
        let [flag, path] = pair else { bail!("{} takes a value", pair[0]) };
        let texts = match flag.as_str() {
            "--map" => &mut map,
            "--start" => &mut start,
            "--requests" => &mut requests,
            _ => bail!("there is no flag {flag}"),
        };
        texts.push(fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?);
    }
    let [map] = &map[..] else { bail!("there is one --map") };
    let sections = Sections::of_map(map);
    let run = |profiles: &[String]| -> anyhow::Result<BTreeSet<String>> {
        let functions: Result<Vec<_>, _> = profiles.iter().map(|profile| sections.run(profile)).collect();
        Ok(functions?.into_iter().flatten().collect())
    };
    let (requests, start) = (run(&requests)?, run(&start)?);
    ensure!(
        !requests.is_empty() && !start.is_empty(),
        "the profiles are not of the program that the map is of"
    );
    let only_start: BTreeSet<String> = start.difference(&requests).cloned().collect();
    let folder = root.join("crates/pintle/layout");
    for (name, list) in [("requests.txt", requests), ("start.txt", only_start)] {
        let text: String = list.iter().map(|function| format!("{function}\n")).collect();
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

/// Where functions begin and end, and the names of their sections.
struct Sections(BTreeMap<u64, (u64, String)>);

impl Sections {
    /// Lines of a map: address, again, size, alignment, and `FILE:(SECTION)`.
    fn of_map(map: &str) -> Sections {
        let section = |line: &str| {
            let mut words = line.split_whitespace();
            let begin = u64::from_str_radix(words.next()?, 16).ok()?;
            let size = u64::from_str_radix(words.nth(1)?, 16).ok()?;
            let (_, section) = line.rsplit_once(":(")?;
            let function = section.strip_suffix(')')?.strip_prefix(".text.")?;
            (size > 0).then(|| (begin, (begin + size, generalised(function))))
        };
        Sections(map.lines().filter_map(section).collect())
    }

    /// The functions that a profile has addresses of.
    fn run(&self, profile: &str) -> anyhow::Result<BTreeSet<String>> {
        let (mut objects, mut is_ours, mut found) = (BTreeMap::new(), false, BTreeSet::new());
        for line in profile.lines() {
            // The object of what follows, or that of a function which is called there.
            let here = line.strip_prefix("ob=");
            if let Some(object) = here.or_else(|| line.strip_prefix("cob=")) {
                // `(1) /path` the first time, `(1)` later.
                let (number, path) = object.split_once(' ').unwrap_or((object, ""));
                if !path.is_empty() {
                    objects.insert(number, path.contains(PROGRAM));
                }
                let is_program =
                    *objects.get(number).with_context(|| format!("no object {number} so far"))?;
                if here.is_some() {
                    is_ours = is_program;
                }
            } else if let Some(address) = line.strip_prefix("0x").filter(|_| is_ours) {
                let digits = address.split(' ').next().unwrap_or_default();
                let address = u64::from_str_radix(digits, 16).with_context(|| format!("in {line:?}"))?;
                if let Some((_, (end, name))) = self.0.range(..=address).next_back()
                    && address < *end
                {
                    found.insert(name.clone());
                }
            }
        }
        Ok(found)
    }
}

/// A name as a pattern, without what changes from one build to the next: hashes of crates, places within the name itself that
/// move with them, and numbers that optimisation gives.
fn generalised(name: &str) -> String {
    let name = name.split_once(".llvm.").map_or(name, |(name, _)| name);
    let Some(at) = name.find("_R") else { return name.to_owned() };
    let (mut pattern, mut rest) = (name[..at].to_owned(), &name[at..]);
    while let Some(next) = rest.chars().next() {
        let hash = ["Cs", "B"].into_iter().find_map(|tag| {
            let digits = rest.strip_prefix(tag)?;
            let length = digits.find(|c: char| !c.is_ascii_alphanumeric())?;
            // A place is short; what is longer is a word with that letter.
            let fits =
                digits[length..].starts_with('_') && (tag == "Cs" && length > 0 || tag == "B" && length <= 3);
            fits.then(|| (tag, &digits[length + 1..]))
        });
        if let Some((tag, after)) = hash {
            pattern.push_str(tag);
            pattern.push_str("*_");
            rest = after;
        } else {
            pattern.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "\
        VMA              LMA     Size Align Out     In      Symbol\n\
        1000             1000     300    16 .text\n\
        1000             1000      80    16         a.o:(.text._RNvCsabc1_4main3run)\n\
        1000             1000      80     1                 _RNvCsabc1_4main3run\n\
        1080             1080      80    16         a.o:(.text.unlikely._RNvCsabc1_4main4fail.llvm.123)\n\
        1100             1100     100    16         b.o:(.text)\n";

    #[test]
    fn functions_are_found_by_the_addresses_that_ran() {
        let sections = Sections::of_map(MAP);
        let profile = "ob=(1) /usr/lib/libc.so\n0x1000 0 1\ncob=(2) /x/pintle\n0x1000 0 1\nob=(2)\nfn=(1) a\n0x1084 0 5\nob=(1)\n0x1000 0 1\n";
        let found: Vec<String> = sections.run(profile).unwrap().into_iter().collect();
        assert_eq!(found, ["unlikely._RNvCs*_4main4fail"]);
        let all = sections.run("ob=(2) /x/pintle\n0x107f 0 5\n0x1090 0 5\n0x1180 0 1\n").unwrap();
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(sections.run("ob=(3)\n").is_err());
    }

    #[test]
    fn names_keep_what_is_the_same_in_the_next_build() {
        let cases = [
            (
                "_RNvMs6_NtCsgvbsrvnw3yD_9hashbrown3rawINtB6_8RawTablejE5clear",
                "_RNvMs6_NtCs*_9hashbrown3rawINtB*_8RawTablejE5clear",
            ),
            ("_RNvNtB4_3Box3new.llvm.3643936799275306673", "_RNvNtB*_3Box3new"),
            ("aws_lc_0_47_0_Bx_CsB_", "aws_lc_0_47_0_Bx_CsB_"),
        ];
        for (name, pattern) in cases {
            assert_eq!(generalised(name), pattern);
        }
    }
}
