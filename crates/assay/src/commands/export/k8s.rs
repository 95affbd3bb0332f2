//! `assay export k8s`: the objects with which a run is executed on Kubernetes.

use assay_trial::{Experiment, KubernetesRun};

use crate::args::export::ExportK8sArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) fn run(args: &ExportK8sArgs, ui: &Ui) -> Result<Status, Failure> {
    let experiment = Experiment::load(&args.experiment)?;
    let file = match args.experiment.file_name() {
        Some(name) if args.experiment.is_file() => name.to_string_lossy().into_owned(),
        _ => "experiment.toml".to_owned(),
    };
    let folder = args.folder.clone().unwrap_or_else(|| args.mount.clone());
    for (option, path) in [("--mount", &args.mount), ("--folder", &folder)] {
        if !path.starts_with('/') {
            return Err(Failure::bad_input(format!(
                "`{option}` must be an absolute path in the pods, and is {path}"
            )));
        }
    }
    if !std::path::Path::new(&folder).starts_with(&args.mount) {
        return Err(Failure::bad_input(format!(
            "`--folder` {folder} is not on the volume, which is mounted at {}",
            args.mount
        )));
    }
    let run = KubernetesRun {
        run: &experiment.name,
        image: &args.image,
        claim: &args.claim,
        mount: &args.mount,
        folder: &folder,
        file: &file,
        secrets: &args.secrets,
        namespace: args.namespace.as_deref(),
        workers: args.workers,
        jobs: args.jobs,
        cpu: &args.cpu,
        memory: &args.memory,
        privileged: args.privileged,
        allow: &args.allow,
        requests_per_minute: args.requests_per_minute,
        permissions: args.permissions.permissions(),
        options: &args.options,
    };
    ui.document(&run.objects())?;
    Ok(Status::Done)
}
