//! Flags that only this server has.

use super::{Flag, flag};
use crate::kind::Kind::{Bool, String};

pub(super) const FLAGS: &[Flag] = &[
    flag(
        "data-dir",
        String,
        "",
        "Directory of the embedded store, used when --etcd-servers is not given. Without it, $XDG_DATA_HOME/pintle or \
         ~/.local/share/pintle; the value :memory: keeps nothing on disk.",
    )
    .active(),
    flag(
        "port-file",
        String,
        "",
        "File to which the port of --secure-port is written just before requests are served; it is removed when the server \
         ends. With it, --secure-port=0 takes a free port.",
    )
    .active(),
    flag(
        "unsafe-no-fsync",
        Bool,
        "",
        "Acknowledge writes to the embedded store before they are on disk. A power cut may then lose them; meant for \
         throw-away servers.",
    )
    .active(),
];
