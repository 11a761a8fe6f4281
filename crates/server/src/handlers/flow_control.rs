//! `/debug/api_priority_and_fairness/`: tables of priority levels, queues and requests.

use std::sync::Arc;

use async_trait::async_trait;
use http::StatusCode;
use pintle_flow_control::{Dump, FlowControl};

use crate::filter::Handler;
use crate::{Request, Response, query, respond};

/// Paths and their tables.
pub(crate) const DUMPS: [(&str, Dump); 3] = [
    ("/debug/api_priority_and_fairness/dump_priority_levels", Dump::PriorityLevels),
    ("/debug/api_priority_and_fairness/dump_queues", Dump::Queues),
    ("/debug/api_priority_and_fairness/dump_requests", Dump::Requests { with_details: false }),
];

/// Answers with a table.
pub(crate) struct FlowControlDump {
    pub(crate) control: Arc<FlowControl>,
    pub(crate) dump: Dump,
}

#[async_trait]
impl Handler for FlowControlDump {
    async fn handle(&self, request: Box<Request>) -> Response {
        let asked = query::first(request.parts.uri.query().unwrap_or_default(), "includeRequestDetails");
        let with_details = asked.is_some_and(|value| !value.is_empty());
        let dump = match self.dump {
            Dump::Requests { .. } => Dump::Requests { with_details },
            other => other,
        };
        respond::text(StatusCode::OK, self.control.dump(dump))
    }
}
