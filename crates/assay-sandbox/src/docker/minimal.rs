//! The minimal work of any harness in Docker: the reference for measuring the overhead of one.

use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use bollard::query_parameters::{KillContainerOptions, RemoveContainerOptions};
use futures_util::StreamExt;

use super::client::Docker;
use super::container::{ContainerSpec, body};
use crate::SandboxError;

impl Docker {
    /// Runs one container with the minimum of requests: create, start, `before` commands that do
    /// nothing, kill, start again, `after` more commands, remove. Nothing is recorded or copied,
    /// and the container remains if this process dies.
    pub fn run_minimal(&self, spec: &ContainerSpec, before: u32, after: u32) -> Result<(), SandboxError> {
        let inner = &self.inner;
        inner.request("run a container", async {
            let api = &inner.api;
            let id = api.create_container(None, body(spec, inner)).await?.id;
            let lived = async {
                api.start_container(&id, None).await?;
                self.commands(&id, before).await?;
                let kill = KillContainerOptions { signal: "KILL".to_owned() };
                api.kill_container(&id, Some(kill)).await?;
                api.start_container(&id, None).await?;
                self.commands(&id, after).await
            };
            let lived = lived.await;
            let options = RemoveContainerOptions { v: true, force: true, link: false };
            api.remove_container(&id, Some(options)).await?;
            lived
        })
    }

    async fn commands(&self, id: &str, count: u32) -> Result<(), Error> {
        let api = &self.inner.api;
        for _ in 0..count {
            let options = CreateExecOptions {
                attach_stdout: Some(true),
                attach_stderr: Some(true),
                cmd: Some(vec!["true"]),
                ..Default::default()
            };
            let exec = api.create_exec(id, options).await?.id;
            if let StartExecResults::Attached { mut output, .. } =
                api.start_exec(&exec, None::<StartExecOptions>).await?
            {
                while output.next().await.is_some() {}
            }
            api.inspect_exec(&exec).await?;
        }
        Ok(())
    }
}
