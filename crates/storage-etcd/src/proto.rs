//! The few messages of etcd's API that Pintle speaks, as prost derives.
//!
//! They are written by hand because generating them needs `protoc` at build time. Field numbers are etcd's; fields that
//! are neither sent nor read are left out, which protobuf allows.
//!
//! Requests hold `Bytes`, so that a retry copies nothing. Responses hold `Vec<u8>`: a slice of the
//! received message would keep the whole message alive as long as one of its values.

mod kv;
mod lease;
mod maintenance;
mod watch;

pub(crate) use kv::*;
pub(crate) use lease::*;
pub(crate) use maintenance::*;
pub(crate) use watch::*;

/// Heads every answer.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ResponseHeader {
    /// The store's newest revision on the member that answered.
    #[prost(int64, tag = "3")]
    pub revision: i64,
}

/// A method and the messages it takes and gives.
pub(crate) trait Rpc: prost::Message + Clone + 'static {
    const PATH: &'static str;
    type Response: prost::Message + Default + 'static;
}

macro_rules! rpc {
    ($request:ty => $response:ty, $path:literal) => {
        impl Rpc for $request {
            const PATH: &'static str = $path;
            type Response = $response;
        }
    };
}

rpc!(RangeRequest => RangeResponse, "/etcdserverpb.KV/Range");
rpc!(TxnRequest => TxnResponse, "/etcdserverpb.KV/Txn");
rpc!(CompactionRequest => CompactionResponse, "/etcdserverpb.KV/Compact");
rpc!(LeaseGrantRequest => LeaseGrantResponse, "/etcdserverpb.Lease/LeaseGrant");
rpc!(StatusRequest => StatusResponse, "/etcdserverpb.Maintenance/Status");
rpc!(WatchRequest => WatchResponse, "/etcdserverpb.Watch/Watch");
