//! Flags of the controllers that run in this process. Names and meaning are kube-controller-manager's.

use super::{Flag, flag};
use crate::kind::Kind::Strings;

pub(super) const FLAGS: &[Flag] = &[
    flag(
        "controllers",
        Strings,
        "",
        "Controllers of kube-controller-manager that run in this process. '*' stands for all that are on by default, 'foo' adds \
         the controller named 'foo', '-foo' leaves it out. Without the flag: '*' on the embedded store, none with \
         --etcd-servers. With several servers on one etcd, an elected one runs them.",
    )
    .active(),
];
