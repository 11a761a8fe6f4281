//! One value that the server keeps for itself, outside of any resource: who changes it sees what is there.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::lock::Mutex;
use pintle_meta::{Status, Value};
use pintle_storage::{Backend, Error, Revision, Txn};

use crate::{Result, Stored};

/// A value under a key of its own. Changes of one process wait for each other; those of others are noticed when they
/// get in the way.
pub struct Record {
    backend: Arc<dyn Backend>,
    key: Bytes,
    stored: Arc<dyn Stored>,
    /// As it was last seen, at its revision.
    last: Mutex<Option<(Value, Revision)>>,
}

impl Record {
    pub fn new(backend: Arc<dyn Backend>, key: impl Into<Bytes>, stored: Arc<dyn Stored>) -> Record {
        Record { backend, key: key.into(), stored, last: Mutex::new(None) }
    }

    /// The value now.
    pub async fn read(&self) -> Result<Option<Value>> {
        let mut last = self.last.lock().await;
        *last = self.fetch().await?;
        Ok(last.as_ref().map(|(value, _)| value.clone()))
    }

    /// Changes the value. `change` is called with what is there, nothing if there is nothing, again whenever another writer
    /// was faster; a new value is stored, none leaves everything as it is.
    pub async fn change<R: Send>(
        &self,
        mut change: impl FnMut(Option<&Value>) -> Result<(Option<Value>, R)> + Send,
    ) -> Result<R> {
        let mut last = self.last.lock().await;
        let mut is_current = last.is_none();
        if is_current {
            *last = self.fetch().await?;
        }
        loop {
            let (new, result) = match change(last.as_ref().map(|(value, _)| value)) {
                Ok((Some(new), result)) => (new, result),
                outcome if is_current => return outcome.map(|(_, result)| result),
                // The decision may rest on a stale value.
                outcome => {
                    let before = last.as_ref().map(|(_, revision)| *revision);
                    *last = self.fetch().await?;
                    is_current = true;
                    match outcome {
                        outcome if last.as_ref().map(|(_, revision)| *revision) == before => {
                            return outcome.map(|(_, result)| result);
                        }
                        _ => continue,
                    }
                }
            };
            let stored = self.stored.encode(&new).map_err(|reason| Box::new(Status::internal(reason)))?;
            let expected = last.as_ref().map_or(Revision::ZERO, |(_, revision)| *revision);
            let txn = Txn::update(self.key.clone(), stored, expected, None);
            let result_of_txn = match self.backend.txn(txn).await {
                Ok(result) => result,
                Err(error) => {
                    // Perhaps it was written.
                    *last = None;
                    return Err(failed(&error));
                }
            };
            if result_of_txn.succeeded {
                *last = Some((new, result_of_txn.revision));
                return Ok(result);
            }
            *last = match result_of_txn.read.into_iter().next().flatten() {
                Some(kv) => Some((self.decode(&kv.value)?, kv.mod_revision)),
                None => None,
            };
            is_current = true;
        }
    }

    async fn fetch(&self) -> Result<Option<(Value, Revision)>> {
        let (found, _) = self.backend.get(&self.key, None).await.map_err(|error| failed(&error))?;
        found.map(|kv| Ok((self.decode(&kv.value)?, kv.mod_revision))).transpose()
    }

    fn decode(&self, stored: &[u8]) -> Result<Value> {
        self.stored.decode(stored).map_err(|reason| {
            let key = String::from_utf8_lossy(&self.key);
            Box::new(Status::internal(format!("unable to decode {key}: {reason}")))
        })
    }
}

fn failed(error: &Error) -> Box<Status> {
    Box::new(match error {
        Error::Unknown(_) => Status::timeout(&error.to_string()),
        error => crate::outage::status(error),
    })
}
