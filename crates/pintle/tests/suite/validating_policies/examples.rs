//! The examples of Kubernetes' documentation, with kubectl.

use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{Launch, Server};

async fn server() -> (Server, Kubectl) {
    let server = Launch::new().start().await;
    ready(&server).await;
    let kubectl = Kubectl::of(&server);
    (server, kubectl)
}

fn deployment(name: &str, replicas: usize, image: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {replicas}\n  selector: \
         {{matchLabels: {{app: x}}}}\n  template:\n    metadata: {{labels: {{app: x}}}}\n    spec: {{containers: [{{name: c, \
         image: {image}}}]}}\n"
    )
}

/// Feeds an object that must be rejected, and returns what kubectl says.
async fn rejected(kubectl: &Kubectl, words: &[&str], input: &str) -> String {
    kubectl.run(words, input).await.failed("a rejection")
}

const REPLICAS: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-replicas.example.com}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  validations:
  - expression: object.spec.replicas <= 5
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few-replicas-in-tests.example.com}
spec:
  policyName: few-replicas.example.com
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {matchLabels: {environment: test}}
";

#[tokio::test]
async fn replicas_are_limited_in_some_namespaces() {
    let (_server, kubectl) = server().await;
    kubectl.feed("create -f -", REPLICAS).await;
    kubectl.ok("create namespace tests").await;
    kubectl.feed("create -n tests -f -", &deployment("early", 9, "i")).await;
    kubectl.ok("label namespace tests environment=test").await;
    let why = rejected(&kubectl, &["create", "-n", "tests", "-f", "-"], &deployment("d", 6, "i")).await;
    assert_eq!(
        why.trim(),
        "The deployments \"d\" is invalid: : ValidatingAdmissionPolicy 'few-replicas.example.com' with binding \
         'few-replicas-in-tests.example.com' denied request: failed expression: object.spec.replicas <= 5"
    );
    kubectl.feed("create -n tests -f -", &deployment("d", 5, "i")).await;
    // Another resource, which the rule does not name.
    kubectl.ok("scale -n tests deployment d --replicas=6").await;
    let patched = kubectl.fails(r#"patch -n tests deployment d -p {"spec":{"replicas":7}}"#).await;
    assert!(patched.contains("denied request: failed expression"), "{patched}");
    kubectl.feed("create -f -", &deployment("d", 6, "i")).await;
    let told = kubectl.ok("get validatingadmissionpolicies,validatingadmissionpolicybindings").await;
    assert!(
        told.contains("few-replicas.example.com") && told.contains("few-replicas-in-tests.example.com"),
        "{told}"
    );
}

const IMAGES: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: images-of-the-environment.example.com}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  variables:
  - name: environment
    expression: \"'environment' in namespaceObject.metadata.labels ? namespaceObject.metadata.labels['environment'] : 'prod'\"
  - name: exempt
    expression: \"has(object.metadata.labels) && 'exempt' in object.metadata.labels && object.metadata.labels['exempt'] == 'true'\"
  - name: containers
    expression: object.spec.template.spec.containers
  - name: foreign
    expression: variables.containers.filter(c, !c.image.startsWith(variables.environment + '.example.com/'))
  validations:
  - expression: variables.exempt || variables.foreign.size() == 0
    messageExpression: \"'only images of ' + variables.environment + ', not of ' + variables.foreign.map(c, c.name).join(', ')\"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: images-of-the-environment.example.com}
spec: {policyName: images-of-the-environment.example.com, validationActions: [Deny]}
";

#[tokio::test]
async fn images_match_the_environment_of_the_namespace() {
    let (_server, kubectl) = server().await;
    kubectl.feed("create -f -", IMAGES).await;
    kubectl.ok("create namespace dev").await;
    kubectl.ok("label namespace dev environment=dev").await;
    kubectl.feed("create -f -", &deployment("d", 1, "prod.example.com/nginx")).await;
    kubectl.feed("create -n dev -f -", &deployment("d", 1, "dev.example.com/nginx")).await;
    let wrong = deployment("e", 1, "prod.example.com/nginx");
    let why = rejected(&kubectl, &["create", "-n", "dev", "-f", "-"], &wrong).await;
    assert!(why.contains("denied request: only images of dev, not of c"), "{why}");
    let exempt = wrong.replace("{name: e}", "{name: e, labels: {exempt: 'true'}}");
    kubectl.feed("create -n dev -f -", &exempt).await;
}

const CONDITIONS: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: conditions.example.com}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}
  matchConditions:
  - {name: exclude-leases, expression: \"!(request.resource.group == 'coordination.k8s.io' && request.resource.resource == 'leases')\"}
  - {name: exclude-kubelets, expression: \"!('system:nodes' in request.userInfo.groups)\"}
  - {name: rbac, expression: request.resource.group != 'rbac.authorization.k8s.io'}
  validations:
  - expression: \"!object.metadata.name.contains('demo') || object.metadata.namespace == 'demo'\"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: conditions.example.com}
spec: {policyName: conditions.example.com, validationActions: [Deny]}
";

#[tokio::test]
async fn match_conditions_exclude_requests() {
    let (_server, kubectl) = server().await;
    kubectl.feed("create -f -", CONDITIONS).await;
    let lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: demo}\n";
    kubectl.feed("create -f -", lease).await;
    kubectl.ok("create clusterrole demo --verb=get --resource=pods").await;
    let why = kubectl.fails("create configmap demo").await;
    assert!(
        why.contains("'conditions.example.com' with binding 'conditions.example.com' denied request"),
        "{why}"
    );
    kubectl.ok("create configmap other").await;
    // A deletion has no object.
    let deleted = kubectl.fails("delete configmap other").await;
    assert!(deleted.contains("denied request: expression '!object.metadata.name.contains"), "{deleted}");
    kubectl.ok("delete validatingadmissionpolicybinding conditions.example.com").await;
    kubectl.ok("delete configmap other").await;
}

const AUTHORIZER: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: scc.example.com}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations:
  - expression: authorizer.group('example.com').resource('features').name('free').check('use').allowed()
    message: use of feature free is not allowed
    reason: Forbidden
  - expression: authorizer.requestResource.check('create').allowed()
  - expression: authorizer.serviceAccount('default', 'nobody').requestResource.check('create').allowed() == false
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: scc.example.com}
spec: {policyName: scc.example.com, validationActions: [Deny]}
";

#[tokio::test]
async fn permissions_are_checked_by_the_authorizers_of_the_server() {
    let (_server, kubectl) = server().await;
    let policy = AUTHORIZER.replace(
        "authorizer.serviceAccount('default', 'nobody').requestResource.check('create')",
        "authorizer.serviceAccount('default', 'nobody').group('').resource('configmaps').namespace('default').check('create')",
    );
    kubectl.feed("create -f -", &policy).await;
    kubectl.ok("create clusterrole maps --verb=create --resource=configmaps").await;
    kubectl.ok("create clusterrolebinding maps --clusterrole=maps --user=jane").await;
    let why = kubectl.fails("create configmap m --as=jane").await;
    assert_eq!(
        why.trim(),
        "error: failed to create configmap: configmaps \"m\" is forbidden: ValidatingAdmissionPolicy 'scc.example.com' with binding \
         'scc.example.com' denied request: use of feature free is not allowed"
    );
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: features}\nrules: [{apiGroups: \
                [example.com], resources: [features], resourceNames: [free], verbs: [use]}]\n";
    kubectl.feed("create -f -", role).await;
    kubectl.ok("create clusterrolebinding features --clusterrole=features --user=jane").await;
    kubectl.ok("create configmap m --as=jane").await;
}
