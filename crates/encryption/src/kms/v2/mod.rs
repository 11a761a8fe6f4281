//! KMS v2: values under keys that are derived from a seed, which the plugin encrypts once and which is stored with every value.

pub(crate) mod messages;
mod object;
mod service;
mod state;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use prost::Message;

use self::messages::EncryptedObject;
use self::object::DataKeySource;
pub(crate) use self::service::Service;
pub(crate) use self::state::Plugin;
use self::state::State;
use super::data_keys::DataKeys;
use crate::failure::Failure;
use crate::metrics::{Direction, Metrics};
use crate::transformer::{Context, NotOpened, Opened, Transformer};

/// How long a source of data keys stays in memory.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Number of sources in memory at most. There is one for each key id and start of a server.
const MOST_SOURCES: usize = 10_000;

/// The transformer of one plugin.
pub(crate) struct Envelope {
    plugin: Arc<Plugin>,
    sources: DataKeys<DataKeySource>,
}

impl Envelope {
    pub(crate) fn new(plugin: Arc<Plugin>) -> Envelope {
        let sources = DataKeys::new(plugin.clock.clone(), LIFETIME, MOST_SOURCES);
        Envelope { plugin, sources }
    }

    /// Reads a stored value, and the state that says whether it is stale.
    fn read(&self, stored: &Bytes) -> Result<(EncryptedObject, State), Failure> {
        // The data stays a part of the stored bytes.
        let object = EncryptedObject::decode(stored.clone())
            .map_err(|_| Failure::new("proto: cannot parse invalid wire-format data"))?;
        object.validate().map_err(Failure::new)?;
        Ok((object, self.plugin.state()?))
    }

    fn add(&self, digest: [u8; 32], source: Arc<DataKeySource>, metrics: &Metrics) {
        let count = self.sources.add(digest, source);
        metrics.dek_sources(&self.plugin.name, count);
    }

    fn decrypt(
        &self,
        object: &EncryptedObject,
        source: &DataKeySource,
        state: &State,
        context: Context<'_>,
    ) -> Result<Opened, Failure> {
        context.metrics.key_id_used(Direction::FromStorage, &self.plugin.name, &object.key_id);
        let plain = source.decrypt(&object.encrypted_data, context.key)?;
        let is_stale = object.key_id != state.stored.key_id
            || object.encrypted_dek_source_type != state.stored.encrypted_dek_source_type;
        Ok(Opened { plain: Some(plain), is_stale })
    }
}

#[async_trait]
impl Transformer for Envelope {
    fn open(&self, stored: &Bytes, context: Context<'_>) -> Result<Opened, NotOpened> {
        let (object, state) = self.read(stored)?;
        let source = self.sources.get(&object.digest()).ok_or(NotOpened::NeedsKey)?;
        Ok(self.decrypt(&object, &source, &state, context)?)
    }

    async fn open_waiting(&self, stored: &Bytes, context: Context<'_>) -> Result<Opened, Failure> {
        let (object, state) = self.read(stored)?;
        let digest = object.digest();
        let source = match self.sources.get(&digest) {
            Some(source) => source,
            None => {
                context.metrics.cache_missed();
                let plain = self.plugin.service.decrypt(self.plugin.uid(), &object).await;
                let plain = plain.map_err(|failure| failure.wrapped("failed to decrypt DEK, error: "))?;
                let source = Arc::new(DataKeySource::new(object.encrypted_dek_source_type, plain)?);
                self.add(digest, source.clone(), context.metrics);
                source
            }
        };
        self.decrypt(&object, &source, &state, context)
    }

    async fn seal(&self, plain: &[u8], context: Context<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let state = self.plugin.state()?;
        self.plugin.check_age(&state)?;
        // So that no value of this server needs the plugin to be read.
        if self.sources.get(&state.digest).is_none() {
            self.sources.drop_old();
            self.add(state.digest, state.source.clone(), context.metrics);
        }
        let mut data = Vec::new();
        match &*state.source {
            DataKeySource::Seed(seed) => seed.encrypt(plain, context.key, &mut data)?,
            // The nonces of such a key are counted by the server that made it.
            DataKeySource::Key(_) => return Err(Failure::new("the data key is not for writing")),
        }
        context.metrics.key_id_used(Direction::ToStorage, &self.plugin.name, &state.stored.key_id);
        let object = EncryptedObject { encrypted_data: Bytes::from(data), ..(*state.stored).clone() };
        object.validate().map_err(Failure::new)?;
        out.reserve(object.encoded_len());
        // There is room.
        object.encode(out).map_err(|error| Failure::new(error.to_string()))
    }
}
