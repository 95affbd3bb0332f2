//! Containers of a Docker daemon, over its Unix socket.
//!
//! [`Docker::connect`] finds the daemon, [`Docker::image`] builds or finds an image,
//! [`Docker::create`] starts a [`Container`] of it. A container is a [`Session`](crate::Session).
//! It also has operations for what is done directly on the host's files with bubblewrap: copying
//! files in and out ([`Container::copy_in`], [`Container::fetch`]), listing changes
//! ([`Container::changes`]), and restarting with a clean process tree ([`Container::halt`],
//! [`Container::restart`]).
//!
//! **Lifetime.** The first process of a container is a shell of ours that waits for the end of its
//! standard input, which one connection of this process keeps open. When this process dies, in
//! whatever way, the daemon closes that input, the shell ends, and the kernel kills all other
//! processes. No cleanup is needed to stop them; what remains is a dead container, which
//! [`Docker::remove_stale`] removes.
//!
//! The container of a service runs a program beside that shell, and ends with either.
//!
//! **Isolation.** No container is privileged, sees the daemon's socket or shares a namespace with
//! the host. All capabilities are dropped except those that package managers need as root; set-id
//! programs gain no privileges; there is no network unless requested, and then only one that the
//! daemon already has, or an [internal one](InternalNetwork) without a route out.
//!
//! This is the only part of the workspace with an asynchronous runtime: one worker thread, owned by
//! [`Docker`]. The public interface is blocking.

mod archive;
mod buildkit;
mod cleanup;
mod client;
mod container;
mod copy_in;
mod counters;
mod dockerfile;
mod error;
mod exec;
mod files;
mod ignore;
mod image;
mod layers;
mod minimal;
mod network;
mod pack;
mod snapshot;
mod transfer;
mod unpack;
mod write;

pub use cleanup::Removed;
pub use client::{DEFAULT_SOCKET, Docker, DockerOptions, DockerProbe};
pub use container::{Attachment, Container, ContainerSpec, DockerNetwork};
pub use files::{Changed, Owner, PathStat};
pub use image::{Image, ImageConfig, ImageError, ImageSource};
pub use network::InternalNetwork;
pub use snapshot::Snapshot;
