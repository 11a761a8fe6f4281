//! Which document a path stands for.

/// The paths below `/api`, `/apis` and `/openapi` that are documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'a> {
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
    OpenApiV3Of(&'a str),
}

impl<'a> Place<'a> {
    pub(super) fn of(path: &'a str) -> Option<Place<'a>> {
        match path {
            "/openapi/v2" => return Some(Place::OpenApiV2),
            "/openapi/v3" => return Some(Place::OpenApiV3),
            "/api" | "/api/" => return Some(Place::Api),
            "/apis" => return Some(Place::Apis),
            "/apis/" => return Some(Place::ApisSlash),
            _ => {}
        }
        if let Some(name) = path.strip_prefix("/openapi/v3/") {
            return Some(Place::OpenApiV3Of(name));
        }
        if let Some(rest) = path.strip_prefix("/api/") {
            return Some(below(None, rest));
        }
        let rest = path.strip_prefix("/apis/")?;
        Some(match rest.split_once('/') {
            None | Some((_, "")) => Place::Group(rest.trim_end_matches('/')),
            Some((group, rest)) => below(Some(group), rest),
        })
    }
}

fn below<'a>(group: Option<&'a str>, rest: &'a str) -> Place<'a> {
    match rest.split_once('/') {
        None => Place::Version(group, rest),
        Some((version, "")) => Place::Version(group, version),
        Some((version, _)) => Place::Resource(group, version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_at_the_end_of_a_path_changes_nothing_but_for_all_groups() {
        for (path, expect) in [
            ("/api", Some(Place::Api)),
            ("/api/", Some(Place::Api)),
            ("/apis", Some(Place::Apis)),
            ("/apis/", Some(Place::ApisSlash)),
            ("/apis/apps", Some(Place::Group("apps"))),
            ("/apis/apps/", Some(Place::Group("apps"))),
            ("/apis/apps/v1", Some(Place::Version(Some("apps"), "v1"))),
            ("/apis/apps/v1/", Some(Place::Version(Some("apps"), "v1"))),
            ("/api/v1", Some(Place::Version(None, "v1"))),
            ("/api/v1/", Some(Place::Version(None, "v1"))),
            ("/api/v1/pods", Some(Place::Resource(None, "v1"))),
            ("/apis/apps/v1/deployments/", Some(Place::Resource(Some("apps"), "v1"))),
            ("/apis//v1", Some(Place::Version(Some(""), "v1"))),
            ("/openapi/v2", Some(Place::OpenApiV2)),
            ("/openapi/v2/", None),
            ("/openapi/v3", Some(Place::OpenApiV3)),
            ("/openapi/v3/", Some(Place::OpenApiV3Of(""))),
            ("/openapi/v3/apis/apps/v1", Some(Place::OpenApiV3Of("apis/apps/v1"))),
            ("/apiserver", None),
            ("/version", None),
        ] {
            assert_eq!(Place::of(path), expect, "{path}");
        }
    }
}
