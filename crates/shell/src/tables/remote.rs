//! Forms that query a server and change nothing there: containers, clusters, clouds, releases.
//!
//! What they show is downloaded, so a state allows them like downloads. Options that select another server, another configuration
//! or a file are in no row.

use super::reading::{FORM, Form, NAMES, Reach};
use crate::options::Spec;
use crate::words::words;

/// docker-ps(1) and the like: `-H` `--context` `--config` come before the subcommand and are in no form.
const DOCKER: Spec = Spec {
    short: "aqslnftd",
    valued: "",
    long: words!(
        "all quiet no-trunc size latest digests tree details follow timestamps no-stream human
         verbose services orphans no-color no-log-prefix filter= format= last= since= until= tail=
         type= index="
    ),
    ..NAMES
};
/// `docker ps -n 3`, `docker ps -f name=x`, `docker logs -n 3`.
const DOCKER_FILTERED: Spec = Spec {
    short: "aqsltd",
    valued: "fn",
    ..DOCKER
};
const DOCKER_LOGS: Spec = Spec {
    short: "ft",
    valued: "n",
    ..DOCKER
};

/// kubectl(1): `--kubeconfig` `-s` `--token` `--as` `--raw` `--profile` `--cache-dir` select or write something.
const KUBECTL: Spec = Spec {
    short: "AwLRih",
    valued: "nlofcv",
    long: words!(
        "all-namespaces namespace= context= selector= field-selector= output= show-labels show-kind
         show-managed-fields show-events label-columns= sort-by= no-headers ignore-not-found
         chunk-size= subresource= watch watch-only output-watch-events recursive container=
         all-containers follow previous since= since-time= tail= limit-bytes= max-log-requests=
         prefix timestamps request-timeout= containers api-group= namespaced verbs= revision= for=
         types= client short sum list quiet"
    ),
    ..NAMES
};
/// `-f` follows here; for `kubectl get` it names a file.
const KUBECTL_LOGS: Spec = Spec {
    short: "fpAh",
    valued: "nlcv",
    ..KUBECTL
};
const KUBECTL_GET: Spec = Spec {
    short: "AwRh",
    valued: "nloLv",
    ..KUBECTL
};

/// helm(1): `--post-renderer` `--kubeconfig` `--kube-apiserver` `--registry-config` run or select something.
const HELM: Spec = Spec {
    short: "aAdqr",
    valued: "nfmol",
    long: words!(
        "all all-namespaces namespace= kube-context= filter= max= offset= output= selector= date
         deployed failed pending reverse short superseded time-format= uninstalled uninstalling
         no-headers revision= show-desc show-resources template= versions devel version="
    ),
    ..NAMES
};

/// https://developer.hashicorp.com/terraform/cli: `-chdir` comes before the subcommand.
const TERRAFORM: Spec = Spec {
    exact: words!("-json -raw -no-color -state=* -state= -id=* -module-depth=*"),
    ..NAMES
};

const DOCKERS: &[&str] = &["docker", "podman", "nerdctl"];
const DOCKER_FORM: Form = Form {
    programs: DOCKERS,
    spec: DOCKER,
    reach: Reach::Remote,
    ..FORM
};
const KUBE: Form = Form {
    programs: &["kubectl", "oc"],
    spec: KUBECTL_GET,
    reach: Reach::Remote,
    ..FORM
};
const HELM_FORM: Form = Form {
    programs: &["helm"],
    spec: HELM,
    reach: Reach::Remote,
    ..FORM
};
const TERRAFORM_FORM: Form = Form {
    programs: &["terraform", "tofu"],
    spec: TERRAFORM,
    reach: Reach::Remote,
    ..FORM
};

const fn docker(words: &'static [&'static str], spec: Spec) -> Form {
    Form {
        words,
        spec,
        ..DOCKER_FORM
    }
}

const fn kube(words: &'static [&'static str], spec: Spec) -> Form {
    Form {
        words,
        spec,
        ..KUBE
    }
}

const fn helm(words: &'static [&'static str]) -> Form {
    Form { words, ..HELM_FORM }
}

const fn terraform(words: &'static [&'static str]) -> Form {
    Form {
        words,
        ..TERRAFORM_FORM
    }
}

/// All forms; the first match counts.
pub(crate) const REMOTE: &[Form] = &[
    docker(&["ps"], DOCKER_FILTERED),
    docker(&["images"], DOCKER_FILTERED),
    docker(&["logs"], DOCKER_LOGS),
    docker(&["inspect"], DOCKER_FILTERED),
    docker(&["top"], NAMES),
    docker(&["port"], NAMES),
    docker(&["stats"], DOCKER),
    docker(&["history"], DOCKER),
    docker(&["diff"], NAMES),
    docker(&["info"], DOCKER_FILTERED),
    docker(&["container", "ls"], DOCKER_FILTERED),
    docker(&["container", "list"], DOCKER_FILTERED),
    docker(&["container", "ps"], DOCKER_FILTERED),
    docker(&["container", "inspect"], DOCKER_FILTERED),
    docker(&["container", "logs"], DOCKER_LOGS),
    docker(&["container", "top"], NAMES),
    docker(&["container", "port"], NAMES),
    docker(&["container", "stats"], DOCKER),
    docker(&["container", "diff"], NAMES),
    docker(&["image", "ls"], DOCKER_FILTERED),
    docker(&["image", "list"], DOCKER_FILTERED),
    docker(&["image", "inspect"], DOCKER_FILTERED),
    docker(&["image", "history"], DOCKER),
    docker(&["volume", "ls"], DOCKER_FILTERED),
    docker(&["volume", "inspect"], DOCKER_FILTERED),
    docker(&["network", "ls"], DOCKER_FILTERED),
    docker(&["network", "inspect"], DOCKER_FILTERED),
    docker(&["context", "ls"], DOCKER_FILTERED),
    docker(&["system", "df"], DOCKER_FILTERED),
    docker(&["compose", "ps"], DOCKER),
    docker(&["compose", "ls"], DOCKER),
    docker(&["compose", "logs"], DOCKER_LOGS),
    docker(&["compose", "images"], DOCKER),
    docker(&["compose", "top"], NAMES),
    kube(&["get"], KUBECTL_GET),
    kube(&["describe"], KUBECTL_GET),
    kube(&["logs"], KUBECTL_LOGS),
    kube(&["top"], KUBECTL_GET),
    kube(&["explain"], KUBECTL_GET),
    kube(&["events"], KUBECTL_GET),
    kube(&["api-resources"], KUBECTL_GET),
    kube(&["api-versions"], NAMES),
    kube(&["version"], KUBECTL_GET),
    kube(&["rollout", "status"], KUBECTL_GET),
    kube(&["rollout", "history"], KUBECTL_GET),
    kube(&["auth", "can-i"], KUBECTL_GET),
    kube(&["config", "current-context"], NAMES),
    kube(&["config", "get-contexts"], KUBECTL_GET),
    kube(&["config", "get-clusters"], NAMES),
    Form {
        operands_max: 0,
        ..kube(&["cluster-info"], NAMES)
    },
    helm(&["list"]),
    helm(&["ls"]),
    helm(&["status"]),
    helm(&["history"]),
    helm(&["get", "all"]),
    helm(&["get", "values"]),
    helm(&["get", "manifest"]),
    helm(&["get", "notes"]),
    helm(&["get", "hooks"]),
    helm(&["get", "metadata"]),
    helm(&["search", "repo"]),
    helm(&["search", "hub"]),
    helm(&["repo", "list"]),
    terraform(&["show"]),
    terraform(&["output"]),
    terraform(&["state", "list"]),
    terraform(&["state", "show"]),
    terraform(&["workspace", "list"]),
    terraform(&["workspace", "show"]),
];

/// Verbs of `aws` that show one thing; others that begin with `get-` write a file or create a credential.
pub(crate) const AWS_GETS: &[&str] = words!(
    "get-caller-identity get-bucket-acl get-bucket-cors get-bucket-encryption
     get-bucket-lifecycle-configuration get-bucket-location get-bucket-logging get-bucket-policy
     get-bucket-replication get-bucket-tagging get-bucket-versioning get-public-access-block
     get-log-events get-query-results get-metric-data get-metric-statistics get-dashboard
     get-cost-and-usage get-cost-forecast get-user get-role get-role-policy get-policy
     get-policy-version get-group get-account-summary get-function-configuration
     get-function-concurrency get-hosted-zone get-pipeline get-pipeline-state get-pipeline-execution
     get-template get-template-summary get-stack-policy get-queue-attributes get-queue-url
     get-topic-attributes get-console-output"
);

/// Services of `aws` with verbs that show something but have other names.
pub(crate) const AWS_SHOWS: &[(&str, &[&str])] = &[
    ("s3", &["ls"]),
    ("logs", &["tail", "filter-log-events"]),
    ("configure", &["list", "list-profiles"]),
    ("cloudformation", &["detect-stack-drift-status"]),
];

/// Options of `aws` before the service, and whether they take a value.
pub(crate) const AWS_BEFORE: &[(&str, bool)] = &[
    ("--region", true),
    ("--output", true),
    ("--query", true),
    ("--profile", true),
    ("--color", true),
    ("--no-cli-pager", false),
    ("--no-paginate", false),
];

/// Options of `aws` that select another server, or read their words from a file.
pub(crate) const AWS_STEERS: &[&str] = words!(
    "--endpoint-url --ca-bundle --no-verify-ssl --no-sign-request --cli-input-json --cli-input-yaml
     --cli-auto-prompt --generate-cli-skeleton --with-decryption --debug"
);

/// Groups of `gcloud` in which `list` and `describe` are verbs.
pub(crate) const GCLOUD_GROUPS: &[&str] = words!(
    "alpha beta compute instances disks networks subnets firewall-rules images snapshots zones
     regions addresses projects organizations container clusters node-pools operations run services
     revisions jobs executions functions app versions sql databases backups pubsub topics
     subscriptions storage buckets objects iam roles service-accounts builds triggers artifacts
     repositories docker logging logs sinks metrics dns managed-zones record-sets config
     configurations auth scheduler tasks queues redis spanner bigtable dataflow dataproc monitoring
     dashboards policies backend-services url-maps forwarding-rules health-checks instance-groups
     managed instance-templates target-pools routers routes vpn-tunnels endpoints kms keyrings keys
     secrets deploy workflows"
);

/// Options of `gcloud` that select another account, or read their words from a file.
pub(crate) const GCLOUD_STEERS: &[&str] = words!(
    "--flags-file --impersonate-service-account --access-token-file --account --configuration
     --log-http"
);
