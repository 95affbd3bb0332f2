//! Containers of a Docker daemon, over its Unix socket.
//!
//! [`Docker::connect`] finds the daemon, [`Docker::image`] has an image built or found, [`Docker::create`] starts a
//! [`Container`] of it. A container is a [`Session`](crate::Session), and has besides what a bubblewrap needs no daemon for: files in and
//! out ([`Container::copy_in`], [`Container::fetch`]), what was changed ([`Container::changes`]), and a second life with a
//! clean process tree ([`Container::halt`], [`Container::restart`]).
//!
//! **What ends with us.** The first process of a container is a shell of ours that waits for the end of its standard
//! input, which one connection of this process holds. When this process dies, in whatever way, the daemon closes that
//! input, the shell ends, and the kernel ends all others. Nobody has to be there to clean up for nothing to run on; what
//! is left is a dead container, which [`Docker::sweep`] removes.
//!
//! **What is not given.** No container is privileged, sees the daemon's socket or shares a namespace of the host. All
//! capabilities are dropped but those that package managers need as root; nothing gains privileges by set-id programs;
//! there is no network unless it is asked for, and then one that the daemon has anyway.
//!
//! This is the one place of the workspace with an asynchronous runtime: one worker thread, owned by [`Docker`].
//! Everything outward blocks.

mod archive;
mod buildkit;
mod client;
mod container;
mod copy_in;
mod counters;
mod dockerfile;
mod error;
mod exec;
mod files;
mod floor;
mod ignore;
mod image;
mod layers;
mod pack;
mod plant;
mod sweep;
mod unpack;

pub use client::{DEFAULT_SOCKET, Docker, DockerOptions, DockerProbe};
pub use container::{Container, ContainerSpec, DockerNetwork};
pub use files::{Changed, Owner, PathStat};
pub use image::{Image, ImageConfig, ImageError, ImageSource};
pub use sweep::Swept;
