//! The source of randomness of a control plane: names, UIDs, jitter. Keys and other secrets come from the crypto provider.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};

/// Random numbers. Clones are the same source.
#[derive(Clone, Default)]
pub struct Random(Option<Arc<Mutex<StdRng>>>);

impl Random {
    /// Returns the operating system's randomness, drawn through a generator of each thread.
    pub fn system() -> Random {
        Random(None)
    }

    /// Returns a source that repeats itself; for tests.
    pub fn seeded(seed: u64) -> Random {
        Random(Some(Arc::new(Mutex::new(StdRng::seed_from_u64(seed)))))
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut dyn RngCore) -> T) -> T {
        match &self.0 {
            None => draw(&mut rand::rng()),
            Some(seeded) => draw(&mut *seeded.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Returns any number.
    pub fn number(&self) -> u64 {
        self.draw(|rng| rng.next_u64())
    }

    /// Returns a number from 0 up to, and without, 1.
    pub fn fraction(&self) -> f64 {
        self.draw(|rng| rng.random())
    }

    /// Returns `duration` prolonged by up to `factor` of itself, so that many waiters do not come back together.
    pub fn jitter(&self, duration: Duration, factor: f64) -> Duration {
        duration.mul_f64(1.0 + factor * self.fraction())
    }
}

impl RngCore for Random {
    fn next_u32(&mut self) -> u32 {
        self.draw(|rng| rng.next_u32())
    }

    fn next_u64(&mut self) -> u64 {
        self.number()
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.draw(|rng| rng.fill_bytes(bytes));
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Random::seeded" } else { "Random::system" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seeded_source_repeats_itself() {
        let draw = |random: Random| (random.number(), random.number());
        assert_eq!(draw(Random::seeded(1)), draw(Random::seeded(1)));
        assert_ne!(draw(Random::seeded(1)), draw(Random::seeded(2)));
        assert_ne!(draw(Random::system()), draw(Random::system()));
    }

    #[test]
    fn jitter_prolongs() {
        let random = Random::seeded(7);
        for _ in 0..100 {
            let jittered = random.jitter(Duration::from_secs(10), 0.5);
            assert!((10.0..15.0).contains(&jittered.as_secs_f64()), "{jittered:?}");
        }
    }
}
