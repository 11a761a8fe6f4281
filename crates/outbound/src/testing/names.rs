//! For tests: names of hosts whose addresses change with every lookup.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::hosts::Lookup;

/// The answers to lookups of any name, each for one lookup; the next one fails. Clones are the same.
#[derive(Clone)]
pub struct Names(Arc<Mutex<State>>);

struct State {
    answers: VecDeque<Vec<SocketAddr>>,
    lookups: Vec<String>,
}

impl Names {
    pub fn new(answers: impl IntoIterator<Item = Vec<SocketAddr>>) -> Names {
        let answers = answers.into_iter().collect();
        Names(Arc::new(Mutex::new(State { answers, lookups: Vec::new() })))
    }

    /// Returns host and port of each lookup so far.
    pub fn lookups(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lookups.clone()
    }
}

#[async_trait]
impl Lookup for Names {
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.lookups.push(format!("{host}:{port}"));
        state.answers.pop_front().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
