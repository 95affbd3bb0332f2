//! The services of a task beside `main`, on a network of the attempt's own.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use assay_diagnostic::{clean_start, escape};
use assay_sandbox::docker::{Attachment, Container, ContainerSpec, Docker, DockerNetwork, InternalNetwork};
use assay_store::{Cause, NetworkPolicy};
use assay_task::Service;

use crate::run::attempt::Attempt;
use crate::run::broken::Broken;
use crate::run::commands::wait_healthy;
use crate::run::sandbox_record;

/// Running services. They are the same through all steps and phases of an attempt: what an agent
/// did with them is there when its work is graded. Dropping them removes them, and their network
/// when the other containers on it are gone.
pub(crate) struct Services {
    containers: Vec<Container>,
    names: Vec<String>,
    network: InternalNetwork,
}

/// How many tenths of a second the end of a container may take.
const ENDING: usize = 20;

/// The name by which services reach the agent's container.
const MAIN: &str = "main";

impl Services {
    /// Starts a task's services, each after those that it depends on, and waits until all that have
    /// a healthcheck are healthy. `None` if the task has no other service than `main`.
    pub(super) fn start(attempt: &Attempt<'_>, docker: &Docker) -> Result<Option<Rc<Self>>, Broken> {
        let trial = attempt.trial;
        let services = trial.task.environment.compose.as_ref().map(|compose| compose.others.as_slice());
        let Some(services) = services.filter(|services| !services.is_empty()) else { return Ok(None) };
        let network = docker.create_network(&format!("{}-net", trial.id.short()))?;
        let mut started = Self { containers: Vec::new(), names: Vec::new(), network };
        let mut healthy = BTreeSet::new();
        for service in services {
            for (number, other) in services.iter().enumerate().take(started.containers.len()) {
                if service.after.get(&other.name) == Some(&true) && healthy.insert(other.name.as_str()) {
                    started.wait(attempt, number, other)?;
                }
            }
            let container = started.create(attempt, docker, service)?;
            started.containers.push(container);
            started.names.push(service.name.clone());
            started.names.extend(service.aliases.iter().cloned());
        }
        for (number, service) in services.iter().enumerate() {
            if healthy.insert(service.name.as_str()) {
                started.wait(attempt, number, service)?;
            }
        }
        Ok(Some(Rc::new(started)))
    }

    fn create(&self, attempt: &Attempt<'_>, docker: &Docker, service: &Service) -> Result<Container, Broken> {
        let trial = attempt.trial;
        let prepared = attempt.cache.prepared_service(docker, trial, service, attempt.cancel);
        let prepared = prepared.map_err(|error| {
            Broken::new(error.cause, format!("the service `{}`: {}", escape(&service.name), error.message))
        })?;
        let image = &prepared.image;
        let mut program = service.entrypoint.clone().unwrap_or_else(|| image.config.entrypoint.clone());
        match &service.command {
            Some(command) => program.extend(command.iter().cloned()),
            // An entrypoint of one's own replaces the image's command, too.
            None if service.entrypoint.is_some() => {}
            None => program.extend(image.config.command.iter().cloned()),
        }
        if program.is_empty() {
            return Err(failure(service, "neither its image nor the compose file has a command", ""));
        }
        let mut spec = ContainerSpec::new(image.clone(), format!("{}-service", trial.id.short()));
        spec.program = Some(program);
        spec.workdir.clone_from(&service.workdir);
        spec.user.clone_from(&service.user);
        spec.env = trial.env.services.get(&service.name).cloned().unwrap_or_default();
        spec.limits = sandbox_record::limits(trial.limits);
        let names = [service.name.clone()].into_iter().chain(service.aliases.iter().cloned()).collect();
        spec.network = self.attachment(names, false);
        Ok(docker.create(&spec)?)
    }

    /// Waits until a service is healthy, if it has a healthcheck. One without has only to run.
    fn wait(&mut self, attempt: &Attempt<'_>, number: usize, service: &Service) -> Result<(), Broken> {
        let container = &mut self.containers[number];
        let waited = match &service.healthcheck {
            Some(check) => wait_healthy(container, check, attempt.cancel),
            None => Ok(()),
        };
        let mut runs = container.is_running()?;
        // A command fails in a container that is ending, shortly before it has ended.
        for _ in 0..ENDING {
            if !runs || !waited.as_ref().is_err_and(|error| error.cause != Cause::Image) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
            runs = container.is_running()?;
        }
        match waited {
            Ok(()) if runs => Ok(()),
            Err(error) if runs && error.cause != Cause::Image => Err(error),
            Err(error) if runs => Err(failure(service, &error.message, &container.log()?)),
            _ => Err(failure(service, "it ended before the agent started", &container.log()?)),
        }
    }

    /// The network of the agent's container or the verifier's.
    pub(super) fn network(&self, policy: &NetworkPolicy) -> DockerNetwork {
        self.attachment(vec![MAIN.to_owned()], matches!(policy, NetworkPolicy::Public))
    }

    /// The names of the services, which no proxy leads to.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    fn attachment(&self, names: Vec<String>, public: bool) -> DockerNetwork {
        DockerNetwork::Internal(Attachment { network: self.network.id().to_owned(), names, public })
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        for container in self.containers.drain(..) {
            container.remove_in_background();
        }
    }
}

fn failure(service: &Service, reason: &str, log: &str) -> Broken {
    let last = log.lines().rev().find(|line| !line.trim().is_empty());
    let last = last.map(|line| format!(" (it last printed: {})", clean_start(line, 200)));
    let name = escape(&service.name);
    Broken::new(Cause::Image, format!("the service `{name}`: {reason}{}", last.unwrap_or_default()))
}
