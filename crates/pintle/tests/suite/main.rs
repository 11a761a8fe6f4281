//! Whole-server suites: the built binary as a real process, talked to as its clients do.

#![allow(clippy::print_stderr, reason = "the log of a server is shown when its test fails")]

mod support;

mod apply;
mod authentication;
mod authorization;
mod basic_auth;
mod claims;
mod command_lines;
mod compression;
mod connections;
mod csr;
mod custom_resources;
mod documents;
mod egress;
mod endpoints;
mod external_signer;
mod failures;
mod front_proxy;
mod health;
mod hostile;
mod hostile_objects;
mod http2;
mod impersonation;
mod kube_rs;
mod kubectl;
mod large_merges;
mod logging;
mod node;
mod oidc;
mod pages;
mod plain_http;
mod pod_admission;
mod replicas;
mod resource_metrics;
mod restart;
mod reviews;
mod routes;
mod service_account_tokens;
mod service_accounts;
mod services;
mod shutdown;
mod snapshots;
mod start;
mod storage_versions;
mod stored_objects;
mod tls;
mod watch_cache;
mod webhooks;
mod websocket;
mod writes;
