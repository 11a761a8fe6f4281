//! A parsed command line: typed access to every flag.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use pintle_features::Features;

use crate::gates::GateFlags;
use crate::table::{self, Effect, Flag};
use crate::validate::{emulated_release, is_default_version};
use crate::value::{NamedCertKey, PortRange, VModule, Value};
use crate::version::VersionRequest;
use crate::{Error, KUBERNETES_VERSION};

/// The value of every flag, and which of them were given.
///
/// Asking for a flag that is not in the table, or with a method of another kind, is a mistake in the program and
/// panics.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// In the order of [`table::all`].
    values: Vec<Value>,
    changed: Vec<bool>,
    deprecations: Vec<String>,
    gates: GateFlags,
}

/// The location of the embedded store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataDir {
    /// Nowhere: gone when the process ends.
    Memory,
    /// In this directory.
    Path(PathBuf),
}

impl Parsed {
    /// Returns the flags of an empty command line.
    pub(crate) fn defaults() -> Parsed {
        let default = |flag: &Flag| {
            Value::default_of(flag.kind, flag.default)
                .unwrap_or_else(|reason| panic!("default of --{} does not parse: {reason}", flag.name))
        };
        let values: Vec<Value> = table::all().map(default).collect();
        let changed = vec![false; values.len()];
        Parsed { values, changed, deprecations: Vec::new(), gates: GateFlags::default() }
    }

    pub(crate) fn set(&mut self, at: usize, flag: &Flag, value: &str) -> Result<(), String> {
        self.values[at].set(flag.kind, value, !self.changed[at])?;
        self.changed[at] = true;
        if let Some(text) = flag.deprecated {
            self.deprecations.push(format!("Flag --{} has been deprecated, {text}", flag.name));
        }
        Ok(())
    }

    pub(crate) fn set_feature_gates(&mut self, gates: GateFlags) {
        self.gates = gates;
    }

    /// Whether the flag was on the command line, with whatever value.
    pub fn changed(&self, name: &str) -> bool {
        self.changed[position(name)]
    }

    /// A flag of kind string.
    pub fn string(&self, name: &str) -> &str {
        match self.value(name) {
            Value::String(value) => value,
            _ => wrong_kind(name, "string"),
        }
    }

    /// A flag of kind string, `None` when empty.
    pub fn non_empty(&self, name: &str) -> Option<&str> {
        Some(self.string(name)).filter(|value| !value.is_empty())
    }

    /// A flag of kind bool.
    pub fn bool(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Bool(value) => *value,
            _ => wrong_kind(name, "bool"),
        }
    }

    /// A flag of kind int.
    pub fn int(&self, name: &str) -> i64 {
        match self.value(name) {
            Value::Int(value) => *value,
            _ => wrong_kind(name, "int"),
        }
    }

    /// A flag of kind uint.
    pub fn uint(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Uint(value) => *value,
            _ => wrong_kind(name, "uint"),
        }
    }

    /// A flag of kind float or float32.
    pub fn float(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Float(value) => *value,
            _ => wrong_kind(name, "float"),
        }
    }

    /// A flag of kind duration; a negative one is zero here, see [`Parsed::duration_nanos`].
    pub fn duration(&self, name: &str) -> Duration {
        Duration::from_nanos(u64::try_from(self.duration_nanos(name)).unwrap_or(0))
    }

    /// A flag of kind duration with its sign.
    pub fn duration_nanos(&self, name: &str) -> i64 {
        match self.value(name) {
            Value::Duration(value) => *value,
            _ => wrong_kind(name, "duration"),
        }
    }

    /// A flag of kind strings or stringArray.
    pub fn strings(&self, name: &str) -> &[String] {
        match self.value(name) {
            Value::Strings(values) => values,
            _ => wrong_kind(name, "strings"),
        }
    }

    /// A flag of kind ip.
    pub fn ip(&self, name: &str) -> Option<IpAddr> {
        match self.value(name) {
            Value::Ip(value) => *value,
            _ => wrong_kind(name, "ip"),
        }
    }

    /// A flag of kind mapStringString or stringToString.
    pub fn pairs(&self, name: &str) -> &BTreeMap<String, String> {
        match self.value(name) {
            Value::Pairs(value) => value,
            _ => wrong_kind(name, "mapStringString"),
        }
    }

    /// A flag of kind colonSeparatedMultimapStringString.
    pub fn multimap(&self, name: &str) -> &BTreeMap<String, Vec<String>> {
        match self.value(name) {
            Value::Multimap(value) => value,
            _ => wrong_kind(name, "colonSeparatedMultimapStringString"),
        }
    }

    /// A flag of kind namedCertKey.
    pub fn cert_keys(&self, name: &str) -> &[NamedCertKey] {
        match self.value(name) {
            Value::CertKeys(values) => values,
            _ => wrong_kind(name, "namedCertKey"),
        }
    }

    /// A flag of kind int32Slice.
    pub fn int32s(&self, name: &str) -> &[i32] {
        match self.value(name) {
            Value::Int32s(values) => values,
            _ => wrong_kind(name, "int32Slice"),
        }
    }

    /// A flag of kind quantity, rounded up to a whole number.
    pub fn quantity(&self, name: &str) -> i64 {
        match self.value(name) {
            Value::Quantity(value, _) => *value,
            _ => wrong_kind(name, "quantity"),
        }
    }

    /// A flag of kind Level.
    pub fn level(&self, name: &str) -> u32 {
        match self.value(name) {
            Value::Level(value) => *value,
            _ => wrong_kind(name, "Level"),
        }
    }

    /// A flag of kind pattern=N,...
    pub fn vmodule(&self, name: &str) -> &[VModule] {
        match self.value(name) {
            Value::VModule(values) => values,
            _ => wrong_kind(name, "pattern=N,..."),
        }
    }

    /// A flag of kind portRange; `None` is the empty range.
    pub fn port_range(&self, name: &str) -> Option<PortRange> {
        match self.value(name) {
            Value::PortRange(value) => *value,
            _ => wrong_kind(name, "portRange"),
        }
    }

    /// A flag of kind version.
    pub fn version(&self, name: &str) -> &VersionRequest {
        match self.value(name) {
            Value::Version(value) => value,
            _ => wrong_kind(name, "version"),
        }
    }

    /// The Kubernetes version to report to clients.
    pub fn reported_version(&self) -> &str {
        match self.version("version") {
            VersionRequest::Report(version) => version,
            _ => KUBERNETES_VERSION,
        }
    }

    /// Major and minor of the release that `--emulated-version` asks for, or of our own.
    pub fn emulated_release(&self) -> (u32, u32) {
        emulated_release(self)
    }

    /// The features that are on after `--feature-gates`.
    pub fn features(&self) -> Features {
        self.gates.features()
    }

    /// Returns the directory of the embedded store. `env` reads an environment variable.
    pub fn data_dir(&self, env: impl Fn(&str) -> Option<OsString>) -> Result<DataDir, Error> {
        match self.string("data-dir") {
            ":memory:" => return Ok(DataDir::Memory),
            "" => {}
            path => return Ok(DataDir::Path(path.into())),
        }
        // The XDG rules: a relative or empty path counts as not set.
        let absolute = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
        match base {
            Some(base) => Ok(DataDir::Path(base.join("pintle"))),
            None => {
                let text =
                    "--data-dir must be set, since neither XDG_DATA_HOME nor HOME says where data belongs";
                Err(Error::Invalid(vec![text.into()]))
            }
        }
    }

    /// Every flag by name, with its value as the command line would show it. Those of earlier releases only if they were
    /// given.
    pub fn flag_values(&self) -> BTreeMap<String, String> {
        let all = table::all().zip(&self.values).zip(&self.changed);
        let listed = all.filter(|((flag, _), changed)| !flag.hidden || **changed);
        listed.map(|((flag, value), _)| (flag.name.to_owned(), value.text(flag.kind))).collect()
    }

    /// Returns pflag's messages about deprecated flags, one line for each occurrence; meant for standard error.
    pub fn deprecations(&self) -> &[String] {
        &self.deprecations
    }

    /// One sentence for each flag and gate that was set to something else than its default although nothing reads
    /// it yet. Meant to be logged once, at start.
    pub fn warnings(&self) -> Vec<String> {
        let given = table::all()
            .filter(|flag| self.differs_from_default(flag.name) && !self.says_nothing_new(flag.name));
        let warning = |flag: &Flag| match flag.effect {
            Effect::Active => None,
            Effect::NotYet => Some(format!("--{} has no effect in this version of Pintle", flag.name)),
            Effect::Moot(why) => Some(format!("--{} has no effect in Pintle: {why}", flag.name)),
        };
        let mut warnings: Vec<String> = given.filter_map(warning).collect();
        warnings.extend(self.gates.warnings());
        warnings
    }

    /// Whether the flag was given, with a value that is not its default.
    pub(crate) fn differs_from_default(&self, name: &str) -> bool {
        let at = position(name);
        let default =
            || table::all().nth(at).and_then(|flag| Value::default_of(flag.kind, flag.default).ok());
        self.changed[at] && default().as_ref() != Some(&self.values[at])
    }

    /// Whether a value that differs from the default in spelling means the same.
    fn says_nothing_new(&self, name: &str) -> bool {
        match name {
            "emulated-version" | "min-compatibility-version" => is_default_version(self, name),
            // Caches that are on have the size they need.
            "default-watch-cache-size" => self.int(name) > 0,
            "watch-cache-sizes" => !self.strings(name).iter().any(|size| size.ends_with("#0")),
            _ => false,
        }
    }

    fn value(&self, name: &str) -> &Value {
        &self.values[position(name)]
    }
}

fn position(name: &str) -> usize {
    match table::find(name) {
        Some((at, _)) => at,
        None => panic!("there is no flag --{name}"),
    }
}

fn wrong_kind(name: &str, asked: &str) -> ! {
    let kind = table::find(name).map_or("unknown", |(_, flag)| flag.kind.name());
    panic!("--{name} is of kind {kind}, not {asked}")
}

#[cfg(test)]
#[path = "parsed_tests.rs"]
mod tests;
