//! Test support shared by the suites: servers, clients, certificates, a real etcd.

pub(crate) mod certs;
pub(crate) mod client;
#[path = "../../../../storage-etcd/tests/common/mod.rs"]
pub(crate) mod etcd;
pub(crate) mod frames;
pub(crate) mod kubectl;
pub(crate) mod objects;
pub(crate) mod server;
pub(crate) mod shared;
pub(crate) mod store;

pub(crate) use certs::{Authority, Identity};
pub(crate) use client::{Answer, Client};
pub(crate) use server::{ALICE, Finished, Launch, MASTER, PATIENCE, Server, eventually, free_port};
