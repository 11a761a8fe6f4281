//! `pintle-parity`: the command line of the parity suite.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use pintle_parity::{Area, Client, Server, Tokens, pack, play, tokens, unpack, write};
use pintle_published::recorded::{self, Part};

const USAGE: &str = "\
pintle-parity [run|record] [FLAGS] [AREA ...]   replays all areas, or those whose names begin so
pintle-parity pack FOLDER                       packs FOLDER/cases/*.json and FOLDER/golden/*.json into the recordings
pintle-parity unpack FOLDER                     writes the recordings as plain JSON below FOLDER

  --server URL            asks a server that runs; else one is started: the binary `pintle` beside this one
  --binary PATH           starts this binary
  --token TOKEN           of a member of system:masters (default admintoken)
  --extra-token NAME=TOKEN  of the users that cases name: alice, bob, node (default as in tokens.csv)
  --only TEXT             only cases whose names contain TEXT
  --verbose               shows the first difference of each case that fails
  --jobs N                plays N cases at once, each on a server of its own; not with --server (default 1)
  --data FOLDER           other recordings than those of the repository
record replays too, and keeps the answers as the recorded ones; it needs --server.
";

struct Options {
    command: String,
    server: Option<String>,
    binary: Option<PathBuf>,
    tokens: Tokens,
    only: String,
    verbose: bool,
    jobs: usize,
    data: PathBuf,
    names: Vec<String>,
}

fn options(arguments: impl IntoIterator<Item = String>) -> anyhow::Result<Option<Options>> {
    let mut options = Options {
        command: "run".into(),
        server: None,
        binary: None,
        tokens: tokens(),
        only: String::new(),
        verbose: false,
        jobs: 1,
        data: recorded::folder(),
        names: Vec::new(),
    };
    let mut arguments = arguments.into_iter().peekable();
    if let Some(command) =
        arguments.next_if(|first| ["run", "record", "pack", "unpack"].contains(&first.as_str()))
    {
        options.command = command;
    }
    let set = |tokens: &mut Tokens, name: &str, token: &str| {
        tokens.retain(|(known, _)| known != name);
        tokens.push((name.to_owned(), token.to_owned()));
    };
    while let Some(argument) = arguments.next() {
        let (flag, given) = match argument.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag.to_owned(), Some(value.to_owned())),
            _ => (argument, None),
        };
        let mut value =
            || given.clone().or_else(|| arguments.next()).with_context(|| format!("{flag} takes a value"));
        match flag.as_str() {
            "--help" | "-h" => return Ok(None),
            "--server" => options.server = Some(value()?),
            "--binary" => options.binary = Some(value()?.into()),
            "--token" => set(&mut options.tokens, "admin", &value()?),
            "--extra-token" => {
                let value = value()?;
                let (name, token) = value.split_once('=').context("--extra-token is NAME=TOKEN")?;
                set(&mut options.tokens, name, token);
            }
            "--only" => options.only = value()?,
            "--verbose" => options.verbose = true,
            "--jobs" => options.jobs = value()?.parse().context("--jobs is a number")?,
            "--data" => options.data = value()?.into(),
            _ if flag.starts_with('-') => bail!("there is no flag {flag}\n\n{USAGE}"),
            _ => options.names.push(flag),
        }
    }
    Ok(Some(options))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Some(options) = options(std::env::args().skip(1))? else {
        print!("{USAGE}");
        return Ok(());
    };
    match (options.command.as_str(), options.names.as_slice()) {
        ("pack", [folder]) => pack(Path::new(folder), &options.data),
        ("unpack", [folder]) => unpack(&options.data, Path::new(folder)),
        ("pack" | "unpack", _) => bail!("{} takes one folder", options.command),
        _ => replay(&options).await,
    }
}

async fn replay(options: &Options) -> anyhow::Result<()> {
    let records = options.command == "record";
    ensure!(!records || options.server.is_some(), "record needs the --server to record");
    // They run as long as they are asked.
    let (_servers, mut clients) = clients(options).await?;
    let is_named = |area: &String| {
        options.names.is_empty() || options.names.iter().any(|name| area.starts_with(name.as_str()))
    };
    let (mut total, mut good) = (0, 0);
    for file in recorded::areas(&options.data)?.into_iter().filter(is_named) {
        let mut area = Area::read(&options.data, &file)?;
        area.keep(&options.only);
        if !records {
            for id in area.keep_recorded() {
                println!("  no recorded answer of {}/{id}", area.name);
            }
        }
        let outcomes = play(std::slice::from_ref(&area), &mut clients).await;
        if records {
            write(&options.data, Part::Golden, &file, &area.recorded(&outcomes)?)?;
            println!("{}: recorded {}", area.name, outcomes.len());
            continue;
        }
        let failed: Vec<_> =
            outcomes.iter().filter_map(|outcome| Some((outcome, outcome.difference.as_ref()?))).collect();
        for (outcome, difference) in failed.iter().filter(|_| options.verbose) {
            println!("  FAIL {} {difference}", outcome.name());
        }
        println!("{}: {} of {}", area.name, outcomes.len() - failed.len(), outcomes.len());
        total += outcomes.len();
        good += outcomes.len() - failed.len();
    }
    if !records {
        let share = 100.0 * good as f64 / total.max(1) as f64;
        println!("parity: {good} of {total} exchanges as recorded ({share:.1}%)");
    }
    Ok(())
}

async fn clients(options: &Options) -> anyhow::Result<(Vec<Server>, Vec<Client>)> {
    if let Some(url) = &options.server {
        return Ok((Vec::new(), vec![Client::new(url, options.tokens.clone())?]));
    }
    let beside = || anyhow::Ok(std::env::current_exe()?.with_file_name("pintle"));
    let binary = options.binary.clone().map_or_else(beside, Ok)?;
    let (mut servers, mut clients) = (Vec::new(), Vec::new());
    for _ in 0..options.jobs.max(1) {
        let server = Server::start(&binary, &options.data).await?;
        clients.push(Client::new(&server.url(), options.tokens.clone())?);
        servers.push(server);
    }
    Ok((servers, clients))
}
