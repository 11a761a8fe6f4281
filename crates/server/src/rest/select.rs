//! Which objects a list, watch or collection deletion is about.

use std::collections::{BTreeMap, HashSet};

use pintle_cache::{Entry, Facts, Interest, Snapshot};
use pintle_codec::scan::Paths;
use pintle_meta::selector::{Matcher, field, label};
use pintle_meta::shards::{ShardKey, ShardParser, Shards};

use super::endpoint::Endpoint;
use super::{Result, bad_request, unexpected};
use crate::Request;

/// The cost of finding an object, and of matching it with one term, as bytes of JSON.
const COLLECTED: usize = 2;
const MATCHED: usize = 16;

/// Scope and selectors.
#[derive(Debug)]
pub(crate) struct Selection {
    /// Keys in scope begin with it: of a namespace, or everything.
    pub(crate) prefix: String,
    /// The one object that it can only be about.
    pub(crate) name: Option<String>,
    labels: Matcher,
    pub(crate) fields: FieldTerms,
    pub(crate) shards: Option<Shards>,
    /// Number of terms of both selectors.
    terms: usize,
    namespaced: bool,
}

/// The terms of a field selector, each field by its index in what the cache has read. A request may bring thousands of
/// them, so values that a field must not have are looked up.
#[derive(Debug, Default)]
pub(crate) struct FieldTerms {
    /// Distinct. At most one of a field can be met.
    equal: Vec<(usize, String)>,
    unequal: BTreeMap<usize, HashSet<String>>,
}

impl FieldTerms {
    fn new(terms: Vec<(usize, String, bool)>) -> FieldTerms {
        let mut fields = FieldTerms::default();
        let mut known = HashSet::new();
        for (field, value, equal) in terms {
            if !equal {
                fields.unequal.entry(field).or_default().insert(value);
            } else if known.insert((field, value.clone())) {
                fields.equal.push((field, value));
            }
        }
        fields
    }

    fn is_empty(&self) -> bool {
        self.equal.is_empty() && self.unequal.is_empty()
    }

    /// Fields and the values that they must have, if not the empty one: an index may know such objects.
    pub(crate) fn required(&self) -> impl Iterator<Item = (usize, &str)> {
        let given = self.equal.iter().filter(|(_, value)| !value.is_empty());
        given.map(|(field, value)| (*field, value.as_str()))
    }

    fn matches(&self, read: Facts<'_>) -> bool {
        let found = |field: usize| read.field(field).unwrap_or_default();
        self.equal.iter().all(|(field, value)| found(*field) == value)
            && self.unequal.iter().all(|(field, values)| !values.contains(found(*field)))
    }
}

impl Selection {
    pub(crate) fn read(
        request: &Request,
        endpoint: &Endpoint,
        parse_shards: Option<ShardParser>,
    ) -> Result<Selection> {
        let text = |name: &str| request.query(name).next().unwrap_or_default();
        let labels = label::Selector::parse(&text("labelSelector")).map_err(bad_request)?;
        let parsed = field::Selector::parse(&text("fieldSelector")).map_err(bad_request)?;
        let mut fields = Vec::new();
        for term in parsed.requirements() {
            let served = &endpoint.served;
            let (label, value) = served.field_label(&term.field, &term.value).map_err(bad_request)?;
            let field = served.field_place(&label);
            let field = field.ok_or_else(|| bad_request(format!("field label not supported: {label}")))?;
            fields.push((field, value, term.operator == field::Operator::Equals));
        }
        let namespace = &request.info.namespace;
        let scoped = endpoint.namespaced && !namespace.is_empty();
        let prefix = if scoped { format!("{namespace}/") } else { String::new() };
        // A path with a name is about that one object.
        let name = match request.info.parts.get(1) {
            Some(name) => {
                if let Some(field) = endpoint.served.field_place("metadata.name") {
                    let wanted = parsed.requires_exact_match("metadata.name");
                    if !parsed.requirements().is_empty() && wanted != Some(name) {
                        let why = "fieldSelector metadata.name doesn't match requested name";
                        return Err(bad_request(why));
                    }
                    fields.push((field, name.clone(), true));
                }
                Some(name.clone())
            }
            None => parsed.requires_exact_match("metadata.name").map(str::to_owned),
        };
        let shards = text("shardSelector");
        let shards = parse_shards.filter(|_| !shards.is_empty()).map(|parse| parse(&shards)).transpose();
        let shards = shards.map_err(|why| unexpected(format_args!("invalid shard selector: {why}")))?;
        let terms = fields.len() + labels.requirements().map_or(0, <[_]>::len);
        let (labels, fields) = (Matcher::new(&labels), FieldTerms::new(fields));
        Ok(Selection { prefix, name, labels, fields, shards, terms, namespaced: endpoint.namespaced })
    }

    /// The cost of looking through a snapshot, as bytes of JSON.
    pub(crate) fn weight(&self, snapshot: &Snapshot) -> usize {
        let first = snapshot.objects.count_from(&self.prefix);
        let count = first.saturating_sub(snapshot.objects.count_from(&self.end()));
        count.saturating_mul(COLLECTED + MATCHED * self.terms)
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_empty()
    }

    /// Returns whether an object is selected. One that cannot be read is, so that the client gets the error.
    pub(crate) fn matches(&self, entry: &Entry) -> bool {
        if !self.in_scope(entry) {
            return false;
        }
        let Ok(read) = entry.read() else { return true };
        if self.shards.as_ref().is_some_and(|shards| !self.in_shards(shards, entry, read.value())) {
            return false;
        }
        self.fields.matches(read) && self.labels.matches(read.labels())
    }

    fn in_shards(&self, shards: &Shards, entry: &Entry, value: &[u8]) -> bool {
        match shards.key {
            ShardKey::Uid => Paths::uid(value).is_ok_and(|uid| shards.contains(&uid)),
            ShardKey::Namespace => {
                let namespace = entry.key().split_once('/').filter(|_| self.namespaced);
                shards.contains(namespace.map_or("", |(namespace, _)| namespace))
            }
        }
    }

    pub(crate) fn in_scope(&self, entry: &Entry) -> bool {
        entry.key().starts_with(&self.prefix)
    }

    /// The first key behind all that are in scope.
    pub(crate) fn end(&self) -> String {
        match self.prefix.strip_suffix('/') {
            // The part after the slash.
            Some(namespace) => format!("{namespace}0"),
            None => char::MAX.to_string(),
        }
    }

    /// Returns the changes that a watch must be woken by.
    pub(crate) fn interest(&self, namespaced: bool) -> Interest {
        if let Some(key) = self.key(namespaced) {
            return Interest::Key(key.into());
        }
        match (self.fields.required().next(), self.prefix.strip_suffix('/')) {
            (Some((field, value)), _) => Interest::Field(field, value.into()),
            (None, Some(namespace)) => Interest::Namespace(namespace.into()),
            (None, None) => Interest::Everything,
        }
    }

    /// The key of the one object that it can only be about.
    pub(crate) fn key(&self, namespaced: bool) -> Option<String> {
        let name = self.name.as_ref()?;
        (!namespaced || !self.prefix.is_empty()).then(|| format!("{}{name}", self.prefix))
    }
}
