//! The operations of each path, whatever the dialect of the document.

use pintle_discovery::{GroupVersion, Kind, Resource, Subresource};
use pintle_schema::{Type, find, find_kind};

use crate::Options;
use crate::json::title;
use crate::parameters::{self, Parameter};

pub(crate) struct Path {
    pub(crate) path: String,
    pub(crate) operations: Vec<Operation>,
}

pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) id: String,
    pub(crate) description: String,
    /// The verb, and the kind that it is about.
    pub(crate) action: Option<(&'static str, [String; 3])>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
    pub(crate) produces: Media,
    /// The response with each of these codes.
    pub(crate) answer: Answer,
    pub(crate) codes: &'static [u16],
    pub(crate) tag: String,
}

/// A reference of a document.
#[derive(Clone, Debug)]
pub(crate) enum Reference {
    Type(&'static Type),
    /// A custom resource or a list of them, by the name that documents give it.
    Custom(String),
}

#[derive(Clone)]
pub(crate) struct Body {
    pub(crate) of: Reference,
    pub(crate) patch: bool,
    pub(crate) required: bool,
}

#[derive(Clone)]
pub(crate) enum Answer {
    Nothing,
    Text,
    Object(Reference),
    /// The server's version, which is no type of the API.
    VersionInfo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    /// Every encoding of objects.
    Objects,
    /// Objects, and streams of them.
    Streams,
    /// Objects, and plain text.
    Logs,
    /// Documents of discovery above a group version, which does not speak CBOR.
    Discovery,
    /// Custom resources, whose media types are listed for requests and responses.
    Custom,
    Any,
    Only(&'static str),
}

/// Resources whose delete answers with what was deleted instead of a Status.
const DELETED_IS_SHOWN: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "resourcequotas",
            "serviceaccounts",
            "services",
        ],
    ),
    (
        "resource.k8s.io",
        &[
            "deviceclasses",
            "devicetaintrules",
            "resourceclaims",
            "resourceclaimtemplates",
            "resourcepoolstatusrequests",
            "resourceslices",
        ],
    ),
    (
        "storage.k8s.io",
        &["csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"],
    ),
];

/// The paths of a group version.
pub(crate) fn group_version(served: &GroupVersion, options: &Options<'_>) -> Vec<Path> {
    let tags = Tags::new(Some(&served.group), Some(&served.version));
    let mut paths = vec![Path {
        path: format!("{}/", served.path()),
        operations: vec![tags.discovery(
            "APIResources",
            "get available resources",
            "meta/v1.APIResourceList",
            Media::Objects,
        )],
    }];
    for resource in &served.resources {
        let context = Context { served, resource, tags: &tags, options };
        context.paths(&mut paths);
    }
    paths
}

/// The paths that belong to no group version, with the names under which their documents are found.
pub(crate) fn others(groups: &[&str], logs: bool) -> Vec<(String, Vec<Path>)> {
    let single = |path: &str, operation| vec![Path { path: path.into(), operations: vec![operation] }];
    let versions = "get available API versions";
    let core = Tags::new(Some(""), None);
    let mut root =
        Tags::new(None, None).discovery("APIVersions", versions, "meta/v1.APIGroupList", Media::Discovery);
    root.tag = "apis".into();
    let mut found = vec![
        (
            "api".to_owned(),
            single("/api/", core.discovery("APIVersions", versions, "meta/v1.APIVersions", Media::Discovery)),
        ),
        ("apis".to_owned(), single("/apis/", root)),
    ];
    for group in groups.iter().filter(|group| !group.is_empty()) {
        let text = "get information of a group";
        let tags = Tags::new(Some(group), None);
        let operation = tags.discovery("APIGroup", text, "meta/v1.APIGroup", Media::Discovery);
        found.push((format!("apis/{group}"), single(&format!("/apis/{group}/"), operation)));
    }
    let version = plain("getCodeVersion", "get the version information for this server", "version");
    let version =
        Operation { answer: Answer::VersionInfo, produces: Media::Only("application/json"), ..version };
    found.push(("version".to_owned(), single("/version/", version)));
    let keys = plain(
        "getServiceAccountIssuerOpenIDKeyset",
        "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
        "openid",
    );
    let keys = Operation { answer: Answer::Text, produces: Media::Only("application/jwk-set+json"), ..keys };
    found.push(("openid/v1/jwks".to_owned(), single("/openid/v1/jwks/", keys)));
    let configuration = plain(
        "getServiceAccountIssuerOpenIDConfiguration",
        "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
        "WellKnown",
    );
    let configuration =
        Operation { answer: Answer::Text, produces: Media::Only("application/json"), ..configuration };
    let name = ".well-known/openid-configuration";
    found.push((name.to_owned(), single(&format!("/{name}/"), configuration)));
    if logs {
        let list = Operation { codes: &[], ..plain("logFileListHandler", "", "logs") };
        let mut one = Operation { codes: &[], ..plain("logFileHandler", "", "logs") };
        one.parameters.push(parameters::log_path());
        let mut paths = single("/logs/", list);
        paths.extend(single("/logs/{logpath}", one));
        found.push(("logs".to_owned(), paths));
    }
    found
}

/// An object of a built-in type.
pub(crate) fn answer(of: &str) -> Answer {
    find(of).map_or(Answer::Nothing, |of| Answer::Object(Reference::Type(of)))
}

/// A patch, or the options of a delete, which are the only ones that need not be there.
pub(crate) fn body(of: &str, patch: bool) -> Option<Body> {
    find(of).map(|of| Body { of: Reference::Type(of), patch, required: patch })
}

pub(crate) fn plain(id: &str, description: &str, tag: &str) -> Operation {
    Operation {
        method: "get",
        id: id.into(),
        description: description.into(),
        action: None,
        parameters: Vec::new(),
        body: None,
        produces: Media::Any,
        answer: Answer::Nothing,
        codes: &[200],
        tag: tag.into(),
    }
}

/// How operations of a group (version) are called.
pub(crate) struct Tags {
    pub(crate) tag: String,
    /// `AppsV1`.
    pub(crate) camel: String,
}

impl Tags {
    pub(crate) fn new(group: Option<&str>, version: Option<&str>) -> Tags {
        let (mut tag, mut camel) = (String::new(), String::new());
        if let Some(group) = group {
            let group =
                if group.is_empty() { "core" } else { group.strip_suffix(".k8s.io").unwrap_or(group) };
            tag = identifier(group, false);
            camel = identifier(group, true);
        }
        if let Some(version) = version {
            tag = format!("{tag}_{}", identifier(version, false));
            camel.push_str(&identifier(version, true));
        }
        Tags { tag, camel }
    }

    fn discovery(&self, what: &str, description: &str, of: &str, produces: Media) -> Operation {
        let answer = answer(of);
        let operation = plain(&format!("get{}{what}", self.camel), description, &self.tag);
        Operation { answer, produces, ..operation }
    }
}

/// Without what may not stand in an identifier; what follows it is capitalised.
pub(crate) fn identifier(text: &str, mut capitalise: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (place, letter) in text.char_indices() {
        if letter.is_alphabetic() || letter == '_' || (place != 0 && letter.is_numeric()) {
            if capitalise {
                out.extend(letter.to_uppercase());
            } else {
                out.push(letter);
            }
            capitalise = false;
        } else {
            capitalise = true;
        }
    }
    out
}

/// With its article and a space before it; plurals have none.
pub(crate) fn with_article(noun: &str) -> String {
    if noun.ends_with('s') && !noun.ends_with("ss") {
        return format!(" {noun}");
    }
    let article = if noun.starts_with(['A', 'E', 'I', 'O', 'U']) { "an" } else { "a" };
    format!(" {article} {noun}")
}

struct Context<'a> {
    served: &'a GroupVersion,
    resource: &'a Resource,
    tags: &'a Tags,
    options: &'a Options<'a>,
}

impl Context<'_> {
    fn paths(&self, paths: &mut Vec<Path>) {
        let (base, resource) = (self.served.path(), self.resource);
        let can = |verb: &str| resource.verbs.iter().any(|known| known == verb);
        let scoped = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
        let mut add = |path: String, operations: Vec<Option<Operation>>| {
            let operations: Vec<Operation> = operations.into_iter().flatten().collect();
            if !operations.is_empty() {
                paths.push(Path { path, operations });
            }
        };
        let collection = format!("{base}/{scoped}{}", resource.name);
        add(
            collection.clone(),
            vec![
                can("list").then(|| self.list(false)),
                can("create").then(|| self.create(None)),
                can("deletecollection").then(|| self.delete_collection()),
            ],
        );
        add(
            format!("{collection}/{{name}}"),
            vec![
                can("get").then(|| self.get(None)),
                can("update").then(|| self.update(None)),
                can("patch").then(|| self.patch(None)),
                can("delete").then(|| self.delete()),
            ],
        );
        if resource.namespaced && can("list") {
            add(format!("{base}/{}", resource.name), vec![Some(self.list(true))]);
        }
        if can("watch") {
            let watched = format!("{base}/watch/{scoped}{}", resource.name);
            add(watched.clone(), vec![Some(self.watch_list(false))]);
            add(format!("{watched}/{{name}}"), vec![Some(self.watch())]);
            if resource.namespaced {
                add(format!("{base}/watch/{}", resource.name), vec![Some(self.watch_list(true))]);
            }
        }
        for subresource in &resource.subresources {
            let sub = Some(subresource);
            let can = |verb: &str| subresource.verbs.iter().any(|known| known == verb);
            let path = format!("{collection}/{{name}}/{}", subresource.name);
            if subresource.kind.name.ends_with("Options") {
                let methods: &[&'static str] = if can("delete") {
                    &["get", "post", "put", "delete", "patch", "head", "options"]
                } else {
                    &["get", "post"]
                };
                let all =
                    |deeper| methods.iter().map(|m| Some(self.connect(subresource, m, deeper))).collect();
                add(path.clone(), all(false));
                if can("delete") {
                    add(format!("{path}/{{path}}"), all(true));
                }
                continue;
            }
            add(
                path,
                vec![
                    can("get").then(|| self.get(sub)),
                    can("create").then(|| self.create(sub)),
                    can("update").then(|| self.update(sub)),
                    can("patch").then(|| self.patch(sub)),
                ],
            );
        }
    }

    fn kind_of(&self, kind: &Kind) -> [String; 3] {
        let (group, version) = match &kind.foreign {
            Some((group, version)) => (group, version),
            None => (&self.served.group, &self.served.version),
        };
        [group.to_string(), version.to_string(), kind.name.to_string()]
    }

    fn type_of(&self, kind: &Kind) -> Option<&'static Type> {
        let [group, version, kind] = self.kind_of(kind);
        find_kind(&group, &version, &kind)
    }

    fn object(&self, kind: &Kind) -> Answer {
        self.type_of(kind).map_or(Answer::Nothing, |of| Answer::Object(Reference::Type(of)))
    }

    fn kind<'a>(&'a self, sub: Option<&'a Subresource>) -> &'a Kind {
        sub.map_or(&self.resource.kind, |sub| &sub.kind)
    }

    /// `prefix` and the kind as an identifier: `readAppsV1NamespacedDeploymentScale`.
    fn id(&self, prefix: &str, infix: &str, sub: Option<&Subresource>, suffix: &str, all: bool) -> String {
        let namespaced = if self.resource.namespaced && !all { "Namespaced" } else { "" };
        let sub = sub.map(|sub| title(&sub.name)).unwrap_or_default();
        let everywhere = if all { "ForAllNamespaces" } else { "" };
        let (camel, kind) = (&self.tags.camel, &self.resource.kind.name);
        format!("{prefix}{camel}{infix}{namespaced}{kind}{sub}{suffix}{everywhere}")
    }

    fn operation(
        &self,
        method: &'static str,
        action: &'static str,
        sub: Option<&Subresource>,
        mut parameters: Vec<Parameter>,
    ) -> Operation {
        if self.resource.namespaced {
            parameters.push(parameters::namespace());
        }
        if action != "connect" {
            parameters.push(parameters::pretty());
        }
        let kind = self.kind(sub);
        Operation {
            method,
            action: Some((action, self.kind_of(kind))),
            parameters,
            produces: Media::Objects,
            answer: self.object(kind),
            ..plain("", "", &self.tags.tag)
        }
    }

    /// On a single object, whose name is in the path.
    fn on_one(
        &self,
        method: &'static str,
        action: &'static str,
        sub: Option<&Subresource>,
        mut parameters: Vec<Parameter>,
    ) -> Operation {
        parameters.push(parameters::object_name(&self.kind(sub).name));
        self.operation(method, action, sub, parameters)
    }

    fn body(&self, kind: &Kind) -> Option<Body> {
        self.type_of(kind).map(|of| Body { of: Reference::Type(of), patch: false, required: true })
    }

    fn get(&self, sub: Option<&Subresource>) -> Operation {
        let kind = &self.resource.kind.name;
        let description = match sub {
            Some(sub) => format!("read {} of the specified {kind}", sub.name),
            None => format!("read the specified {kind}"),
        };
        let is_log = kind == "Pod" && sub.is_some_and(|sub| sub.name == "log");
        let log_options = find("core/v1.PodLogOptions").filter(|_| is_log);
        let parameters = log_options.map(|of| parameters::of_type(of, self.options)).unwrap_or_default();
        let id = self.id("read", "", sub, "", false);
        let operation = Operation { id, description, ..self.on_one("get", "get", sub, parameters) };
        if is_log {
            Operation { produces: Media::Logs, answer: Answer::Text, ..operation }
        } else {
            operation
        }
    }

    fn create(&self, sub: Option<&Subresource>) -> Operation {
        let noun = with_article(&self.resource.kind.name);
        let parameters = parameters::create(self.options);
        let (description, operation) = match sub {
            Some(found) => {
                (format!("create {} of{noun}", found.name), self.on_one("post", "post", sub, parameters))
            }
            None => (format!("create{noun}"), self.operation("post", "post", sub, parameters)),
        };
        let (id, body) = (self.id("create", "", sub, "", false), self.body(self.kind(sub)));
        Operation { id, description, body, codes: &[200, 201, 202], ..operation }
    }

    fn update(&self, sub: Option<&Subresource>) -> Operation {
        let kind = &self.resource.kind.name;
        let description = match sub {
            Some(sub) => format!("replace {} of the specified {kind}", sub.name),
            None => format!("replace the specified {kind}"),
        };
        let (id, body) = (self.id("replace", "", sub, "", false), self.body(self.kind(sub)));
        let operation = self.on_one("put", "put", sub, parameters::update(self.options));
        Operation { id, description, body, codes: &[200, 201], ..operation }
    }

    fn patch(&self, sub: Option<&Subresource>) -> Operation {
        let kind = &self.resource.kind.name;
        let description = match sub {
            Some(sub) => format!("partially update {} of the specified {kind}", sub.name),
            None => format!("partially update the specified {kind}"),
        };
        let body = body("meta/v1.Patch", true);
        let operation = self.on_one("patch", "patch", sub, parameters::patch(self.options));
        let id = self.id("patch", "", sub, "", false);
        Operation { id, description, body, codes: &[200, 201], ..operation }
    }

    fn delete_body(&self) -> Option<Body> {
        body("meta/v1.DeleteOptions", false)
    }

    fn delete(&self) -> Operation {
        let operation = self.on_one("delete", "delete", None, parameters::delete(self.options));
        let (group, name) = (self.served.group.as_str(), self.resource.name.as_str());
        let shown = DELETED_IS_SHOWN.iter().any(|(of, names)| *of == group && names.contains(&name));
        let status = answer("meta/v1.Status");
        Operation {
            id: self.id("delete", "", None, "", false),
            description: format!("delete{}", with_article(&self.resource.kind.name)),
            body: self.delete_body(),
            answer: if shown { operation.answer } else { status },
            codes: &[200, 202],
            ..operation
        }
    }

    fn delete_collection(&self) -> Operation {
        let mut parameters = parameters::list(self.options, false);
        parameters.extend(parameters::delete(self.options));
        Operation {
            id: self.id("delete", "Collection", None, "", false),
            description: format!("delete collection of {}", self.resource.kind.name),
            body: self.delete_body(),
            answer: answer("meta/v1.Status"),
            ..self.operation("delete", "deletecollection", None, parameters)
        }
    }

    fn without_namespace(&self, mut operation: Operation, all: bool) -> Operation {
        operation.parameters.retain(|parameter| !all || parameter.name != "namespace");
        operation
    }

    fn list(&self, all: bool) -> Operation {
        let kind = &self.resource.kind;
        let watched = self.resource.verbs.iter().any(|verb| verb == "watch");
        let list = Kind { name: format!("{}List", kind.name).into(), foreign: kind.foreign.clone() };
        let operation = self.operation("get", "list", None, parameters::list(self.options, true));
        Operation {
            id: self.id("list", "", None, "", all),
            description: format!(
                "list{} objects of kind {}",
                if watched { " or watch" } else { "" },
                kind.name
            ),
            produces: Media::Streams,
            answer: self.object(&list),
            ..self.without_namespace(operation, all)
        }
    }

    fn watch_list(&self, all: bool) -> Operation {
        let operation = self.operation("get", "watchlist", None, parameters::list(self.options, true));
        let kind = &self.resource.kind.name;
        Operation {
            id: self.id("watch", "", None, "List", all),
            description: format!(
                "watch individual changes to a list of {kind}. deprecated: use the 'watch' parameter with a list operation instead."
            ),
            produces: Media::Streams,
            answer: answer("meta/v1.WatchEvent"),
            ..self.without_namespace(operation, all)
        }
    }

    fn watch(&self) -> Operation {
        let kind = &self.resource.kind.name;
        Operation {
            id: self.id("watch", "", None, "", false),
            description: format!(
                "watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list operation instead, filtered to a single item with the 'fieldSelector' parameter."
            ),
            produces: Media::Streams,
            answer: answer("meta/v1.WatchEvent"),
            ..self.on_one("get", "watch", None, parameters::list(self.options, true))
        }
    }

    fn connect(&self, sub: &Subresource, method: &'static str, deeper: bool) -> Operation {
        let of = self.type_of(&sub.kind);
        let mut parameters = of.map(|of| parameters::of_type(of, self.options)).unwrap_or_default();
        if deeper {
            parameters.push(parameters::rest_of_path());
        }
        let operation = self.on_one(method, "connect", Some(sub), parameters);
        let suffix = if deeper { "WithPath" } else { "" };
        let (upper, kind) = (method.to_uppercase(), &self.resource.kind.name);
        Operation {
            id: self.id("connect", &title(method), Some(sub), suffix, false),
            description: format!("connect {upper} requests to {} of {kind}", sub.name),
            produces: Media::Any,
            answer: Answer::Text,
            ..operation
        }
    }
}
