//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};

/// The measurements, by the names that `--only` takes.
const PARTS: &[&str] = &[
    "codec",
    "admission",
    "chain",
    "documents",
    "store",
    "cache",
    "start",
    "idle",
    "create",
    "memory",
    "get",
    "patch",
    "list",
    "watch",
    "policies",
    "connections",
    "crd",
    "load",
];
/// The measurements that are operations of a whole server.
const OF_SERVERS: &[&str] =
    &["start", "idle", "create", "memory", "get", "patch", "list", "watch", "policies", "crd"];

/// Providers of `--encryption`.
const ENCRYPTIONS: &[&str] = &["secretbox", "aesgcm", "aescbc"];

/// A server that runs already.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Running {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) pids: Vec<u32>,
    pub(crate) name: Option<String>,
}

pub(crate) struct Arguments {
    pub(crate) time: Duration,
    pub(crate) keys: u64,
    pub(crate) directory: PathBuf,
    /// The program that is started where no server is named.
    pub(crate) program: PathBuf,
    pub(crate) running: Vec<Running>,
    /// The provider that encrypts everything in a second server of our own, which is measured beside the first.
    pub(crate) encryption: Option<String>,
    pub(crate) rounds: usize,
    pub(crate) pods: usize,
    pub(crate) config_maps: usize,
    pub(crate) streams: usize,
    pub(crate) connections: usize,
    pub(crate) watchers: usize,
    /// Of the loads.
    pub(crate) many_watchers: usize,
    pub(crate) events: usize,
    /// Port-forwards that are idle.
    pub(crate) forwards: usize,
    /// The level of the audit policy of a second server that is started beside the first.
    pub(crate) audit: Option<String>,
    only: Vec<String>,
    /// For a part that needs a fresh process: this program calls itself.
    pub(crate) reopen: Option<PathBuf>,
    /// For the bare server that others are compared with, likewise.
    pub(crate) floor: bool,
    /// This program, which runs the greedy clients.
    pub(crate) itself: PathBuf,
    /// This process is the greedy clients of another one: the path that they ask for, of the first server.
    pub(crate) greedy: Option<String>,
}

/// A program that was built together with this one, wherever that was.
fn beside_this(name: &str) -> PathBuf {
    std::env::current_exe().map_or_else(|_| name.into(), |this| this.with_file_name(name))
}

impl Arguments {
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> anyhow::Result<Arguments> {
        let mut parsed = Arguments {
            time: Duration::from_secs(5),
            keys: 100_000,
            directory: ".".into(),
            program: beside_this("pintle"),
            running: Vec::new(),
            encryption: None,
            rounds: 5,
            pods: 10_000,
            config_maps: 3_000,
            streams: 32,
            connections: 4,
            watchers: 500,
            many_watchers: 2000,
            events: 100,
            forwards: 1000,
            audit: None,
            only: Vec::new(),
            reopen: None,
            floor: false,
            itself: std::env::current_exe().unwrap_or_default(),
            greedy: None,
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (flag, value) = match argument.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), value.to_owned()),
                None => {
                    let value = arguments.next().with_context(|| format!("{argument} takes a value"))?;
                    (argument, value)
                }
            };
            parsed.set(&flag, value)?;
        }
        if parsed.encryption.is_some() && !parsed.running.is_empty() {
            bail!("--encryption is of servers that are started, not of those that --kubeconfig names");
        }
        if parsed.running.len() > 2 {
            bail!("--kubeconfig can be given twice at most");
        }
        Ok(parsed)
    }

    fn set(&mut self, flag: &str, value: String) -> anyhow::Result<()> {
        let number = || match value.parse::<usize>() {
            Ok(number) if number > 0 => Ok(number),
            _ => bail!("{flag} takes a number from 1 on, not {value:?}"),
        };
        match flag {
            "--seconds" => self.time = Duration::from_secs(number()? as u64),
            "--keys" => self.keys = number()? as u64,
            "--rounds" => self.rounds = number()?,
            "--pods" => self.pods = number()?,
            "--config-maps" => self.config_maps = number()?,
            "--streams" => self.streams = number()?,
            "--watchers" => self.watchers = number()?,
            "--many-watchers" => self.many_watchers = number()?,
            "--events" => self.events = number()?,
            "--forwards" => self.forwards = number()?,
            "--connections" => self.connections = number()?,
            "--dir" => self.directory = value.into(),
            "--server" => self.program = value.into(),
            "--encryption" if ENCRYPTIONS.contains(&&*value) => self.encryption = Some(value),
            "--encryption" => bail!("--encryption takes {}, not {value:?}", ENCRYPTIONS.join(", ")),
            "--audit" => self.audit = Some(value),
            "--reopen" => self.reopen = Some(value.into()),
            "--floor" => self.floor = value == "serve",
            "--greedy" => self.greedy = Some(value),
            "--kubeconfig" => {
                self.running.push(Running { kubeconfig: value.into(), ..Running::default() });
            }
            "--pid" => {
                let pids: Result<Vec<u32>, _> = value.split(',').map(str::parse).collect();
                let Ok(pids) = pids else { bail!("--pid takes numbers of processes, not {value:?}") };
                self.last(flag)?.pids.extend(pids);
            }
            "--name" => self.last(flag)?.name = Some(value),
            "--only" => {
                for part in value.split(',') {
                    if !PARTS.contains(&part) {
                        bail!("--only takes {}, not {part:?}", PARTS.join(", "));
                    }
                    self.only.push(part.to_owned());
                }
            }
            _ => bail!("there is no flag {flag}"),
        }
        Ok(())
    }

    /// The server that `--pid` and `--name` are about.
    fn last(&mut self, flag: &str) -> anyhow::Result<&mut Running> {
        self.running.last_mut().with_context(|| format!("{flag} belongs after a --kubeconfig"))
    }

    /// Whether a part is measured. Without `--only`, everything but the loads; of servers that were named, what servers do by themselves: those
    /// of another machine may not reach this one's kubelet.
    pub(crate) fn measures(&self, part: &str) -> bool {
        if !self.only.is_empty() {
            return self.only.iter().any(|only| only == part);
        }
        part != "load" && (self.running.is_empty() || OF_SERVERS.contains(&part))
    }

    pub(crate) fn measures_servers(&self) -> bool {
        self.measures("load")
            || self.measures("connections")
            || OF_SERVERS.iter().any(|part| self.measures(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> anyhow::Result<Arguments> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn pids_and_names_belong_to_the_kubeconfig_before_them() {
        let parsed = parse("--kubeconfig a --pid 1,22 --kubeconfig=b --name reference --pid 3").unwrap();
        let running = |kubeconfig: &str, pids: &[u32], name: Option<&str>| Running {
            kubeconfig: kubeconfig.into(),
            pids: pids.to_vec(),
            name: name.map(str::to_owned),
        };
        assert_eq!(parsed.running, [running("a", &[1, 22], None), running("b", &[3], Some("reference"))]);
    }

    #[test]
    fn only_what_is_asked_for_is_measured() {
        let all = parse("").unwrap();
        assert!(all.measures("codec") && all.measures("list") && !all.measures("load"));
        let running = parse("--kubeconfig a").unwrap();
        assert!(!running.measures("codec") && running.measures("list") && running.measures_servers());
        let one = parse("--kubeconfig a --only list,load").unwrap();
        assert!(one.measures("load") && one.measures("list") && !one.measures("get"));
        assert!(all.measures("connections") && !running.measures("connections"));
        assert!(parse("--only connections").unwrap().measures_servers());
        assert!(!parse("--only codec").unwrap().measures_servers());
    }

    #[test]
    fn mistakes_are_explained() {
        let mistake = |line| parse(line).err().expect("a mistake").to_string();
        assert_eq!(mistake("--pid 1"), "--pid belongs after a --kubeconfig");
        assert_eq!(
            mistake("--kubeconfig a --kubeconfig b --kubeconfig c"),
            "--kubeconfig can be given twice at most"
        );
        assert_eq!(mistake("--rounds 0"), "--rounds takes a number from 1 on, not \"0\"");
        assert_eq!(mistake("--rounds"), "--rounds takes a value");
        assert_eq!(mistake("--kubeconfig a --pid x"), "--pid takes numbers of processes, not \"x\"");
        assert_eq!(mistake("--fast yes"), "there is no flag --fast");
        assert!(mistake("--only lists").ends_with("load, not \"lists\""));
        assert_eq!(mistake("--encryption x"), "--encryption takes secretbox, aesgcm, aescbc, not \"x\"");
        assert!(mistake("--encryption aesgcm --kubeconfig a").starts_with("--encryption is of servers"));
    }
}
