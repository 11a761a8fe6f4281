//! Mirrors: values derived from objects that are as current as the cache, such as an index of rules or a graph of references.
//!
//! No task runs beside it. The next reader takes in what has changed since the last reading, which mostly is nothing and
//! then costs a few atomic loads. So it is never behind the cache, and an unread one costs nothing but its cursors.

use std::any::Any;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use pintle_cache::{Cursor, Interest, Next};
use pintle_meta::Value;

use crate::Result;
use crate::store::{Store, cache_error};

/// Time limit of waiting for changes that are stored already.
const WAIT: Duration = Duration::from_secs(3);

/// Takes in objects, of one or several resources by their place in [`Mirror::new`]'s list.
pub trait Reflect: Send + Sync + 'static {
    /// Called in the order of changes. `key` is `namespace/name` or `name`; no object means that it is gone. An object comes
    /// in its stored version; it may come again unchanged.
    fn set(&mut self, resource: usize, key: &str, object: Option<&Value>);

    /// Forgets all objects of a resource. Each object that exists is set next, then [`Reflect::reloaded`] is called.
    fn clear(&mut self, resource: usize);

    /// Called after a [`Reflect::clear`], when all objects that exist have been set. For values that must act on objects that were
    /// deleted while the changes were missed.
    fn reloaded(&mut self, _resource: usize) {}

    /// Takes out what changes have replaced, if dropping it may take long. Called after changes; no reader waits for the drop, which
    /// happens on a thread of its own.
    fn replaced(&mut self) -> Option<Replaced> {
        None
    }
}

/// Values that a [`Reflect`] has no more use for.
pub type Replaced = Box<dyn Any + Send>;

/// A [`Reflect`] that is kept current.
pub struct Mirror<T> {
    stores: Vec<Arc<Store>>,
    state: RwLock<State<T>>,
}

struct State<T> {
    /// The cursor of each store; `None` until its cache was loaded, or when the cursor was left behind.
    cursors: Vec<Option<Cursor>>,
    /// Whether each has been taken in at least once.
    loaded: bool,
    reflected: T,
}

impl<T: Reflect> Mirror<T> {
    pub fn new(stores: Vec<Arc<Store>>, reflected: T) -> Mirror<T> {
        let cursors = stores.iter().map(|_| None).collect();
        Mirror { stores, state: RwLock::new(State { cursors, loaded: false, reflected }) }
    }

    /// Loads what there is, unless that was done before.
    pub async fn ready(&self) -> Result<()> {
        if self.state().loaded {
            return Ok(());
        }
        for store in &self.stores {
            store.cache().ready().await.map_err(|error| cache_error(&error))?;
        }
        self.catch_up();
        match self.state().loaded {
            true => Ok(()),
            // One of them had to start over in between.
            false => Err(cache_error(&pintle_cache::Error::NotReady)),
        }
    }

    /// Reports whether everything has been taken in at least once; without that, [`Mirror::read`] may show less.
    pub fn is_loaded(&self) -> bool {
        self.state().loaded
    }

    /// Waits until all writes that are known to be stored are in the cache. For callers that are about to deny a request: a write
    /// that was acknowledged before must not be missed. Returns at once where the store would have to be asked.
    pub async fn wait_for_writes(&self) {
        let Some(store) = self.stores.first() else { return };
        if let Some(revision) = store.config().backend.known_revision() {
            // A cache that does not catch up in time is read as it is.
            let _ = store.cache().wait_for(revision.0, WAIT).await;
        }
    }

    /// Reads what is reflected, as current as the cache.
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        let state = self.state();
        if state.loaded && !state.has_changes() {
            return read(&state.reflected);
        }
        drop(state);
        self.catch_up();
        read(&self.state().reflected)
    }

    fn catch_up(&self) {
        let replaced = {
            let mut state = self.state_mut();
            state.catch_up(&self.stores);
            state.reflected.replaced()
        };
        if let (Some(replaced), Ok(runtime)) = (replaced, tokio::runtime::Handle::try_current()) {
            runtime.spawn_blocking(move || drop(replaced));
        }
    }

    fn state(&self) -> RwLockReadGuard<'_, State<T>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State<T>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Reflect> State<T> {
    fn has_changes(&self) -> bool {
        self.cursors.iter().any(|cursor| cursor.as_ref().is_none_or(Cursor::has_changes))
    }

    fn catch_up(&mut self, stores: &[Arc<Store>]) {
        for (place, store) in stores.iter().enumerate() {
            self.follow(place, store);
        }
        self.loaded = self.loaded || self.cursors.iter().all(Option::is_some);
    }

    fn follow(&mut self, place: usize, store: &Store) {
        while let Some(cursor) = &mut self.cursors[place] {
            match cursor.try_changes() {
                None => return,
                Some(Next::Expired) => self.cursors[place] = None,
                Some(Next::Changes(changes)) => {
                    for change in changes {
                        let object = (!change.deleted).then(|| store.object(&change.entry).ok()).flatten();
                        self.reflected.set(place, change.entry.key(), object.as_ref());
                    }
                }
            }
        }
        // The old state stays until there is a new one.
        let Ok((snapshot, cursor)) = store.cache().snapshot_and_watch(Interest::Everything) else {
            store.cache().load_soon();
            return;
        };
        self.reflected.clear(place);
        for entry in snapshot.objects.iter() {
            // Objects that cannot be read are left out.
            if let Ok(object) = store.object(entry) {
                self.reflected.set(place, entry.key(), Some(&object));
            }
        }
        self.reflected.reloaded(place);
        self.cursors[place] = Some(cursor);
    }
}
