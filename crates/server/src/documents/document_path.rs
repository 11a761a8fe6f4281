//! The paths of documents.

/// The paths below `/api`, `/apis` and `/openapi` that are documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentPath<'a> {
    /// `/api`
    Api,
    /// `/apis`
    Apis,
    /// `/apis/`, where there is no aggregated document.
    ApisSlash,
    /// `/apis/{group}`
    Group(&'a str),
    /// `/api/{version}`, `/apis/{group}/{version}`; the core group has no name.
    Version(Option<&'a str>, &'a str),
    /// Something below a group version.
    Resource(Option<&'a str>, &'a str),
    OpenApiV2,
    OpenApiV3,
    /// `/openapi/v3/{name}`
    OpenApiV3Document(&'a str),
}

impl<'a> DocumentPath<'a> {
    pub(super) fn parse(path: &'a str) -> Option<DocumentPath<'a>> {
        match path {
            "/openapi/v2" => return Some(DocumentPath::OpenApiV2),
            "/openapi/v3" => return Some(DocumentPath::OpenApiV3),
            "/api" | "/api/" => return Some(DocumentPath::Api),
            "/apis" => return Some(DocumentPath::Apis),
            "/apis/" => return Some(DocumentPath::ApisSlash),
            _ => {}
        }
        if let Some(name) = path.strip_prefix("/openapi/v3/") {
            return Some(DocumentPath::OpenApiV3Document(name));
        }
        if let Some(rest) = path.strip_prefix("/api/") {
            return Some(below(None, rest));
        }
        let rest = path.strip_prefix("/apis/")?;
        Some(match rest.split_once('/') {
            None | Some((_, "")) => DocumentPath::Group(rest.trim_end_matches('/')),
            Some((group, rest)) => below(Some(group), rest),
        })
    }
}

fn below<'a>(group: Option<&'a str>, rest: &'a str) -> DocumentPath<'a> {
    match rest.split_once('/') {
        None => DocumentPath::Version(group, rest),
        Some((version, "")) => DocumentPath::Version(group, version),
        Some((version, _)) => DocumentPath::Resource(group, version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_at_the_end_of_a_path_changes_nothing_but_for_all_groups() {
        for (path, expect) in [
            ("/api", Some(DocumentPath::Api)),
            ("/api/", Some(DocumentPath::Api)),
            ("/apis", Some(DocumentPath::Apis)),
            ("/apis/", Some(DocumentPath::ApisSlash)),
            ("/apis/apps", Some(DocumentPath::Group("apps"))),
            ("/apis/apps/", Some(DocumentPath::Group("apps"))),
            ("/apis/apps/v1", Some(DocumentPath::Version(Some("apps"), "v1"))),
            ("/apis/apps/v1/", Some(DocumentPath::Version(Some("apps"), "v1"))),
            ("/api/v1", Some(DocumentPath::Version(None, "v1"))),
            ("/api/v1/", Some(DocumentPath::Version(None, "v1"))),
            ("/api/v1/pods", Some(DocumentPath::Resource(None, "v1"))),
            ("/apis/apps/v1/deployments/", Some(DocumentPath::Resource(Some("apps"), "v1"))),
            ("/apis//v1", Some(DocumentPath::Version(Some(""), "v1"))),
            ("/openapi/v2", Some(DocumentPath::OpenApiV2)),
            ("/openapi/v2/", None),
            ("/openapi/v3", Some(DocumentPath::OpenApiV3)),
            ("/openapi/v3/", Some(DocumentPath::OpenApiV3Document(""))),
            ("/openapi/v3/apis/apps/v1", Some(DocumentPath::OpenApiV3Document("apis/apps/v1"))),
            ("/apiserver", None),
            ("/version", None),
        ] {
            assert_eq!(DocumentPath::parse(path), expect, "{path}");
        }
    }
}
