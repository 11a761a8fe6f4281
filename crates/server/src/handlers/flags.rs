//! `/flagz`: the flags that the server was started with.

use std::collections::BTreeMap;

use async_trait::async_trait;
use pintle_codec::negotiate::Encoding;
use pintle_meta::Object;
use pintle_runtime::Random;

use super::page::Pages;
use crate::filter::Handler;
use crate::metrics::Metrics;
use crate::{Request, Response};

pub(crate) struct FlagsPage {
    pages: Pages,
    /// Made once: flags do not change.
    text: String,
    flags: BTreeMap<String, String>,
}

impl FlagsPage {
    pub(crate) fn new(
        flags: BTreeMap<String, String>,
        encodings: &[Encoding],
        metrics: &Metrics,
        random: &Random,
    ) -> FlagsPage {
        let pages = Pages::new("flagz", "Flagz", encodings, metrics, random);
        let (mut text, delimiter) = (pages.heading(), pages.delimiter());
        for (name, value) in &flags {
            text.push_str(&format!("{name}{delimiter}{value}\n"));
        }
        FlagsPage { pages, text, flags }
    }
}

#[async_trait]
impl Handler for FlagsPage {
    async fn handle(&self, request: Box<Request>) -> Response {
        let flags =
            || self.flags.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Object>();
        let fields = || Object::from_iter([("flags", flags())]);
        self.pages.answer(&request, || self.text.clone(), fields)
    }
}
