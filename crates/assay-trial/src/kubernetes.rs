//! The objects with which a run is executed on Kubernetes.
//!
//! Fields are those of Job (batch/v1), Deployment (apps/v1), Service (v1) and NetworkPolicy (networking.k8s.io/v1) in
//! the Kubernetes API reference, 1.31.

use serde_json::{Value, json};

use crate::experiment::foreign::Permissions;

/// Where the gateway listens in its pod.
const PORT: u16 = 7400;
/// How long workers and the gateway wait for the run to begin, and workers for the next trials.
const WAIT_SECONDS: u32 = 600;
/// Longest name of an object from which pods and hosts are named (RFC 1123: 63), with room for their suffixes.
const NAME: usize = 40;

/// The user and group of all pods.
const USER: u32 = 1000;

/// Networks that are not public (RFC 1918, RFC 6598, RFC 3927): those of the cluster are among them.
const PRIVATE: [&str; 5] =
    ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16"];

/// A word of a command as Kubernetes gives it to the program: it expands `$(NAME)` to variables, also to keys, and
/// `$$(NAME)` to `$(NAME)`.
fn literal(word: &str) -> String {
    word.replace("$(", "$$(")
}

/// The name of a run as a label of RFC 1123.
fn object_name(run: &str) -> String {
    let plain: String = run
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(NAME)
        .collect();
    let plain = plain.trim_matches('-');
    if plain == run {
        return format!("assay-{plain}");
    }
    // Two runs do not share a name.
    let digest = blake3::hash(run.as_bytes()).to_hex();
    let digest = &digest.as_str()[..6];
    if plain.is_empty() { format!("assay-{digest}") } else { format!("assay-{plain}-{digest}") }
}

/// How a run is executed on a cluster: workers in an indexed job, the gateway beside them, and a job that plans, waits and
/// reports.
#[derive(Debug)]
pub struct KubernetesRun<'a> {
    /// The name of the run.
    pub run: &'a str,
    /// The image with assay, bubblewrap and the agents.
    pub image: &'a str,
    /// The claim of a volume that all pods can write to.
    pub claim: &'a str,
    /// Where it is mounted.
    pub mount: &'a str,
    /// The folder of the experiment on the mounted volume.
    pub folder: &'a str,
    /// The file of the experiment in it.
    pub file: &'a str,
    /// Secrets whose entries become environment variables.
    pub secrets: &'a [String],
    /// The namespace of the objects; that of kubectl without one.
    pub namespace: Option<&'a str>,
    /// Pods of workers.
    pub workers: u16,
    /// Concurrent trials of each.
    pub jobs: u16,
    /// Processors that a worker requests, as a quantity of Kubernetes.
    pub cpu: &'a str,
    /// Memory that a worker requests, and its limit.
    pub memory: &'a str,
    /// Whether workers are privileged containers.
    pub privileged: bool,
    /// Networks that workers may reach.
    pub allow: &'a [String],
    /// Most requests per minute to each provider.
    pub requests_per_minute: Option<u32>,
    /// What the experiment may do that only its owner can allow.
    pub permissions: Permissions,
    /// Further options of `assay run`.
    pub options: &'a [String],
}

impl KubernetesRun<'_> {
    /// The objects, as a `List` of the API.
    pub fn objects(&self) -> Value {
        let items = vec![
            self.gateway(),
            self.service(),
            self.gateway_policy(),
            self.worker_policy(),
            self.planner(),
            self.worker_job(),
        ];
        json!({ "apiVersion": "v1", "kind": "List", "items": items })
    }

    fn name(&self) -> String {
        object_name(self.run)
    }

    fn labels(&self, component: &str) -> Value {
        json!({
            "app.kubernetes.io/name": "assay",
            "app.kubernetes.io/instance": self.name(),
            "app.kubernetes.io/component": component,
        })
    }

    fn metadata(&self, name: &str, component: &str) -> Value {
        let mut metadata = json!({ "name": name, "labels": self.labels(component) });
        if let Some(namespace) = &self.namespace {
            metadata["namespace"] = json!(namespace);
        }
        metadata
    }

    fn object(&self, version: &str, kind: &str, name: &str, component: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": self.metadata(name, component),
            "spec": spec,
        })
    }

    /// A pod with the volume and one container. Keys are read from the named Secrets.
    fn pod(&self, component: &str, restart: &str, command: &[&str]) -> Value {
        let has_keys = component != "gateway";
        let secrets: Vec<Value> = self
            .secrets
            .iter()
            .filter(|_| has_keys)
            .map(|name| json!({ "secretRef": { "name": name } }))
            .collect();
        let store = format!("{}/.assay", self.folder);
        let words = ["assay", "--store", &store].into_iter().chain(command.iter().copied());
        let words: Vec<String> = words.map(literal).collect();
        let resources = if component == "worker" {
            json!({ "requests": { "cpu": self.cpu, "memory": self.memory }, "limits": { "memory": self.memory } })
        } else {
            json!({ "requests": { "cpu": "100m", "memory": "256Mi" }, "limits": { "memory": "1Gi" } })
        };
        let security = if component == "worker" && self.privileged {
            json!({ "privileged": true })
        } else if component == "worker" {
            // bubblewrap makes namespaces, which the usual profile forbids.
            json!({
                "allowPrivilegeEscalation": false,
                "capabilities": { "drop": ["ALL"] },
                "seccompProfile": { "type": "Unconfined" },
            })
        } else {
            json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } })
        };
        json!({
            "metadata": { "labels": self.labels(component) },
            "spec": {
                "restartPolicy": restart,
                "automountServiceAccountToken": false,
                // One user for all pods: the store is for its owner only.
                "securityContext": {
                    "runAsNonRoot": true,
                    "runAsUser": USER,
                    "runAsGroup": USER,
                    "fsGroup": USER,
                    "fsGroupChangePolicy": "OnRootMismatch",
                    "seccompProfile": { "type": "RuntimeDefault" },
                },
                "terminationGracePeriodSeconds": 60,
                "containers": [{
                    "name": component,
                    "image": self.image,
                    "command": words,
                    "workingDir": self.folder,
                    "env": [
                        { "name": "ASSAY_SCRATCH", "value": "/scratch" },
                        { "name": "HOME", "value": "/scratch" },
                    ],
                    "envFrom": secrets,
                    "resources": resources,
                    "securityContext": security,
                    "volumeMounts": [
                        { "name": "shared", "mountPath": self.mount },
                        { "name": "scratch", "mountPath": "/scratch" },
                    ],
                }],
                "volumes": [
                    { "name": "shared", "persistentVolumeClaim": { "claimName": self.claim } },
                    { "name": "scratch", "emptyDir": {} },
                ],
            },
        })
    }

    /// Plans, checks, waits for the trials and reports.
    fn planner(&self) -> Value {
        let mut command = vec!["run", self.file, "--executor", "workers"];
        command.extend(self.permissions.worker_options());
        command.extend(self.options.iter().map(String::as_str));
        let spec = json!({ "backoffLimit": 3, "template": self.pod("run", "Never", &command) });
        self.object("batch/v1", "Job", &format!("{}-run", self.name()), "run", &spec)
    }

    fn worker_job(&self) -> Value {
        let (wait, jobs) = (WAIT_SECONDS.to_string(), self.jobs.to_string());
        let mut command = vec!["worker", "--run", self.run, "--jobs", &jobs, "--idle-exit", &wait];
        command.extend(self.permissions.worker_options());
        let spec = json!({
            "completionMode": "Indexed",
            "completions": self.workers,
            "parallelism": self.workers,
            "backoffLimit": 3 * u32::from(self.workers),
            // Eviction and preemption are no failures of a worker.
            "podFailurePolicy": {
                "rules": [{ "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] }],
            },
            "template": self.pod("worker", "Never", &command),
        });
        self.object("batch/v1", "Job", &format!("{}-worker", self.name()), "worker", &spec)
    }

    fn gateway_name(&self) -> String {
        format!("{}-gateway", self.name())
    }

    fn gateway(&self) -> Value {
        let (name, listen, wait) = (self.gateway_name(), format!("0.0.0.0:{PORT}"), WAIT_SECONDS.to_string());
        let mut command = vec![
            "gateway", "serve", "--run", self.run, "--listen", &listen, "--host", &name, "--wait", &wait,
        ];
        let rate = self.requests_per_minute.map(|rate| rate.to_string());
        if let Some(rate) = &rate {
            command.extend(["--requests-per-minute", rate]);
        }
        let mut template = self.pod("gateway", "Always", &command);
        template["spec"]["containers"][0]["ports"] = json!([{ "name": "gateway", "containerPort": PORT }]);
        // Two at once would each have an account.
        let spec = json!({
            "replicas": 1,
            "strategy": { "type": "Recreate" },
            "selector": { "matchLabels": self.labels("gateway") },
            "template": template,
        });
        self.object("apps/v1", "Deployment", &name, "gateway", &spec)
    }

    fn service(&self) -> Value {
        let spec = json!({
            "selector": self.labels("gateway"),
            "ports": [{ "name": "gateway", "port": PORT, "targetPort": PORT }],
        });
        self.object("v1", "Service", &self.gateway_name(), "gateway", &spec)
    }

    /// Workers reach the gateway; the gateway reaches nobody.
    fn gateway_policy(&self) -> Value {
        let spec = json!({
            "podSelector": { "matchLabels": self.labels("gateway") },
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{
                "from": [
                    { "podSelector": { "matchLabels": self.labels("worker") } },
                    { "podSelector": { "matchLabels": self.labels("run") } },
                ],
                "ports": [{ "protocol": "TCP", "port": PORT }],
            }],
            "egress": [],
        });
        self.object("networking.k8s.io/v1", "NetworkPolicy", &self.gateway_name(), "gateway", &spec)
    }

    /// Nobody reaches workers; they reach the gateway, names, and providers.
    fn worker_policy(&self) -> Value {
        let mut egress = vec![
            json!({
                "to": [{ "podSelector": { "matchLabels": self.labels("gateway") } }],
                "ports": [{ "protocol": "TCP", "port": PORT }],
            }),
            json!({
                "to": [{ "namespaceSelector": {}, "podSelector": { "matchLabels": { "k8s-app": "kube-dns" } } }],
                "ports": [{ "protocol": "UDP", "port": 53 }, { "protocol": "TCP", "port": 53 }],
            }),
            json!({
                "to": [{ "ipBlock": { "cidr": "0.0.0.0/0", "except": PRIVATE } }],
                "ports": [{ "protocol": "TCP", "port": 443 }],
            }),
        ];
        egress.extend(self.allow.iter().map(|cidr| json!({ "to": [{ "ipBlock": { "cidr": cidr } }] })));
        let mut spec = json!({
            "podSelector": {
                "matchLabels": { "app.kubernetes.io/name": "assay", "app.kubernetes.io/instance": self.name() },
                "matchExpressions": [
                    { "key": "app.kubernetes.io/component", "operator": "In", "values": ["worker", "run"] },
                ],
            },
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [],
        });
        spec["egress"] = json!(egress);
        self.object(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            &format!("{}-worker", self.name()),
            "worker",
            &spec,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::object_name;

    #[test]
    fn runs_have_distinct_names_of_objects() {
        assert_eq!(object_name("my-suite"), "assay-my-suite");
        assert!(object_name("My_Suite").starts_with("assay-my-suite-"));
        assert_ne!(object_name("My_Suite"), object_name("my_suite"));
        let long = object_name(&"a".repeat(200));
        // The longest: a pod of the gateway, with the hashes of its ReplicaSet and its own.
        assert!(
            format!("{long}-gateway-0123456789-01234").len() <= 80 && format!("{long}-gateway").len() <= 63,
            "{long}"
        );
        for name in ["...", "9", "-a-"] {
            let name = object_name(name);
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            assert!(!name.ends_with('-'), "{name}");
        }
    }
}
