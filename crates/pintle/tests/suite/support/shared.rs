//! Servers that tests of one suite share: one on the embedded store and one on a real etcd. Each is there while some
//! test uses it, so that none outlives the tests; a later test starts another.

use std::sync::{Arc, Weak};

use tokio::sync::Mutex;

use super::etcd::{Etcd, Version};
use super::server::{Launch, Server, eventually};

/// Store of a shared server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Embedded,
    Etcd,
}

/// A server, before the etcd that it needs, so that it ends first.
pub(crate) struct Shared {
    pub(crate) server: Server,
    etcd: Option<Etcd>,
}

/// Servers that some tests share among themselves.
pub(crate) struct Pool {
    embedded: Mutex<Weak<Shared>>,
    etcd: Mutex<Weak<Shared>>,
}

/// Of tests that leave its resources as they are.
pub(crate) static PLAIN: Pool = Pool::new();
/// Of tests that define resources, which come and go in everybody's discovery.
pub(crate) static EXTENDED: Pool = Pool::new();

impl Pool {
    const fn new() -> Pool {
        Pool { embedded: Mutex::const_new(Weak::new()), etcd: Mutex::const_new(Weak::new()) }
    }

    /// The one that other tests use now, or a new one.
    pub(crate) async fn on(&self, store: On) -> Arc<Shared> {
        let mut known = match store {
            On::Embedded => self.embedded.lock().await,
            On::Etcd => self.etcd.lock().await,
        };
        if let Some(running) = known.upgrade() {
            return running;
        }
        let started = Arc::new(Shared::start(store).await);
        *known = Arc::downgrade(&started);
        started
    }
}

impl Shared {
    /// Whether what is written comes back to the server from elsewhere, a moment after it was answered.
    pub(crate) fn is_on_etcd(&self) -> bool {
        self.etcd.is_some()
    }

    async fn start(store: On) -> Shared {
        let (server, etcd) = match store {
            On::Embedded => (Launch::new().tokens().start().await, None),
            On::Etcd => {
                let etcd = Etcd::start(Version::New);
                // On etcd the flags have the reference's defaults, so the authorization mode is set.
                let launch = Launch::on_etcd(&etcd).tokens().arg("--authorization-mode=Node,RBAC");
                (launch.start().await, Some(etcd))
            }
        };
        ready(&server).await;
        Shared { server, etcd }
    }
}

/// Waits until a server is ready and its own namespaces are there.
pub(crate) async fn ready(server: &Server) {
    let admin = server.admin();
    eventually("readiness", async || admin.get("/readyz").await.code == 200).await;
    eventually("the default namespace", async || admin.get("/api/v1/namespaces/default").await.code == 200)
        .await;
}

/// Makes two tests of each function: one on the embedded store, one on etcd.
macro_rules! on_both_stores {
    (of $pool:ident: $($test:ident),+ $(,)?) => {
        mod embedded {
            use crate::support::shared::{On, $pool};
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(&*$pool.on(On::Embedded).await).await;
            })+
        }
        mod etcd {
            use crate::support::shared::{On, $pool};
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(&*$pool.on(On::Etcd).await).await;
            })+
        }
    };
    ($($test:ident),+ $(,)?) => {
        $crate::support::shared::on_both_stores! { of PLAIN: $($test),+ }
    };
}
pub(crate) use on_both_stores;
