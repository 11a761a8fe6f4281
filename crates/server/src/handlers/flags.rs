//! `/flagz`: how the server was started.

use std::collections::BTreeMap;

use async_trait::async_trait;
use pintle_codec::negotiate::Encoding;
use pintle_meta::Object;

use super::page::{Pages, delimiter};
use crate::filter::Handler;
use crate::metrics::Metrics;
use crate::{Request, Response};

pub(crate) struct FlagsPage {
    pages: Pages,
    /// It does not change any more.
    text: String,
    flags: BTreeMap<String, String>,
}

impl FlagsPage {
    pub(crate) fn new(
        flags: BTreeMap<String, String>,
        encodings: &[Encoding],
        metrics: &Metrics,
    ) -> FlagsPage {
        let pages = Pages::new("flagz", "Flagz", encodings, metrics);
        let (mut text, delimiter) = (pages.heading(), delimiter());
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
